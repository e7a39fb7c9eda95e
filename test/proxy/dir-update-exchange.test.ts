import { describe, expect, test } from 'vitest'
import { cacheKey } from '../../src/core/http/cache-key.ts'
import { isConsulted } from '../../src/core/peers/peer-table.ts'
import { digestOf, HandClock, PaperEnd, REFRESH_MS } from './paper-wire.ts'

const key = (n: number) => cacheKey(`http://origin.example/${n}`)

/** Two ends, of which `b` follows `a` and `a` sends to `b`; what is sent waits in `a`. */
async function pair(): Promise<{ clock: HandClock; a: PaperEnd; b: PaperEnd }> {
  const clock = new HandClock()
  const a = new PaperEnd(clock, 1_000)
  const b = new PaperEnd(clock)
  a.exchange.follow({ name: 'b', url: 'http://b', transport: 'dir-update', updates: 'b:3130' })
  b.follow('a', a)
  await clock.advance(100)
  return { clock, a, b }
}

function deliver(from: PaperEnd, to: PaperEnd): number {
  const sent = from.takeSent()
  for (const bytes of sent) to.datagrams.arrive('a', bytes)
  return sent.length
}

const candidates = (end: PaperEnd, n: number): number[] => end.peers.candidates(key(n), end.clock.monotonicMs())

describe('a peer on the paper’s wire', () => {
  test('is consulted once its digest has been fetched, and its updates follow within the profile’s age', async () => {
    const { clock, a, b } = await pair()
    expect(b.changes()).toEqual(['added: http://a, updates a:3130', 'connected: http://a'])
    expect(isConsulted(b.peers.at(0)!, clock.monotonicMs())).toBe(true)
    a.publisher.claimed(key(1))
    await clock.advance(300)
    expect(candidates(b, 1)).toEqual([])
    deliver(a, b)
    expect(candidates(b, 1)).toEqual([0])
    expect(b.peers.at(0)!.guesses).toMatchObject({ tests: 2, claims: 1 })
    a.publisher.unclaimed(key(1))
    await clock.advance(300)
    deliver(a, b)
    expect(candidates(b, 1)).toEqual([])
  })

  test('that serves no whole digest is known by its updates alone', async () => {
    const { clock, a, b } = await pair()
    b.exchange.leave('a')
    b.answer = () => ({ kind: 'unserved' })
    b.exchange.follow({ name: 'a', url: 'http://a', transport: 'dir-update', updates: 'a:3130' })
    await clock.advance(100)
    expect(b.changes().at(-1)).toContain('connected: http://a; it serves no whole digest')
    a.publisher.claimed(key(1))
    await clock.advance(300)
    deliver(a, b)
    expect(candidates(b, 1)).toEqual([0])
    await clock.advance(REFRESH_MS)
    expect(candidates(b, 1)).toEqual([0])
  })

  test('a lost datagram is mended by the next fetch, which comes early when a gap shows it', async () => {
    const { clock, a, b } = await pair()
    deliver(a, b)
    a.publisher.claimed(key(1))
    await clock.advance(300)
    expect(a.takeSent()).toHaveLength(1)
    expect(b.fetches).toBe(1)
    await clock.advance(REFRESH_MS)
    expect([b.fetches, candidates(b, 1)]).toEqual([2, [0]])

    a.takeSent()
    a.publisher.claimed(key(2))
    await clock.advance(300)
    a.takeSent()
    a.publisher.claimed(key(3))
    await clock.advance(300)
    deliver(a, b)
    expect([candidates(b, 2), candidates(b, 3)]).toEqual([[], [0]])
    await clock.advance(REFRESH_MS / 10)
    expect([b.fetches, candidates(b, 2)]).toEqual([3, [0]])
  })

  test('updates that arrive while its digest is on its way hold beside it', async () => {
    const { clock, a, b } = await pair()
    deliver(a, b)
    const early = digestOf(a)
    let arrived: (() => void) | undefined
    b.answer = () => new Promise((resolve) => (arrived = () => resolve(early)))
    await clock.advance(REFRESH_MS)
    a.publisher.claimed(key(1))
    await clock.advance(300)
    deliver(a, b)
    arrived!()
    await clock.advance(50)
    expect(candidates(b, 1)).toEqual([0])
  })

  test('rule 9: one from which nothing has come for three refresh intervals is not consulted', async () => {
    const { clock, b } = await pair()
    // It answers, and has no digest any more; no datagram comes either.
    b.answer = () => ({ kind: 'unserved' })
    await clock.advance(3 * REFRESH_MS - 1_000)
    expect(isConsulted(b.peers.at(0)!, clock.monotonicMs())).toBe(true)
    await clock.advance(2_000)
    expect(isConsulted(b.peers.at(0)!, clock.monotonicMs())).toBe(false)
  })

  test('whose proxy port does not answer is not consulted, and tried again with growing pauses', async () => {
    const { clock, b } = await pair()
    b.answer = () => ({ kind: 'failed', reason: 'connection refused' })
    await clock.advance(REFRESH_MS)
    expect(isConsulted(b.peers.at(0)!, clock.monotonicMs())).toBe(false)
    expect(b.changes().at(-1)).toBe('disconnected: connection refused')
    const before = b.fetches
    await clock.advance(60_000)
    expect(b.fetches - before).toBeGreaterThan(5)
    expect(b.fetches - before).toBeLessThan(15)
    expect(b.changes().filter((change) => change.startsWith('disconnected'))).toHaveLength(1)
  })
})

