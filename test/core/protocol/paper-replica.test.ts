import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BitArray } from '../../../src/core/filter/bit-array.ts'
import { BloomFilter } from '../../../src/core/filter/bloom-filter.ts'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import { cacheKey } from '../../../src/core/http/cache-key.ts'
import { BIT_CLEAR, encodeDirUpdate } from '../../../src/core/protocol/dir-update-message.ts'
import { DirUpdatePublisher } from '../../../src/core/protocol/dir-update-publisher.ts'
import { paperGeometry, paperGeometryFor, PaperHasher } from '../../../src/core/protocol/paper-hashing.ts'
import { PaperReplica } from '../../../src/core/protocol/paper-replica.ts'
import { UPDATE_PROFILES } from '../../../src/core/protocol/update-policy.ts'

const STALE_AFTER_MS = 900_000
const M = 4_096

const replica = (): PaperReplica => new PaperReplica({ maxBitCount: 65_536, staleAfterMs: STALE_AFTER_MS })

function update(records: number[], requestNumber = 0, bitCount = M): Uint8Array {
  return encodeDirUpdate({
    requestNumber,
    functionCount: 4,
    functionBits: 32,
    bitCount,
    records: Uint32Array.from(records),
  })
}

function filterOf(positions: number[], bitCount = M): Uint8Array {
  const bits = new BitArray(bitCount)
  for (const position of positions) bits.set(position)
  return BloomFilter.ofBits(paperGeometry(bitCount, 4), bits, positions.length).serialise()
}

function setBits({ bits }: PaperReplica): number[] {
  const found: number[] = []
  bits?.pushSet({ push: (position) => found.push(position) })
  return found
}

describe('updates', () => {
  test('the array is made by the first, and records set and clear', () => {
    const held = replica()
    expect([held.bits, held.isCurrent(0)]).toEqual([undefined, false])
    expect(held.receive(update([7, 9]), 0).outcome).toBe('applied')
    expect([setBits(held), held.setBitCount]).toEqual([[7, 9], 2])
    held.receive(update([9 | BIT_CLEAR, 7, 11]), 1)
    expect([setBits(held), held.setBitCount]).toEqual([[7, 11], 2])
  })

  test('one that arrives twice leaves the replica as one arrival would', () => {
    const held = replica()
    for (let i = 0; i < 2; i++) held.receive(update([7, 9 | BIT_CLEAR]), 0)
    expect([setBits(held), held.setBitCount]).toEqual([[7], 1])
  })

  test('another size or number of functions throws the array away, once a second at most', () => {
    const held = replica()
    held.receive(update([7]), 0)
    expect(held.receive(update([9], 0, 8_192), 999)).toEqual({
      outcome: 'refused',
      reason: 'its digest changes its size too often',
    })
    expect(setBits(held)).toEqual([])
    expect(held.receive(update([9], 0, 8_192), 1_000).outcome).toBe('applied')
    expect([setBits(held), held.geometry]).toEqual([[9], paperGeometry(8_192, 4)])
  })

  test('rule 8: one of more bits than are accepted allocates nothing, and one of nearly all bits is void', () => {
    const held = replica()
    expect(held.receive(update([9], 0, 65_537), 0)).toMatchObject({
      outcome: 'refused',
      reason: expect.stringContaining('a digest of 65537 bits'),
    })
    expect(held.bits).toBeUndefined()
    expect(held.receive(update([...Array(58).keys()], 0, 64), 0)).toMatchObject({
      reason: 'its digest is so full that it claims nearly everything',
    })
    expect(held.bits).toBeUndefined()
  })

  test('rule 9: without a sign for the time allowed it is not current, and a message without records is one', () => {
    const held = replica()
    held.receive(update([7]), 0)
    expect([held.isCurrent(STALE_AFTER_MS), held.isCurrent(STALE_AFTER_MS + 1)]).toEqual([true, false])
    held.receive(update([]), STALE_AFTER_MS + 1)
    expect(held.isCurrent(STALE_AFTER_MS + 1)).toBe(true)
  })
})

