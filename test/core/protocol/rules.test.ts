import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import { cacheKey, type CacheKey } from '../../../src/core/http/cache-key.ts'
import { isConsulted } from '../../../src/core/peers/peer-table.ts'
import { SummaryCacheProtocol } from '../../../src/core/protocol/summary-cache-protocol.ts'
import { UPDATE_PROFILES } from '../../../src/core/protocol/update-policy.ts'
import { bitsOf } from '../digest/test-publisher.ts'
import { answered, due, snapshotOf, turnOver } from './driving.ts'

const HEARTBEAT_MS = 5_000

function protocol(incarnation = 1, expectedEntries = 200, pendingClearShare = 0.03): SummaryCacheProtocol {
  const geometry = geometryFor(expectedEntries)
  return new SummaryCacheProtocol(
    {
      incarnation,
      geometry,
      policy: UPDATE_PROFILES.fresh(),
      pendingClearShare,
      generationAgeMs: 86_400_000,
      heartbeatMs: HEARTBEAT_MS,
      maxBitCount: 16 * geometry.bitCount,
    },
    0,
  )
}

/** A follower with one peer, and the publisher's frames brought to it by hand. */
function pair(publisher = protocol()): { publisher: SummaryCacheProtocol; follower: SummaryCacheProtocol } {
  const follower = protocol(2, publisher.publisher.summary.geometry.bitCount / 16)
  follower.peers.add({ name: 'p', url: 'http://p' })
  catchUp(publisher, follower, 0)
  return { publisher, follower }
}

function catchUp(publisher: SummaryCacheProtocol, follower: SummaryCacheProtocol, nowMs: number): void {
  const { digest } = follower.peers.at(0)!
  for (const { frame } of answered(publisher, digest.want(), nowMs)) follower.receive(0, frame, nowMs)
  while (digest.work(nowMs)) continue
}

function keys(from: number, to: number): CacheKey[] {
  return Array.from({ length: to - from }, (_, i) => cacheKey(`http://origin.example/${from + i}`))
}

/** The follower's replica and the publisher's published bits, word for word. */
function expectExact(publisher: SummaryCacheProtocol, follower: SummaryCacheProtocol): void {
  const { replica } = follower.peers.at(0)!.digest
  expect(replica.name).toEqual(publisher.publisher.name)
  expect(bitsOf(replica)!.words).toEqual(publisher.publisher.summary.published.words)
}

describe('rule 1: a replica equals, bit for bit, what was published under its name', () => {
  test('whatever is inserted, removed, published, lost, repeated and reordered', () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ do: fc.constant('insert' as const), key: fc.nat(300) }) },
      { weight: 4, arbitrary: fc.record({ do: fc.constant('remove' as const), key: fc.nat(300) }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('publish' as const), turnOver: fc.boolean() }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('deliver' as const), at: fc.nat(20), keep: fc.boolean() }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('ask' as const) }) },
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const { publisher, follower } = pair()
        const { replica } = follower.peers.at(0)!.digest
        const held = new Set<number>()
        const network: Uint8Array[] = []
        // What was published under each name, kept by the dull way: a copy.
        const states = new Map<string, Uint32Array>()
        const remember = (): void => {
          states.set(JSON.stringify(publisher.publisher.name), publisher.publisher.summary.published.words.slice())
        }
        remember()
        let nowMs = 0
        for (const one of steps) {
          nowMs += 10
          if (one.do === 'insert' && !held.has(one.key)) {
            held.add(one.key)
            publisher.claimed(keys(one.key, one.key + 1)[0]!, 0)
          } else if (one.do === 'remove' && held.delete(one.key)) {
            publisher.unclaimed(keys(one.key, one.key + 1)[0]!, 0)
          } else if (one.do === 'publish') {
            const published = one.turnOver
              ? turnOver(publisher.publisher, nowMs)
              : publisher.publisher.publish(nowMs, 'command')
            if (published !== undefined) network.push(published.frame)
            remember()
          } else if (one.do === 'deliver' && network.length > 0) {
            const at = one.at % network.length
            follower.receive(0, network[at]!, nowMs)
            if (!one.keep) network.splice(at, 1)
            follower.peers.at(0)!.digest.work(nowMs)
          } else if (one.do === 'ask') {
            catchUp(publisher, follower, nowMs)
            expectExact(publisher, follower)
          }
          if (replica.name !== undefined)
            expect(bitsOf(replica)!.words).toEqual(states.get(JSON.stringify(replica.name)))
        }
        catchUp(publisher, follower, nowMs)
        expectExact(publisher, follower)
      }),
      { numRuns: 150 },
    )
  })
})

