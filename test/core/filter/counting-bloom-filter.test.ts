import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CountingBloomFilter } from '../../../src/core/filter/counting-bloom-filter.ts'
import { geometryFor, type FilterGeometry } from '../../../src/core/filter/filter-geometry.ts'
import { expectedFalseHitRate } from '../../../src/core/filter/filter-sizing.ts'
import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { probePositions } from '../../../src/core/filter/probing.ts'
import { KeyNotHeldError } from '../../../src/core/filter/membership-filter.ts'
import { PositionList } from '../../../src/core/filter/position-list.ts'
import { keyOf, keyOfBytes } from './test-keys.ts'

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
})

describe('the false hit rate', () => {
  /** Share of `queries` strangers claimed. Every key added is looked up, too. */
  function measured(geometry: FilterGeometry, entries: number, queries: number, keyAt: (n: number) => KeyHash): number {
    const filter = new CountingBloomFilter(geometry)
    const sink = new PositionList()
    for (let n = 0; n < entries; n++) {
      filter.add(keyAt(n), sink)
      sink.clear()
    }
    for (let n = 0; n < entries; n++) if (!filter.mayContain(keyAt(n))) throw new Error(`a false miss: ${n}`)
    let hits = 0
    for (let n = 0; n < queries; n++) if (filter.mayContain(keyAt(entries + n))) hits++
    return hits / queries
  }

  function deviation(geometry: FilterGeometry, entries: number, queries: number): number {
    const expected = expectedFalseHitRate(geometry, entries)
    return Math.sqrt((expected * (1 - expected)) / queries)
  }

  const counter = new Uint8Array(8)
  const counterView = new DataView(counter.buffer)
  const url = (n: number): KeyHash => keyOf(`GET http://www.example.com/${n}`)
  const highWord = (n: number): KeyHash => {
    counterView.setUint32(0, n)
    return keyOfBytes(counter)
  }

  test.each([8, 16, 32])(
    'at %d bits per entry and 4 probes lies within 3 standard deviations of theory',
    (loadFactor) => {
      const geometry = { ...small, bitCount: 2 ** 17 }
      const entries = geometry.bitCount / loadFactor
      const rate = measured(geometry, entries, 200_000, url)
      expect(Math.abs(rate - expectedFalseHitRate(geometry, entries))).toBeLessThan(
        3 * deviation(geometry, entries, 200_000),
      )
    },
  )

  // jvirkki/libbloom#2, FastFilter/fastfilter_cpp#32
  test.each([
    ['decimal counters', 2 ** 16, 8, (n: number) => keyOf(`${n}`)],
    ['decimal counters', 2 ** 20, 16, (n: number) => keyOf(`${n}`)],
    ['64-bit keys with zero low halves', 2 ** 16, 16, highWord],
    ['64-bit keys with zero low halves', 2 ** 20, 8, highWord],
    ['URLs', 2 ** 21, 16, url],
  ])('of %s at %d bits, %d each, keeps to theory', (_, bitCount, loadFactor, keyAt) => {
    const geometry = { ...small, bitCount }
    const entries = bitCount / loadFactor
    const rate = measured(geometry, entries, 150_000, keyAt)
    const expected = expectedFalseHitRate(geometry, entries)
    expect(Math.abs(rate - expected)).toBeLessThan(4 * deviation(geometry, entries, 150_000))
    expect(Math.abs(rate / expected - 1)).toBeLessThan(0.2)
  })
})