describe('snapshots', () => {
  test('one takes the place of what was held', () => {
    const held = replica()
    held.receive(update([7]), 0)
    expect(held.load(filterOf([1, 2, 3]), undefined, 5)).toBeUndefined()
    expect([setBits(held), held.setBitCount, held.unmendedMs(9)]).toEqual([[1, 2, 3], 3, 4])
  })

  test.each([
    ['no filter', new Uint8Array(50), 'it does not begin with SCF'],
    ['one bit flipped', filterOf([1]).map((byte, i) => (i === 60 ? byte ^ 1 : byte)), 'its checksum is wrong'],
    ['too large a filter', filterOf([1], 131_072), 'a digest of 131072 bits'],
    ['too full a filter', filterOf([...Array(60).keys()], 64), 'so full that it claims nearly everything'],
    [
      'one of our own hashing',
      new BloomFilter({ ...geometryFor(10), bitCount: M }).serialise(),
      'hashed otherwise than by MD5 of the URL',
    ],
  ])('%s is refused by name, and what was held stays', (_name, bytes, problem) => {
    const held = replica()
    held.receive(update([7]), 0)
    expect(held.load(bytes, undefined, 1)).toContain(problem)
    expect(setBits(held)).toEqual([7])
  })

  test('updates that come while it is on its way are not lost', () => {
    const held = replica()
    held.expectSnapshot()
    held.receive(update([7], 5), 0)
    held.receive(update([8], 6), 0)
    held.load(filterOf([1, 7]), 5, 1)
    expect(setBits(held)).toEqual([1, 7, 8])
    expect(held.lacks).toBe(false)
  })

  test('a datagram from before it, come late, does not bring back what it has cleared', () => {
    const held = replica()
    held.load(filterOf([1]), 5, 0)
    expect(held.receive(update([7], 4), 1).outcome).toBe('late')
    expect(held.receive(update([7], 5), 1).outcome).toBe('late')
    expect(setBits(held)).toEqual([1])
  })

  test('after it a gap in the numbers says that a datagram was lost', () => {
    const held = replica()
    held.load(filterOf([1]), 0xffff_ffff, 0)
    held.receive(update([7], 0), 1)
    expect(held.lacks).toBe(false)
    held.receive(update([8], 2), 1)
    expect([setBits(held), held.lacks]).toEqual([[1, 7, 8], true])
    held.load(filterOf([1, 7, 8, 9]), 2, 2)
    expect(held.lacks).toBe(false)
  })

  test('rule 9: a number from far off is of another life, and makes what was known void', () => {
    const held = replica()
    held.load(filterOf([1, 2, 3]), 5, 0)
    held.receive(update([7], 0x9e37_79b1), 2_000)
    expect([setBits(held), held.lacks]).toEqual([[7], true])
  })
})

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('change' as const), n: fc.nat(40) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('publish' as const), n: fc.nat(3) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('arrive' as const), n: fc.nat(99) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('ask' as const), n: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('answer' as const), n: fc.nat(3) }) },
)

test('whatever is lost, repeated and reordered, after a snapshot and what is sent from then on it is exact', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const publisher = new DirUpdatePublisher(
        {
          geometry: paperGeometryFor(20),
          policy: UPDATE_PROFILES.fresh(),
          maxAgeMs: Infinity,
          heartbeatMs: Infinity,
          firstNumber: 0xffff_fff0,
        },
        0,
      )
      const held = replica()
      // The dull model: what is claimed.
      const claimed = new Set<number>()
      const flying: Uint8Array[] = []
      let onItsWay: ReturnType<DirUpdatePublisher['snapshot']> | undefined
      const load = (): void => {
        if (onItsWay !== undefined) held.load(onItsWay.filter, onItsWay.requestNumber, 0)
        onItsWay = undefined
      }
      for (const { do: what, n } of steps) {
        if (what === 'change') {
          const key = cacheKey(`http://origin.example/${n}`)
          if (claimed.delete(n)) publisher.unclaimed(key)
          else {
            claimed.add(n)
            publisher.claimed(key)
          }
        } else if (what === 'publish') {
          publisher.publish()
          flying.push(...publisher.tick(0, 32))
        } else if (what === 'arrive' && flying.length > 0) {
          held.receive(flying[n % flying.length]!, 0)
          if (n % 3 !== 0) flying.splice(n % flying.length, 1)
        } else if (what === 'ask') {
          held.expectSnapshot()
          onItsWay = publisher.snapshot()
        } else if (what === 'answer') load()
      }
      publisher.publish()
      publisher.tick(0, 32)
      held.expectSnapshot()
      onItsWay = publisher.snapshot()
      for (const late of flying) held.receive(late, 0)
      load()
      for (const late of flying) held.receive(late, 0)
      const model = new BloomFilter(paperGeometryFor(20))
      const hasher = new PaperHasher()
      for (const n of claimed) model.add(hasher.hash(`http://origin.example/${n}`, 4))
      expect(held.bits!.words).toEqual(model.bits.words)
      expect(held.setBitCount).toBe(model.setBitCount)
    }),
  )
})
