import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeDigestMessage } from '../../../src/core/digest/digest-codec.ts'
import { compareNames, type DigestName } from '../../../src/core/digest/digest-name.ts'
import { Replica } from '../../../src/core/digest/replica.ts'
import type { ClaimSource } from '../../../src/core/filter/claim-source.ts'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { cacheKey } from '../../../src/core/http/cache-key.ts'
import { DigestPublisher, type Publication } from '../../../src/core/protocol/digest-publisher.ts'
import { UPDATE_PROFILES } from '../../../src/core/protocol/update-policy.ts'
import { WantAnswer } from '../../../src/core/protocol/want-answer.ts'
import { bitsOf } from '../digest/test-publisher.ts'
import { due, snapshotOf, turnOver } from './driving.ts'

const MAX_BIT_COUNT = 2 ** 24

function key(n: number): KeyHash {
  return cacheKey(`http://origin.example/${n}`)
}

/** A directory whose slots are its keys' numbers. */
class NumberedKeys implements ClaimSource {
  readonly held = new Set<number>()
  readonly #publisher: DigestPublisher

  constructor(publisher: DigestPublisher) {
    this.#publisher = publisher
    publisher.rebuildFrom(this)
  }

  get slotCount(): number {
    return this.held.size === 0 ? 0 : Math.max(...this.held) + 1
  }

  forEachClaim(fromSlot: number, toSlot: number, visit: (key: KeyHash) => void): void {
    for (let slot = fromSlot; slot < toSlot; slot++) if (this.held.has(slot)) visit(key(slot))
  }

  insert(n: number): void {
    if (this.held.has(n)) return
    this.held.add(n)
    this.#publisher.claimed(key(n), n)
  }

  evict(n: number): void {
    if (this.held.delete(n)) this.#publisher.unclaimed(key(n), n)
  }
}

function publishing(expectedEntries = 200): { publisher: DigestPublisher; keys: NumberedKeys } {
  const publisher = new DigestPublisher(
    {
      incarnation: 1,
      geometry: geometryFor(expectedEntries),
      policy: UPDATE_PROFILES.fresh(),
      pendingClearShare: 0.03,
      generationAgeMs: 86_400_000,
      heartbeatMs: 5_000,
      maxBitCount: MAX_BIT_COUNT,
    },
    0,
  )
  return { publisher, keys: new NumberedKeys(publisher) }
}

function wordsOf(publisher: DigestPublisher): Uint32Array {
  return publisher.summary.published.words.slice()
}

function take(replica: Replica, frame: Uint8Array): void {
  replica.receive(decodeDigestMessage(frame, { maxBitCount: MAX_BIT_COUNT }))
  while (replica.work(10_000)) continue
}

function answer(publisher: DigestPublisher, have: DigestName | undefined, untilSequence?: number) {
  const answering = new WantAnswer(publisher, { have, untilSequence }, true)
  while (answering.work(100, 0)) continue
  return answering.frames(0)
}

function follower(publisher: DigestPublisher): Replica {
  const replica = new Replica({ maxBitCount: MAX_BIT_COUNT })
  for (const { frame } of answer(publisher, undefined)) take(replica, frame)
  return replica
}

/** Shannon's bound for so many of m positions, in bytes. */
function entropyBytes(count: number, bitCount: number): number {
  const p = count / bitCount
  return count === 0 ? 0 : (bitCount * (-p * Math.log2(p) - (1 - p) * Math.log2(1 - p))) / 8
}

