import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { geometryFor } from '../../src/core/filter/filter-geometry.ts'
import { Replay, type ReplayOptions } from '../../src/sim/replay.ts'
import type { SummaryCache } from '../../src/sim/schemes/summary-cache.ts'
import { proxyName } from '../../src/sim/sim-proxy.ts'
import { ROOMY, replayed, traceOf, type Request } from './support.ts'
import { bitsOf } from '../core/digest/test-publisher.ts'

/** Every document of four digits, so that all entries are of one size. */
const trace = fc
  .array(fc.tuple(fc.nat(8), fc.integer({ min: 1_000, max: 1_030 })), { minLength: 1, maxLength: 300 })
  .map((pairs) => pairs.map(([client, document], i): Request => [10 * i, client, document, 5_000]))

/** What one of these documents takes of the budget. */
const ENTRY_BYTES = (() => {
  const replay = new Replay(traceOf([[0, 0, 1_000, 5_000]]), 'no-sharing', ROOMY)
  replay.work(1)
  return replay.proxies[0]!.directory.usedBytes
})()

const small = (entries: number): ReplayOptions => ({
  ...ROOMY,
  memoryBytes: entries * ENTRY_BYTES,
  digest: { profile: 'fresh', geometry: geometryFor(64), heartbeatMs: 5_000 },
})

/** The dull model: maps in order of use, clients numbered as they appear, everybody's directory known to everybody. */
function model(
  requests: readonly Request[],
  entries: number,
  shares: boolean,
): { local: number; remote: number; misses: number } {
  const caches = [0, 1, 2].map(() => new Map<number, true>())
  const clients = new Map<number, number>()
  const counts = { local: 0, remote: 0, misses: 0 }
  for (const [, client, document] of requests) {
    if (!clients.has(client)) clients.set(client, clients.size)
    const cache = caches[clients.get(client)! % 3]!
    if (cache.has(document)) counts.local++
    else {
      counts.misses++
      const peer = shares ? caches.find((other) => other !== cache && other.has(document)) : undefined
      if (peer !== undefined) {
        counts.remote++
        peer.delete(document)
        peer.set(document, true)
      }
    }
    cache.delete(document)
    cache.set(document, true)
    if (cache.size > entries) cache.delete(cache.keys().next().value!)
  }
  return counts
}

describe('against a dull model of proxies with LRU', () => {
  test('without sharing every hit is the model’s', () => {
    fc.assert(
      fc.property(trace, fc.integer({ min: 2, max: 12 }), (requests, entries) => {
        const { localHits, remoteHits, messages } = replayed(traceOf(requests), 'no-sharing', small(entries))
        expect([localHits, remoteHits, messages.messagesFull]).toEqual([model(requests, entries, false).local, 0, 0])
      }),
    )
  })

  test('with ICP, hits are the model’s and queries are (1 - local hit ratio)(G - 1) per request, exactly', () => {
    fc.assert(
      fc.property(trace, fc.integer({ min: 2, max: 12 }), (requests, entries) => {
        const figures = replayed(traceOf(requests), 'icp', small(entries))
        const wanted = model(requests, entries, true)
        // Where the model finds the first holder, the scheme takes the first that answers: the same one.
        expect(figures.messages.messagesPaper).toBe(2 * (requests.length - figures.localHits))
        expect(figures.messages.messagesFull).toBe(2 * figures.messages.messagesPaper)
        expect([figures.localHits, figures.remoteHits]).toEqual([wanted.local, wanted.remote])
      }),
    )
  })

  test('nobody gains by sharing less: no remote hit is lost or invented by more than digests’ delay and false misses', () => {
    fc.assert(
      fc.property(trace, (requests) => {
        // Ample memory, and ten seconds between requests: every digest is there before it is needed.
        const icp = replayed(traceOf(requests), 'icp')
        const digests = replayed(traceOf(requests), 'summary-cache', { ...ROOMY, digest: small(1).digest })
        expect(digests.localHits).toBe(icp.localHits)
        expect(digests.remoteHits + (digests.falseMisses ?? 0)).toBe(icp.remoteHits)
        expect(digests.falseMisses).toBe(0)
      }),
    )
  })
})

test('at every step each replica equals, bit for bit, what its publisher has published', () => {
  fc.assert(
    fc.property(trace, fc.integer({ min: 2, max: 12 }), (requests, entries) => {
      const replay = new Replay(traceOf(requests), 'summary-cache', small(entries))
      let more = true
      while (more) {
        more = replay.work(1)
        const { protocols } = replay.scheme as SummaryCache
        for (const [i, publisher] of protocols.entries()) {
          for (const [j, follower] of protocols.entries()) {
            if (i === j) continue
            const { replica } = follower.peers.named(proxyName(i))!.digest
            expect(replica.name).toEqual(publisher.publisher.name)
            expect(bitsOf(replica)!.words).toEqual(publisher.publisher.summary.published.words)
          }
        }
      }
    }),
    { numRuns: 30 },
  )
})

describe('the paper’s rules', () => {
  test('a document of another size is another version: a miss here, a remote stale hit at a peer', () => {
    const requests: Request[] = [
      [0, 0, 1, 1_000],
      [100, 0, 1, 2_000],
      [200, 1, 1, 3_000],
      [300, 1, 1, 3_000],
    ]
    const icp = replayed(traceOf(requests), 'icp')
    expect([icp.localHits, icp.remoteHits, icp.remoteStaleHits]).toEqual([1, 0, 1])
  })

  test('a document larger than the bound is not kept', () => {
    const options = { ...ROOMY, maxObjectBytes: 1_000 }
    const figures = replayed(
      traceOf([
        [0, 0, 1, 1_001],
        [1, 0, 1, 1_001],
        [2, 0, 2, 1_000],
        [3, 0, 2, 1_000],
      ]),
      'icp',
      options,
    )
    expect(figures.localHits).toBe(1)
  })

  test('the first requests warm the caches and are not counted', () => {
    const requests: Request[] = [
      [0, 0, 1, 10],
      [1, 0, 1, 10],
      [2, 0, 1, 10],
    ]
    expect(replayed(traceOf(requests), 'icp', { ...ROOMY, warmUpRequests: 1 })).toMatchObject({
      requests: 2,
      localHits: 2,
    })
  })

  test('heartbeats go by log time, through the longest silence', () => {
    const figures = replayed(
      traceOf([
        [0, 0, 1, 10],
        [3_600, 0, 1, 10],
      ]),
      'summary-cache',
    )
    // Three proxies, two followers each, one every five seconds, less what an update stood for.
    expect(figures.framesSent.heartbeat).toBeGreaterThan(0.98 * 3 * 2 * 720)
    expect(figures.framesSent.heartbeat).toBeLessThanOrEqual(3 * 2 * 720)
  })
})
