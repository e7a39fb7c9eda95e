import assert from 'node:assert'
import { geometryFor } from '../../src/core/filter/filter-geometry.ts'
import { cacheKey } from '../../src/core/http/cache-key.ts'
import { SummaryCacheProtocol } from '../../src/core/protocol/summary-cache-protocol.ts'
import { UPDATE_PROFILES } from '../../src/core/protocol/update-policy.ts'
import { findingOf } from './finding.ts'
import type { Measurement } from './measurement.ts'

const DELTA_ENTRIES = 100
const PEERS = 16
const KEYS = 5_000

function protocol(incarnation: number, expectedEntries: number): SummaryCacheProtocol {
  const geometry = geometryFor(expectedEntries)
  return new SummaryCacheProtocol(
    {
      incarnation,
      geometry,
      policy: UPDATE_PROFILES.fresh(),
      pendingClearShare: 0.03,
      generationAgeMs: Number.MAX_SAFE_INTEGER,
      heartbeatMs: 5_000,
      maxBitCount: geometry.bitCount,
    },
    0,
  )
}

function publishing(origin: string, entryCount: number): SummaryCacheProtocol {
  const publisher = protocol(1, entryCount)
  for (let i = 0; i < entryCount; i++) publisher.claimed(cacheKey(`${origin}/${i}`), 0)
  publisher.publisher.publish(0, 'command')
  return publisher
}

/** Lets the follower ask for a snapshot of the peer's digest, and apply it. */
function fetchSnapshot(
  follower: SummaryCacheProtocol,
  peer: number,
  publisher: SummaryCacheProtocol,
  nowMs: number,
): void {
  const { digest } = follower.peers.at(peer)!
  const answer = publisher.answer(digest.want(), true)
  while (answer.work(Infinity, nowMs)) continue
  for (const { frame } of answer.frames(nowMs)) follower.receive(peer, frame, 0)
  while (digest.work(0)) continue
  assert.equal(digest.replica.lacks, false, 'the snapshot has come')
}

const UPDATES: Measurement = {
  name: 'publish and apply',
  async run({ harness, quick }) {
    const entryCount = quick ? 10_000 : 100_000
    const publisher = publishing('http://origin.example', entryCount)
    const follower = protocol(2, entryCount)
    const { digest } = follower.peers.add({ name: 'p', url: 'http://p' })!
    let nowMs = 0
    const again = (): void => fetchSnapshot(follower, 0, publisher, (nowMs += 60_000))
    again()
    let next = entryCount
    const deltas = quick ? 2 : 10
    const snapshots = quick ? 2 : 5
    const name = (what: string): string => `a digest of ${entryCount} entries: ${what}`
    const comparison = await harness.compare([
      harness.timed('delta', deltas, () => {
        for (let delta = 0; delta < deltas; delta++) {
          for (let i = 0; i < DELTA_ENTRIES; i++) publisher.claimed(cacheKey(`http://origin.example/${next++}`), 0)
          const due = publisher.publisher.publish(0, 'command')
          if (due !== undefined) follower.receive(0, due.frame, 0)
        }
        return next
      }),
      harness.timed('snapshot', snapshots, () => {
        for (let i = 0; i < snapshots; i++) {
          digest.replica.receive({ kind: 'goodbye', name: publisher.publisher.name })
          again()
        }
        return nowMs
      }),
    ])
    return [
      findingOf(comparison, 'delta', {
        name: name(`a delta of ${DELTA_ENTRIES} new ones, published and applied`),
        unit: 'µs',
      }),
      findingOf(comparison, 'snapshot', { name: name('a snapshot, encoded and applied'), unit: 'µs' }),
    ]
  },
}

const CANDIDATES: Measurement = {
  name: 'candidates',
  async run({ harness, quick, progress }) {
    const entryCount = quick ? 10_000 : 100_000
    const follower = protocol(3, entryCount)
    progress(`${PEERS} digests of ${entryCount} entries`)
    for (let i = 0; i < PEERS; i++) {
      follower.peers.add({ name: `p${i}`, url: 'http://p' })
      fetchSnapshot(follower, i, publishing(`http://origin-${i}.example`, entryCount), 0)
    }
    const strangers = Array.from({ length: KEYS }, (_, i) => cacheKey(`http://nowhere.example/${i}`))
    const held = Array.from({ length: KEYS }, (_, i) => cacheKey(`http://origin-7.example/${i}`))
    const name = (what: string): string => `candidates among ${PEERS} peers, ${entryCount} entries each: ${what}`
    const askAll = (keys: typeof strangers): number => {
      for (const key of keys) follower.peers.candidates(key, 0)
      return keys.length
    }
    const comparison = await harness.compare([
      harness.timed(name('a key that none holds'), KEYS, () => askAll(strangers)),
      harness.timed(name('a key that one holds'), KEYS, () => askAll(held)),
    ])
    return [
      findingOf(comparison, name('a key that none holds')),
      findingOf(comparison, name('a key that one holds'), { against: name('a key that none holds') }),
    ]
  },
}

export const DIGEST_MEASUREMENTS: readonly Measurement[] = [UPDATES, CANDIDATES]