describe('Summary Cache: a neighbour that failed and came back has its array re-initialised', () => {
  test('by what it says first, and then its digest is fetched', async () => {
    const { clock, a, b } = await pair()
    deliver(a, b)
    a.publisher.claimed(key(1))
    await clock.advance(300)
    deliver(a, b)
    const state = b.peers.at(0)!
    state.health.failed(clock.monotonicMs(), 'no answer')
    expect(candidates(b, 1)).toEqual([])
    // Back, and empty: a life of its own.
    const again = new PaperEnd(clock, 2 ** 31)
    again.exchange.follow({ name: 'b', url: 'http://b', transport: 'dir-update', updates: 'b:3130' })
    b.answer = () => digestOf(again)
    await clock.advance(2_000)
    deliver(again, b)
    await clock.advance(2_000)
    expect(b.changes()).toContain('recovered: heard of again')
    expect(isConsulted(state, clock.monotonicMs())).toBe(true)
    expect(candidates(b, 1)).toEqual([])
    expect(state.paper!.bits!.words).toEqual(new Uint32Array(state.paper!.bits!.words.length))
  })

  test('one that serves no digest, by an empty array', async () => {
    const { clock, a, b } = await pair()
    a.publisher.claimed(key(1))
    await clock.advance(300)
    deliver(a, b)
    const state = b.peers.at(0)!
    b.answer = () => ({ kind: 'unserved' })
    state.health.failed(clock.monotonicMs(), 'no answer')
    await clock.advance(2_000)
    expect([state.health.mayBeAsked, state.paper!.bits]).toEqual([true, undefined])
    expect(candidates(b, 1)).toEqual([])
  })
})

describe('what comes from outside', () => {
  test('is refused by name, counted, and told once a second at most', async () => {
    const { clock, a, b } = await pair()
    deliver(a, b)
    a.publisher.claimed(key(1))
    await clock.advance(300)
    deliver(a, b)
    const before = b.peers.at(0)!.paper!.bits!.words.slice()
    for (let i = 0; i < 100; i++) b.datagrams.arrive('a', new Uint8Array(40).fill(i))
    b.datagrams.dropped = { 'unknown-sender': 3 }
    await clock.advance(2_000)
    expect(b.peers.at(0)!.paper!.bits!.words).toEqual(before)
    expect(b.changes().filter((change) => change.startsWith('refused'))).toEqual([
      'refused: DIRUPDATE: unknown opcode 0 at byte 0',
    ])
    expect(b.events.filter(({ kind }) => kind === 'datagrams-dropped')).toEqual([
      { kind: 'datagrams-dropped', cause: 'unknown-sender', count: 3 },
      { kind: 'datagrams-dropped', cause: 'malformed', count: 100 },
    ])
  })

  test('in a digest too is refused, and the peer is set aside until it mends', async () => {
    const { clock, a, b } = await pair()
    b.answer = () => ({ kind: 'digest', filter: new Uint8Array(99), requestNumber: 1, requestBytes: 1 })
    await clock.advance(REFRESH_MS)
    expect(b.changes().at(-1)).toContain('refused: no usable filter')
    expect(isConsulted(b.peers.at(0)!, clock.monotonicMs())).toBe(false)
    b.answer = () => digestOf(a)
    await clock.advance(20_000)
    expect(isConsulted(b.peers.at(0)!, clock.monotonicMs())).toBe(true)
  })
})

test('every message is counted once where it is sent, by its own size', async () => {
  const { clock, a, b } = await pair()
  a.events.length = 0
  b.events.length = 0
  // Two of its four probes coincide.
  a.publisher.claimed(key(1))
  await clock.advance(300)
  deliver(a, b)
  await clock.advance(REFRESH_MS)
  expect(a.events.filter(({ kind }) => kind === 'digest-sent')).toEqual([
    { kind: 'digest-sent', frame: 'delta', count: 1, bytes: 32 + 4 * 3 },
    { kind: 'digest-sent', frame: 'snapshot', count: 1, bytes: 36 + 4_096 / 8 + 8 },
    { kind: 'digest-sent', frame: 'heartbeat', count: 1, bytes: 32 },
  ])
  expect(b.events.filter(({ kind }) => kind === 'digest-received')).toEqual([
    { kind: 'digest-received', peer: 'a', frame: 'heartbeat', count: 1, bytes: 32 },
    { kind: 'digest-received', peer: 'a', frame: 'delta', count: 1, bytes: 32 + 4 * 3 },
    { kind: 'digest-received', peer: 'a', frame: 'snapshot', count: 1, bytes: 36 + 4_096 / 8 + 8 },
  ])
})

test('after a stop, and after a peer has left, nothing is sent or fetched', async () => {
  const { clock, a, b } = await pair()
  expect(b.exchange.leave('a')).toBe(true)
  expect(b.exchange.leave('a')).toBe(false)
  a.exchange.stop()
  const { fetches } = b
  a.takeSent()
  a.publisher.claimed(key(1))
  await clock.advance(2 * REFRESH_MS)
  expect([a.takeSent(), b.fetches, b.datagrams.admitted.size]).toEqual([[], fetches, 0])
})