describe('rules 2 and 7: what a follower missed', () => {
  const step = fc.record({
    insert: fc.array(fc.nat(400), { maxLength: 20 }),
    evict: fc.array(fc.nat(400), { maxLength: 20 }),
    turnsOver: fc.boolean(),
  })

  test('comes as one step to the state published last, however many lie between, and leaves it exact', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), fc.array(step, { maxLength: 8 }), (before, after) => {
        // Large enough for every step to be kept.
        const { publisher, keys } = publishing(4_000)
        for (let n = 1_000; n < 3_000; n++) keys.insert(n)
        const run = (steps: typeof before): void => {
          for (const { evict, insert, turnsOver } of steps) {
            for (const n of insert) keys.insert(n)
            for (const n of evict) keys.evict(n)
            if (turnsOver) turnOver(publisher, 0)
            else publisher.publish(0, 'command')
          }
        }
        publisher.publish(0, 'command')
        run(before)
        const replica = follower(publisher)
        run(after)
        const missed = compareNames(replica.name!, publisher.name) !== 0
        const frames = answer(publisher, replica.name)
        expect(frames.map(({ kind }) => kind)).toEqual([
          !missed ? 'heartbeat' : replica.name!.generation === publisher.name.generation ? 'delta' : 'turnover',
        ])
        for (const { frame } of frames) take(replica, frame)
        expect(replica.name).toEqual(publisher.name)
        expect(bitsOf(replica)!.words).toEqual(wordsOf(publisher))
      }),
      { numRuns: 60 },
    )
  })

  test('costs at most twice the entropy of the difference, and the head, also after a thousand small steps', () => {
    const { publisher, keys } = publishing(100_000)
    for (let n = 100_000; n < 200_000; n++) keys.insert(n)
    publisher.publish(0, 'command')
    const replica = follower(publisher)
    const before = bitsOf(replica)!
    let stepBytes = 0
    for (let n = 0; n < 1_000; n++) {
      keys.insert(n)
      stepBytes += publisher.publish(0, 'command')!.frame.length
    }
    const { frame } = answer(publisher, replica.name)[0]!
    let differing = 0
    const after = publisher.summary.published
    for (let i = 0; i < after.bitCount; i++) if (after.get(i) !== before.get(i)) differing++
    expect(frame.length - 58).toBeLessThan(1.1 * entropyBytes(differing, after.bitCount))
    expect(stepBytes).toBeGreaterThan(5 * frame.length)
  })

  test('comes without what has come already, where the follower says up to where it lacks something', () => {
    const { publisher, keys } = publishing(4_000)
    for (let n = 1_000; n < 3_000; n++) keys.insert(n)
    publisher.publish(0, 'command')
    const names: DigestName[] = []
    for (let n = 0; n < 10; n++) {
      keys.insert(n)
      publisher.publish(0, 'command')
      names.push(publisher.name)
    }
    const frames = answer(publisher, names[2], names[5]!.sequence)
    expect(frames.map(({ kind }) => kind)).toEqual(['delta'])
    const delta = decodeDigestMessage(frames[0]!.frame, { maxBitCount: MAX_BIT_COUNT })
    expect(delta).toMatchObject({ kind: 'delta', fromSequence: names[2]!.sequence, state: { name: names[5] } })
  })

  test('comes as a snapshot when the steps together would be larger than one', () => {
    const { publisher, keys } = publishing()
    const replica = follower(publisher)
    for (let n = 0; n < 200; n++) {
      keys.insert(n)
      publisher.publish(0, 'command')
    }
    const frames = answer(publisher, replica.name)
    expect(frames.map(({ kind }) => kind)).toEqual(['snapshot'])
  })
})

