import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CountingBloomFilter } from '../../../src/core/filter/counting-bloom-filter.ts'
import { geometryFor, type FilterGeometry } from '../../../src/core/filter/filter-geometry.ts'
import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { probePositions } from '../../../src/core/filter/probing.ts'
import { BloomFilter } from '../../../src/core/filter/bloom-filter.ts'
import { MalformedFilterError, decodeFilter, type FilterRecord } from '../../../src/core/filter/filter-format.ts'
import { KeyNotHeldError } from '../../../src/core/filter/membership-filter.ts'
import { PositionList } from '../../../src/core/filter/position-list.ts'
import { keyOf, seededRandom } from './test-keys.ts'

const small: FilterGeometry = { ...geometryFor(1), bitCount: 64, probeCount: 4 }

function positionsOf(key: KeyHash, geometry: FilterGeometry): number[] {
  const out = new Uint32Array(geometry.probeCount)
  probePositions(key, geometry, out)
  return [...out]
}

function setBits(filter: CountingBloomFilter): number[] {
  return Array.from({ length: filter.geometry.bitCount }, (_, i) => i).filter((i) => filter.isSet(i))
}

function drained(list: PositionList): number[] {
  const positions = Array.from({ length: list.length }, (_, i) => list.at(i))
  list.clear()
  return positions
}

const sorted = (positions: Iterable<number>): number[] => [...positions].sort((a, b) => a - b)

/** The positions that are up after these flips; each must alternate, from 0. */
function afterFlips(flips: readonly (readonly [position: number, by: number])[]): number[] {
  const levels = new Map<number, number>()
  for (const [position, by] of flips) {
    const level = (levels.get(position) ?? 0) + by
    if (level !== 0 && level !== 1) throw new Error(`bit ${position} flipped twice the same way`)
    levels.set(position, level)
  }
  return sorted([...levels].filter(([, level]) => level === 1).map(([position]) => position))
}

/** The first key `prefix`0, `prefix`1, ... of which `test` holds. */
function search(prefix: string, holds: (key: KeyHash) => boolean): KeyHash {
  for (let n = 0; ; n++) {
    const key = keyOf(`${prefix}${n}`)
    if (holds(key)) return key
  }
}

