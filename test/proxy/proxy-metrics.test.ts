import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FALSE_HIT_CAUSES } from '../../src/core/peers/guess-counts.ts'
import { DIGEST_FRAME_KINDS, OUTCOMES } from '../../src/proxy/proxy-event.ts'
import type { DigestFramesSent, PeerAsked, ProxyEvent, RequestEnded } from '../../src/proxy/proxy-event.ts'
import { ProxyMetrics } from '../../src/proxy/proxy-metrics.ts'

describe('before the first event', () => {
  test('every count is there and zero, and the ratios are zero and not NaN', () => {
    const statistics = new ProxyMetrics().statistics()
    expect(JSON.parse(JSON.stringify(statistics))).toEqual(statistics)
    expect(Object.keys(statistics.byOutcome)).toEqual([...OUTCOMES])
    expect(statistics.hitRatio).toEqual({ local: 0, remote: 0 })
    expect(leaves(statistics).every((value) => value === 0)).toBe(true)
  })
})

describe('requests', () => {
  test("peers' questions are counted apart from clients' requests", () => {
    const statistics = after(
      ended({ outcome: 'local-hit', bytesToClient: 500, bodyBytes: 300 }),
      ended({ outcome: 'local-hit', fromPeer: true }),
      ended({ outcome: 'unheld', fromPeer: true }),
    )
    expect(statistics.requests).toBe(1)
    expect(statistics.byOutcome['local-hit']).toBe(1)
    expect(statistics.byOutcome.unheld).toBe(0)
    expect(statistics.peerRequests).toEqual({ asked: 2, served: 1 })
    expect(statistics.bytesToClients).toBe(500)
  })

  test('a validated hit is a local hit, and a pass and a refusal are requests like others', () => {
    const outcomes = [
      'local-hit',
      'validated-hit',
      'remote-hit',
      'miss',
      'pass',
      'tunnel',
      'refused',
      'failed',
    ] as const
    const statistics = after(...outcomes.map((outcome) => ended({ outcome })))
    expect(statistics.hitRatio).toEqual({ local: 2 / 8, remote: 1 / 8 })
  })

  test('body bytes are counted by where they came from, and those of a tunnel nowhere', () => {
    const statistics = after(
      ended({ outcome: 'local-hit', bodyBytes: 1 }),
      ended({ outcome: 'validated-hit', bodyBytes: 10 }),
      ended({ outcome: 'remote-hit', bodyBytes: 100 }),
      ended({ outcome: 'miss', bodyBytes: 1000 }),
      ended({ outcome: 'pass', bodyBytes: 10_000 }),
      ended({ outcome: 'tunnel', bodyBytes: 100_000 }),
      ended({ outcome: 'failed', bodyBytes: 1_000_000 }),
    )
    expect(statistics.bodyBytes).toEqual({ local: 11, remote: 100, origin: 11_000 })
  })

  test('what origins sent is counted also where no client stayed', () => {
    const statistics = after(
      { kind: 'origin-asked', outcome: 'fetched' },
      { kind: 'origin-asked', outcome: 'validated' },
      { kind: 'origin-asked', outcome: 'failed' },
    )
    expect(statistics.originRequests).toEqual({ fetched: 1, validated: 1, failed: 1 })
  })
})

describe('messages against ICP (PROTOCOL: how messages are compared with ICP)', () => {
  test("the paper's count: one update per peer, and one request to a peer whether it hits or not", () => {
    const { interCache } = after(
      { kind: 'digest-sent', frame: 'delta', count: 3, bytes: 40 },
      { kind: 'digest-sent', frame: 'turnover', count: 3, bytes: 50 },
      { kind: 'digest-sent', frame: 'snapshot', count: 1, bytes: 900 },
      { kind: 'digest-sent', frame: 'heartbeat', count: 3, bytes: 30 },
      { kind: 'digest-sent', frame: 'want', count: 1, bytes: 20 },
      { kind: 'digest-sent', frame: 'goodbye', count: 3, bytes: 10 },
      asked({ outcome: 'hit' }),
      asked({ outcome: 'false-hit', cause: 'freshness' }),
      asked({ outcome: 'failed', replyBytes: 0 }),
    )
    expect(interCache.messagesPaper).toBe(3 + 3 + 1 + 3)
    expect(interCache.messagesFull).toBe(14 + 2 + 2 + 1)
    expect(interCache.finding).toBe(14 + 1)
    expect(interCache.framesSent).toEqual({ want: 1, snapshot: 1, delta: 3, turnover: 3, heartbeat: 3, goodbye: 3 })
    expect(interCache.frameBytesSent).toEqual({
      want: 20,
      snapshot: 900,
      delta: 120,
      turnover: 150,
      heartbeat: 90,
      goodbye: 30,
    })
    expect(interCache.bytes).toBe(1310 + 400 + 400 + 150)
  })

  test('a failure that was answered is two messages, one that was not is one', () => {
    expect(after(asked({ outcome: 'failed', replyBytes: 90 })).interCache.messagesFull).toBe(2)
    expect(after(asked({ outcome: 'failed', replyBytes: 0 })).interCache.messagesFull).toBe(1)
  })

  test('frames received are not counted: their sender does', () => {
    const { interCache } = after({ kind: 'digest-received', peer: 'b', frame: 'delta', count: 1, bytes: 40 })
    expect(leaves(interCache).every((value) => value === 0)).toBe(true)
  })

  test('ICP would have sent a query and a reply per peer at each local miss', () => {
    const miss = { kind: 'local-miss', peers: 3, icpQueryBytes: 210, icpReplyBytes: 180 } as const
    expect(after(miss, miss).icp).toEqual({ messagesPaper: 6, messagesFull: 12, bytes: 780 })
  })

  test('a false hit of unknown cause is counted as such, and a failure is no false hit', () => {
    const statistics = after(
      asked({ outcome: 'false-hit', cause: 'collision' }),
      asked({ outcome: 'false-hit', cause: undefined }),
      asked({ outcome: 'failed' }),
    )
    expect(statistics.falseHits).toEqual({ collision: 1, 'pending-clear': 0, freshness: 0, variant: 0, unknown: 1 })
    expect(statistics.peerFailures).toBe(1)
  })
})