describe('rules 3 and 5: the next generation is built while this one goes on', () => {
  test('deltas go out until its bits stand; from then on they belong to it', () => {
    const { publisher, keys } = publishing()
    const replica = follower(publisher)
    for (let n = 0; n < 100; n++) keys.insert(n)
    publisher.beginGeneration({ reason: 'command', refill: publisher.summary.geometry })
    take(replica, publisher.tick(250)!.frame)
    expect(replica.name).toEqual({ incarnation: 1, generation: 0, sequence: 1 })
    for (let n = 0; n < 50; n++) keys.evict(n)

    let turnover: Publication | undefined
    let nowMs = 300
    let deltas = 0
    let held = 0
    for (let n = 200; turnover === undefined; n++) {
      nowMs += 250
      keys.insert(n)
      const delta = publisher.tick(nowMs)
      if (delta !== undefined) {
        expect(publisher.summary.isFixed).toBe(false)
        deltas++
        take(replica, delta.frame)
        expect(bitsOf(replica)!.words).toEqual(wordsOf(publisher))
      } else if (publisher.summary.isFixed) {
        held++
      }
      turnover = publisher.work(64, nowMs)
    }
    expect(deltas).toBeGreaterThan(1)
    expect(held).toBeGreaterThan(1)
    take(replica, turnover.frame)
    expect(replica.name).toEqual({ incarnation: 1, generation: 1, sequence: 0 })
    expect(bitsOf(replica)!.words).toEqual(wordsOf(publisher))
    take(replica, publisher.tick(nowMs + 250)!.frame)
    expect(bitsOf(replica)!.words).toEqual(wordsOf(publisher))
    expect([...keys.held].every((n) => replica.mayContain(key(n)))).toBe(true)
    expect(publisher.drift).toEqual({ missing: 0, surplus: 0 })
    expect(publisher.auditCount).toBe(1)
  })

  test('a summary that fills up is rebuilt larger, announced, fetched whole, and goes on', () => {
    const { publisher, keys } = publishing(60)
    const replica = follower(publisher)
    const sizes = new Set<number>()
    let nowMs = 0
    for (let n = 0; n < 2_000; n++) {
      nowMs += 250
      keys.insert(n)
      const published = due(publisher, nowMs)
      if (published !== undefined) take(replica, published.frame)
      if (replica.lacks) for (const { frame } of answer(publisher, replica.have)) take(replica, frame)
      expect(replica.name).toEqual(publisher.name)
      sizes.add(replica.state!.geometry.bitCount)
      expect(publisher.summary.setBitCount / publisher.summary.geometry.bitCount).toBeLessThanOrEqual(0.5)
    }
    expect([...sizes].length).toBeGreaterThan(2)
    expect(bitsOf(replica)!.words).toEqual(wordsOf(publisher))
    expect([...keys.held].every((n) => replica.mayContain(key(n)))).toBe(true)
  })

  test('a flood of inserts between two ticks makes it larger before a peer sees a digest that claims everything', () => {
    const { publisher, keys } = publishing(60)
    for (let n = 0; n < 5_000; n++) keys.insert(n)
    const published = due(publisher, 250)!
    expect(published).toMatchObject({ kind: 'heartbeat', reason: 'fill' })
    expect(publisher.summary.setBitCount / publisher.summary.geometry.bitCount).toBeLessThan(0.25)
  })

  test('bits that a fault has changed under their checksum are found by the comparison and published whole', () => {
    const { publisher, keys } = publishing()
    for (let n = 0; n < 100; n++) keys.insert(n)
    publisher.publish(0, 'command')
    const { published } = publisher.summary
    const fallen = Array.from({ length: published.bitCount }, (_, i) => i).find((i) => published.get(i))!
    published.clear(fallen)
    publisher.beginGeneration({ reason: 'audit', refill: publisher.summary.geometry })
    let turned: Publication | undefined
    while (turned === undefined) turned = publisher.work(64, 0)
    expect(publisher.checksumFaults).toBe(1)
    const replica = follower(publisher)
    expect(bitsOf(replica)!.words).toEqual(wordsOf(publisher))
    expect([...keys.held].every((n) => replica.mayContain(key(n)))).toBe(true)
  })

  test('the age of a change that a turnover carries counts from when it came', () => {
    const { publisher, keys } = publishing(4_000)
    for (let n = 1_000; n < 3_000; n++) keys.insert(n)
    publisher.publish(0, 'command')
    keys.insert(1)
    publisher.beginGeneration({ reason: 'command', refill: undefined })
    let turnover: Publication | undefined
    for (let nowMs = 10; turnover === undefined; nowMs += 10) turnover = publisher.work(10, nowMs)
    const message = decodeDigestMessage(turnover.frame, { maxBitCount: MAX_BIT_COUNT })
    expect(message.kind).toBe('turnover')
    if (message.kind === 'turnover') expect(message.state.oldestChangeAgeMs).toBeGreaterThan(50)
  })
})

describe('a snapshot made in slices', () => {
  test('is of one state that was published, whatever is published meanwhile, and is kept for half a minute', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3), { maxLength: 40 }), fc.integer({ min: 1, max: 40 }), (turns, slice) => {
        const { publisher, keys } = publishing(1_000)
        for (let n = 0; n < 500; n++) keys.insert(n)
        publisher.publish(0, 'command')
        const states = new Map([[JSON.stringify(publisher.name), wordsOf(publisher)]])
        let n = 500
        for (const turn of turns) {
          if (turn < 2) publisher.encodeSnapshot(slice, 0)
          keys.insert(n)
          keys.evict(n++ - 500)
          if (turn === 3) turnOver(publisher, 0)
          else publisher.publish(0, 'command')
          states.set(JSON.stringify(publisher.name), wordsOf(publisher))
        }
        const frame = snapshotOf(publisher, 0)
        const replica = new Replica({ maxBitCount: MAX_BIT_COUNT })
        take(replica, frame)
        expect(bitsOf(replica)!.words).toEqual(states.get(JSON.stringify(replica.name)))
      }),
      { numRuns: 60 },
    )
    const { publisher } = publishing()
    snapshotOf(publisher, 0)
    const { tag } = publisher.keptSnapshot()!
    publisher.tick(30_000)
    expect(publisher.keptSnapshot(tag)?.tag).toBe(tag)
    publisher.tick(30_001)
    expect(publisher.keptSnapshot(tag)).toBe(undefined)
  })
})