describe('a counting Bloom filter', () => {
  test('after additions and removals has the bits of one built from what is left, and told of each that flipped', () => {
    const step = fc.tuple(fc.boolean(), fc.nat(11))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const geometry = { ...small, bitCount: 256 }
        const filter = new CountingBloomFilter(geometry)
        const flips = new PositionList()
        const told: [position: number, by: number][] = []
        const held: number[] = Array.from({ length: 12 }, () => 0)
        for (const [adds, n] of steps) {
          // Beyond this a counter may stick, which a rebuild would free.
          if (adds && held.reduce((sum, count) => sum + count) < 14) {
            held[n]!++
            filter.add(keyOf(`${n}`), flips)
            for (const position of drained(flips)) told.push([position, 1])
          } else if (!adds && held[n]! > 0) {
            held[n]!--
            filter.remove(keyOf(`${n}`), flips)
            for (const position of drained(flips)) told.push([position, -1])
          }
        }
        const rebuilt = new Set(held.flatMap((count, n) => (count > 0 ? positionsOf(keyOf(`${n}`), geometry) : [])))
        expect(setBits(filter)).toEqual(sorted(rebuilt))
        expect(afterFlips(told)).toEqual(setBits(filter))
        expect(filter.setBitCount).toBe(rebuilt.size)
        expect(filter.entryCount).toBe(held.reduce((sum, count) => sum + count))
        expect(held.every((count, n) => count === 0 || filter.mayContain(keyOf(`${n}`)))).toBe(true)
      }),
    )
  })

  test('counts a bit once for a key whose probes meet on it', () => {
    const key = search('k', (k) => new Set(positionsOf(k, small)).size < 4)
    const filter = new CountingBloomFilter(small)
    const flips = new PositionList()
    filter.add(key, flips)
    expect(sorted(drained(flips))).toEqual(sorted(new Set(positionsOf(key, small))))
    filter.remove(key, flips)
    expect(sorted(drained(flips))).toEqual(sorted(new Set(positionsOf(key, small))))
    // Counted twice, it would stick at the eighth.
    for (let n = 0; n < 10; n++) filter.add(key, flips)
    for (let n = 0; n < 10; n++) filter.remove(key, flips)
    expect(filter.setBitCount).toBe(0)
  })

  // sile/scalable_cuckoo_filter#4, #13; RedisBloom#260
  test('holds one of two keys with the same bits after the other is removed', () => {
    const first = keyOf('A')
    const bits = new Set(positionsOf(first, small))
    const second = search('B', (k) => new Set(positionsOf(k, small)).difference(bits).size === 0)
    const filter = new CountingBloomFilter(small)
    const sink = new PositionList()
    filter.add(first, sink)
    filter.add(second, sink)
    filter.remove(first, sink)
    expect(filter.mayContain(second)).toBe(true)
  })

  test('holds a key added three times until it was removed three times', () => {
    const filter = new CountingBloomFilter(small)
    const sink = new PositionList()
    for (let n = 0; n < 3; n++) filter.add(keyOf('A'), sink)
    for (let n = 0; n < 2; n++) filter.remove(keyOf('A'), sink)
    expect(filter.mayContain(keyOf('A'))).toBe(true)
    filter.remove(keyOf('A'), sink)
    expect(filter.mayContain(keyOf('A'))).toBe(false)
    expect(filter.setBitCount).toBe(0)
  })

  test('refuses to remove what it certainly does not hold, and changes nothing', () => {
    const filter = new CountingBloomFilter(small)
    const sink = new PositionList()
    filter.add(keyOf('A'), sink)
    const held = setBits(filter)
    // Shares its first probe with A, so that a removal in one pass would have taken that bit.
    const stranger = search('C', (k) => {
      const positions = positionsOf(k, small)
      return held.includes(positions[0]!) && !filter.mayContain(k)
    })
    sink.clear()
    expect(() => filter.remove(stranger, sink)).toThrow(KeyNotHeldError)
    expect([setBits(filter), sink.length, filter.entryCount]).toEqual([held, 0, 1])
  })

  test('keeps the bits of a key added more than 15 times for ever', () => {
    const filter = new CountingBloomFilter(small)
    const sink = new PositionList()
    for (let n = 0; n < 20; n++) filter.add(keyOf('A'), sink)
    for (let n = 0; n < 20; n++) filter.remove(keyOf('A'), sink)
    expect(filter.mayContain(keyOf('A'))).toBe(true)
    expect(filter.entryCount).toBe(0)
  })

  test('in which no counter stuck is byte for byte the one built afresh from what is left', () => {
    const step = fc.tuple(fc.boolean(), fc.nat(40))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 16 }), (steps, probeCount) => {
        const geometry = { ...small, bitCount: 1000, probeCount }
        const filter = new CountingBloomFilter(geometry)
        const held: number[] = []
        let most = 0
        for (const [adds, n] of steps) {
          if (adds) {
            held.push(n)
            filter.add(keyOf(`${n}`))
          } else if (held.includes(n)) {
            held.splice(held.indexOf(n), 1)
            filter.remove(keyOf(`${n}`))
          }
          most = Math.max(most, largestCounter(held, geometry))
        }
        fc.pre(most < 15)
        const fresh = new CountingBloomFilter(geometry)
        for (const n of held.toSorted((a, b) => a - b)) fresh.add(keyOf(`${n}`))
        expect(filter.serialise()).toEqual(fresh.serialise())
        const bits = new BloomFilter(geometry)
        for (const n of held) bits.add(keyOf(`${n}`))
        expect(filter.toBloomFilter().serialise()).toEqual(bits.serialise())
      }),
      { numRuns: 60 },
    )
  })

  // Summary Cache: a counter that sticks costs at worst a false hit.
  test('in which counters stick never misses a key', () => {
    const geometry = { ...small, bitCount: 64, probeCount: 4 }
    const random = seededRandom(5)
    for (let round = 0; round < 20; round++) {
      const filter = new CountingBloomFilter(geometry)
      const held: number[] = []
      let stuck = 0
      for (let step = 0; step < 2000; step++) {
        // Up to some 400 keys, 25 of each counter; then down again.
        if (random() < (step < 1000 ? 0.7 : 0.3)) {
          held.push(Math.floor(random() * 1000))
          filter.add(keyOf(`${held.at(-1)}`))
        } else if (held.length > 0) {
          const [n] = held.splice(Math.floor(random() * held.length), 1)
          filter.remove(keyOf(`${n}`))
        }
        if (step % 100 === 0) {
          stuck = Math.max(stuck, largestCounter(held, geometry))
          expect(held.every((n) => filter.mayContain(keyOf(`${n}`)))).toBe(true)
        }
      }
      expect(stuck).toBeGreaterThan(15)
      expect(held.every((n) => filter.mayContain(keyOf(`${n}`)))).toBe(true)
      const copy = CountingBloomFilter.load(decodeFilter(filter.serialise()))
      expect(copy.serialise()).toEqual(filter.serialise())
    }
  })

  test('united with another gives back both, and counters that stick at 15 miss nothing', () => {
    for (const count of [5, 60]) {
      const one = new CountingBloomFilter(small)
      const other = new CountingBloomFilter(small)
      for (let n = 0; n < count; n++) {
        one.add(keyOf(`a${n}`))
        other.add(keyOf(`b${n}`))
      }
      one.unionWith(other)
      for (let n = 0; n < count; n++) one.remove(keyOf(`a${n}`))
      expect(one.entryCount).toBe(count)
      for (let n = 0; n < count; n++) expect(one.mayContain(keyOf(`b${n}`))).toBe(true)
      if (count === 5) expect(one.serialise()).toEqual(other.serialise())
    }
  })

  test.each([
    ['bit count 0 out of range', { parameters: [0, 4, 8, 0] }],
    ['probe count 17 out of range', { parameters: [64, 17, 8, 0] }],
    ['a fourth parameter', { parameters: [64, 4, 8, 1] }],
    ['8 counters are not 0, where its head says 7', { parameters: [64, 4, 7, 0] }],
    ['counters of 8 in all for 1 entries', { entryCount: 1 }],
    ['counters of 8 in all for 9 entries', { entryCount: 9 }],
    ['a body of 31 bytes for 256 bits', { body: new Uint8Array(31) }],
    ['a body of 32 bytes for 8589934592 bits', { parameters: [2 ** 31, 4, 8, 0] }],
  ] as readonly (readonly [string, Partial<FilterRecord>])[])('is not loaded with %s', (problem, change) => {
    const filter = new CountingBloomFilter(small)
    const first = keyOf('A')
    const taken = new Set(positionsOf(first, small))
    filter.add(first)
    filter.add(
      search(
        'D',
        (k) => new Set(positionsOf(k, small)).isDisjointFrom(taken) && new Set(positionsOf(k, small)).size === 4,
      ),
    )
    const record = decodeFilter(filter.serialise())
    expect(record.parameters).toEqual([64, 4, 8, 0])
    expect(() => CountingBloomFilter.load({ ...record, ...change })).toThrow(MalformedFilterError)
    expect(() => CountingBloomFilter.load({ ...record, ...change })).toThrow(problem)
  })
})

/** Of the counters if none stuck. */
function largestCounter(held: readonly number[], geometry: FilterGeometry): number {
  const counts = new Uint32Array(geometry.bitCount)
  for (const n of held) for (const position of new Set(positionsOf(keyOf(`${n}`), geometry))) counts[position]!++
  return Math.max(...counts)
}