test('peers that were turned away are counted by cause', () => {
  const metrics = new ProxyMetrics()
  const before = metrics.turnedAway()
  for (const cause of ['signature', 'slow', 'signature'] as const) {
    metrics.emit({ kind: 'peer-turned-away', peer: 'b', cause, reason: 'a test' })
  }
  const none = { certificate: 0, signature: 0, malformed: 0, share: 0, full: 0, slow: 0 }
  expect(before).toEqual(none)
  expect(metrics.turnedAway()).toEqual({ ...none, signature: 2, slow: 1 })
})

describe('for any events', () => {
  test('statistics agree with a plain tally, never fall, and are not changed by what comes later', () => {
    fc.assert(
      fc.property(fc.array(anyEvent(), { maxLength: 60 }), (events) => {
        const metrics = new ProxyMetrics()
        let before = metrics.statistics()
        for (const event of events) {
          const copy = structuredClone(before)
          metrics.emit(event)
          expect(before).toEqual(copy)
          const now = metrics.statistics()
          const { hitRatio: _ratioBefore, ...countsBefore } = before
          const { hitRatio, ...counts } = now
          leaves(counts).forEach((value, index) => expect(value).toBeGreaterThanOrEqual(leaves(countsBefore)[index]!))
          expect(hitRatio.local + hitRatio.remote).toBeLessThanOrEqual(1)
          before = now
        }
        const questions = events.filter((event) => event.kind === 'peer-asked')
        const frames = events.filter((event): event is DigestFramesSent => event.kind === 'digest-sent')
        const fromClients = events.filter((event) => event.kind === 'request-ended' && !event.fromPeer)
        expect(before.requests).toBe(fromClients.length)
        expect(sum(Object.values(before.byOutcome))).toBe(fromClients.length)
        expect(before.interCache.bytes).toBe(
          sum(questions.map((question) => question.requestBytes + question.replyBytes)) +
            sum(frames.map((frame) => frame.count * frame.bytes)),
        )
        expect(sum(Object.values(before.falseHits))).toBe(
          questions.filter((question) => question.outcome === 'false-hit').length,
        )
      }),
      { numRuns: 60 },
    )
  })
})

function anyEvent(): fc.Arbitrary<ProxyEvent> {
  const bytes = fc.nat(5000)
  return fc.oneof(
    fc
      .record({ outcome: fc.constantFrom(...OUTCOMES), fromPeer: fc.boolean(), bytesToClient: bytes, bodyBytes: bytes })
      .map(ended),
    fc
      .record({
        outcome: fc.constantFrom('hit', 'false-hit', 'failed'),
        cause: fc.constantFrom(...FALSE_HIT_CAUSES, undefined),
        requestBytes: bytes,
        replyBytes: bytes,
      })
      .map(asked),
    fc.record({
      kind: fc.constantFrom('digest-sent', 'digest-received'),
      peer: fc.constant('b'),
      frame: fc.constantFrom(...DIGEST_FRAME_KINDS),
      count: fc.nat(16),
      bytes,
    }),
    fc.record({ kind: fc.constant('local-miss'), peers: fc.nat(16), icpQueryBytes: bytes, icpReplyBytes: bytes }),
  )
}

function after(...events: ProxyEvent[]) {
  const metrics = new ProxyMetrics()
  for (const event of events) metrics.emit(event)
  return metrics.statistics()
}

function ended(fields: Partial<RequestEnded>): RequestEnded {
  return {
    kind: 'request-ended',
    wallMs: 0,
    elapsedMs: 1,
    client: '127.0.0.1',
    fromPeer: false,
    method: 'GET',
    url: 'http://a/',
    status: 200,
    outcome: 'miss',
    bytesToClient: 0,
    bodyBytes: 0,
    contentType: undefined,
    server: undefined,
    aborted: false,
    ...fields,
  }
}

function asked(fields: Partial<PeerAsked>): PeerAsked {
  return {
    kind: 'peer-asked',
    peer: 'b',
    outcome: 'hit',
    cause: undefined,
    requestBytes: 150,
    replyBytes: 250,
    elapsedMs: 1,
    ...fields,
  }
}

/** Every number of a nested record, in order. */
function leaves(value: unknown): number[] {
  if (typeof value === 'number') return [value]
  return Object.values(value as Record<string, unknown>).flatMap(leaves)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