describe('rule 2: what a follower missed', () => {
  test('comes as one step made of all that it missed, where that is smaller than a snapshot', () => {
    const { publisher, follower } = pair(protocol(1, 10_000))
    for (const key of keys(0, 5_000)) publisher.claimed(key, 0)
    publisher.publisher.publish(1, 'command')
    catchUp(publisher, follower, 1)
    for (let i = 0; i < 3; i++) {
      for (const key of keys(5_000 + i, 5_001 + i)) publisher.claimed(key, 0)
      publisher.publisher.publish(2 + i, 'command')
    }
    const missed = answered(publisher, follower.peers.at(0)!.digest.want(), 9)
    expect(missed.map(({ kind }) => kind)).toEqual(['delta'])
    catchUp(publisher, follower, 9)
    expectExact(publisher, follower)
  })

  test('comes as a snapshot when the steps are gone', () => {
    const { publisher, follower } = pair()
    for (let i = 0; i < 100; i++) {
      for (const key of keys(2 * i, 2 * i + 2)) publisher.claimed(key, 0)
      publisher.publisher.publish(i, 'command')
    }
    expect(answered(publisher, follower.peers.at(0)!.digest.want(), 200).map(({ kind }) => kind)).toEqual(['snapshot'])
  })
})

describe('rule 3: clearing is a turnover', () => {
  test('a removal changes nothing until the pending clears pass their share of the set bits', () => {
    const { publisher } = pair(protocol(1, 2_000, 0.03))
    const all = keys(0, 1_000)
    for (const key of all) publisher.claimed(key, 0)
    expect(publisher.tick(1_000)?.kind).toBe('delta')
    const { summary } = publisher.publisher
    const share = (): number => summary.pendingClearCount / summary.setBitCount
    let removed = 0
    while (share() <= 0.03) publisher.unclaimed(all[removed++]!, 0)
    // The one before left it within the share.
    expect(removed).toBeGreaterThan(25)
    expect(publisher.publisher.name.generation).toBe(0)
    // As old as the last tick, so past the profile's 250 ms.
    expect(due(publisher.publisher, 2_000)).toMatchObject({ reason: 'pending-clears' })
    expect(publisher.publisher.name).toMatchObject({ generation: 1, sequence: 0 })
    expect(summary.pendingClearCount).toBe(0)
  })

  test('an insert that comes back cancels its pending clear', () => {
    const { publisher } = pair()
    const [key] = keys(0, 1)
    publisher.claimed(key!, 0)
    publisher.tick(1_000)
    publisher.unclaimed(key!, 0)
    expect(publisher.publisher.summary.pendingClearCount).toBeGreaterThan(0)
    publisher.claimed(key!, 0)
    expect(publisher.publisher.summary.pendingClearCount).toBe(0)
    expect(publisher.publisher.summary.openChangeCount).toBe(0)
  })

  test('a generation ends when it is as old as it may be', () => {
    const { publisher } = pair()
    expect(publisher.tick(86_399_999)?.kind).toBe('heartbeat')
    expect(due(publisher.publisher, 86_400_000)).toMatchObject({ reason: 'generation-age' })
  })
})

describe('rule 4: a swap is atomic', () => {
  test('while a snapshot is built in slices, lookups see the old state, whole, and then the new one', () => {
    const { publisher, follower } = pair(protocol(1, 60_000))
    const digest = follower.peers.at(0)!.digest
    const old = keys(0, 2_000)
    for (const key of old) publisher.claimed(key, 0)
    publisher.publisher.publish(1, 'command')
    catchUp(publisher, follower, 1)
    const nameBefore = digest.replica.name
    for (const key of old) publisher.unclaimed(key, 0)
    const fresh = keys(2_000, 42_000)
    for (const key of fresh) publisher.claimed(key, 0)
    turnOver(publisher.publisher, 2)
    let slices = 0
    expect(follower.receive(0, snapshotOf(publisher.publisher, 2), 2)?.merge).toBe('building')
    while (digest.work(2)) {
      slices++
      expect(digest.replica.name).toBe(nameBefore)
      expect(old.every((key) => digest.replica.mayContain(key))).toBe(true)
    }
    expect(slices).toBeGreaterThan(3)
    expectExact(publisher, follower)
    expect(fresh.every((key) => digest.replica.mayContain(key))).toBe(true)
  })
})

describe('rule 9: old knowledge is not used', () => {
  test('a replica not proved for three heartbeats is not consulted, and a heartbeat makes it so again', () => {
    const { publisher, follower } = pair()
    const [key] = keys(0, 1)
    publisher.claimed(key!, 0)
    follower.receive(0, publisher.publisher.publish(0, 'command')!.frame, 0)
    expect(follower.peers.candidates(key!, 3 * HEARTBEAT_MS)).toEqual([0])
    expect(follower.peers.candidates(key!, 3 * HEARTBEAT_MS + 1)).toEqual([])
    const heartbeat = publisher.tick(20_000)!
    expect(heartbeat.kind).toBe('heartbeat')
    follower.receive(0, heartbeat.frame, 20_000)
    expect(follower.peers.candidates(key!, 20_000)).toEqual([0])
  })

  test('an idle publisher sends a heartbeat each interval, of less than 500 bytes', () => {
    const { publisher } = pair()
    const sent: number[] = []
    for (let nowMs = 0; nowMs <= 60_000; nowMs += 50) {
      const sending = publisher.tick(nowMs)
      if (sending !== undefined) sent.push(sending.frame.length)
    }
    expect(sent).toHaveLength(12)
    // PROTOCOL: an idle peer costs less than 100 bytes a second.
    expect(Math.max(...sent) + 4).toBeLessThan((100 * HEARTBEAT_MS) / 1_000)
  })

  test('a new incarnation throws the old replica away before its own first state is there', () => {
    const { publisher, follower } = pair()
    const [key] = keys(0, 1)
    publisher.claimed(key!, 0)
    follower.receive(0, publisher.publisher.publish(0, 'command')!.frame, 0)
    expect(follower.peers.candidates(key!, 0)).toEqual([0])
    const reborn = protocol(7)
    follower.receive(0, reborn.tick(HEARTBEAT_MS)!.frame, HEARTBEAT_MS)
    expect(follower.peers.candidates(key!, HEARTBEAT_MS)).toEqual([])
    // What is still on its way from the life before is refused.
    const late = follower.receive(0, snapshotOf(publisher.publisher, 6_000), 6_000)
    expect(late?.refused).toContain('incarnation')
    catchUp(reborn, follower, 6_000)
    expectExact(reborn, follower)
  })

  test('a peer that says goodbye is not consulted from then on', () => {
    const { publisher, follower } = pair()
    const [key] = keys(0, 1)
    publisher.claimed(key!, 0)
    follower.receive(0, publisher.publisher.publish(0, 'command')!.frame, 0)
    expect(follower.receive(0, publisher.publisher.goodbye(), 1)?.merge).toBe('left')
    expect(isConsulted(follower.peers.at(0)!, 1)).toBe(false)
    expect(follower.peers.candidates(key!, 1)).toEqual([])
  })
})

describe('rule 8: what a peer sends is bounded and checked', () => {
  test('a frame that breaks its format is refused by name and changes nothing', () => {
    const { publisher, follower } = pair()
    publisher.claimed(keys(0, 1)[0]!, 0)
    const { frame } = publisher.publisher.publish(0, 'command')!
    const before = follower.peers.at(0)!.digest.replica.name
    for (let cut = 0; cut < frame.length; cut++) {
      const received = follower.receive(0, frame.subarray(0, cut), 0)
      expect(received?.refused, `cut to ${cut} bytes`).toBeDefined()
    }
    expect(follower.peers.at(0)!.digest.replica.name).toEqual(before)
  })

  test('a want that is none is refused, not answered', () => {
    const { publisher } = pair()
    expect(() => publisher.answer(publisher.publisher.goodbye(), true)).toThrow(/want/)
    expect(() => publisher.answer(new Uint8Array(64), true)).toThrow(/magic|frame|digest/i)
  })
})
