import { describe, expect, test } from 'vitest'
import {
  CuckooFilter,
  cuckooFalseHitRate,
  cuckooSizeFor,
  type CuckooSize,
} from '../../../src/core/filter/cuckoo-filter.ts'
import { MalformedFilterError, decodeFilter, type FilterRecord } from '../../../src/core/filter/filter-format.ts'
import { FILTER_KINDS } from '../../../src/core/filter/filter-kinds.ts'
import { KeyHashList } from '../../../src/core/filter/key-hash-list.ts'
import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { FilterFullError, KeyNotHeldError } from '../../../src/core/filter/membership-filter.ts'
import { hashing } from './hit-rate-cells.ts'
import { fmix32, keyStream, take } from './seeded-keys.ts'
import { searchFalseMiss } from './random-operations.ts'
import { bitsOf } from './static-filter-suite.ts'
import { keyOf } from './test-keys.ts'

const small: CuckooSize = { bucketCount: 5, fingerprintBits: 4 }

interface Place {
  readonly fingerprint: bigint
  readonly buckets: readonly bigint[]
}

/** As the class comment has it, in integers without bounds. */
function placeOf(key: KeyHash, { bucketCount, fingerprintBits }: CuckooSize): Place {
  const scaled = (word: bigint, count: bigint): bigint => (word * count) >> 32n
  const count = BigInt(bucketCount)
  const fingerprint = 1n + scaled(BigInt(key.h2), 2n ** BigInt(fingerprintBits) - 1n)
  const first = scaled(BigInt(key.h0), count)
  const other = (((scaled(fmix32(fingerprint), count) - first) % count) + count) % count
  return { fingerprint, buckets: [first, other] }
}

function samePlace(a: Place, b: Place): boolean {
  return a.fingerprint === b.fingerprint && new Set([...a.buckets, ...b.buckets]).size <= new Set(a.buckets).size
}

/** The first key `prefix`0, `prefix`1, ... that has the fingerprint and the buckets of the other. */
function twinOf(key: KeyHash, size: CuckooSize): KeyHash {
  const place = placeOf(key, size)
  for (let n = 0; ; n++) {
    const twin = keyOf(`twin${n}`)
    if (samePlace(placeOf(twin, size), place)) return twin
  }
}

/** The fingerprints in each bucket, read from the bytes. */
function bucketsOf(filter: CuckooFilter): bigint[][] {
  const bits = bitsOf(decodeFilter(filter.serialise()).body)
  const width = filter.fingerprintBits
  return Array.from({ length: filter.bucketCount }, (_, bucket) =>
    [0, 1, 2, 3].map((slot) => BigInt.asUintN(width, bits >> BigInt((4 * bucket + slot) * width))),
  )
}

function filled(size: CuckooSize, keys: Iterable<KeyHash>): CuckooFilter {
  const filter = new CuckooFilter(size, hashing)
  for (const key of keys) filter.add(key)
  return filter
}

function falseMisses(filter: CuckooFilter, keys: readonly KeyHash[]): number {
  return keys.filter((key) => !filter.mayContain(key)).length
}

describe('a cuckoo filter', () => {
  // sile/scalable_cuckoo_filter#4, #13; RedisBloom/RedisBloom#260
  test.each([
    [5, 4],
    [64, 8],
    [1000, 7],
  ])(
    'of %d buckets and %d bits holds one of two keys that share fingerprint and buckets after the other is removed',
    (bucketCount, fingerprintBits) => {
      const size = { bucketCount, fingerprintBits }
      const [first, second] = [keyOf('A'), twinOf(keyOf('A'), size)]
      expect(second).not.toEqual(first)
      const filter = filled(size, [first, second])
      filter.remove(first)
      expect(filter.mayContain(second)).toBe(true)
      filter.remove(second)
      expect([filter.mayContain(second), filter.mayContain(first), filter.entryCount]).toEqual([false, false, 0])
    },
  )

  test('holds a key added three times until it was removed three times', () => {
    const filter = filled(small, [keyOf('A'), keyOf('A'), keyOf('A')])
    filter.remove(keyOf('A'))
    expect([filter.mayContain(keyOf('A')), filter.entryCount]).toEqual([true, 2])
    filter.remove(keyOf('A'))
    filter.remove(keyOf('A'))
    expect([filter.mayContain(keyOf('A')), filter.entryCount]).toEqual([false, 0])
    expect(() => filter.remove(keyOf('A'))).toThrow(KeyNotHeldError)
  })

  test('takes a key as often as its two buckets have slots, and then is full for it', () => {
    const size = { bucketCount: 64, fingerprintBits: 12 }
    const filter = new CuckooFilter(size, hashing)
    const key = keyOf('A')
    expect(new Set(placeOf(key, size).buckets).size).toBe(2)
    for (let n = 0; n < 8; n++) filter.add(key)
    const before = bucketsOf(filter)
    expect(() => filter.add(key)).toThrow(FilterFullError)
    expect([bucketsOf(filter), filter.entryCount]).toEqual([before, 8])
    filter.remove(key)
    filter.add(key)
    for (let n = 0; n < 8; n++) filter.remove(key)
    expect([filter.mayContain(key), filter.entryCount]).toEqual([false, 0])
  })

  test('when it is full loses nothing: what an addition in vain has moved goes back', () => {
    for (let seed = 0; seed < 400; seed++) {
      const size = { bucketCount: 2 + (seed % 17), fingerprintBits: 4 + (seed % 9) }
      const filter = new CuckooFilter(size, hashing)
      const stream = keyStream(seed)
      const held: KeyHash[] = []
      let refusals = 0
      for (const key of take(stream, 5 * size.bucketCount + 4)) {
        const before = filter.serialise()
        try {
          filter.add(key)
          held.push(key)
        } catch (error) {
          expect(error).toBeInstanceOf(FilterFullError)
          expect(filter.serialise(), `seed ${seed}`).toEqual(before)
          refusals++
        }
      }
      expect(refusals, `seed ${seed}`).toBeGreaterThan(0)
      expect([falseMisses(filter, held), filter.entryCount], `seed ${seed}`).toEqual([0, held.length])
      for (const key of held) filter.remove(key)
      expect(
        bucketsOf(filter)
          .flat()
          .every((slot) => slot === 0n),
      ).toBe(true)
    }
  })

  test('is built anew with more buckets when its last keys find no place', () => {
    let grown = 0
    for (let seed = 0; seed < 2000; seed++) {
      const keys = new KeyHashList()
      for (const key of take(keyStream(seed), 30)) keys.push(key)
      const filter = CuckooFilter.build(keys, 0.4, hashing)
      expect(filter.fingerprintBits).toBe(4)
      if (filter.bucketCount > cuckooSizeFor(30, 0.4).bucketCount) grown++
      expect(
        falseMisses(
          filter,
          Array.from({ length: 30 }, (_, i) => keys.at(i)),
        ),
      ).toBe(0)
    }
    expect(grown).toBeGreaterThan(0)
  })

  test('is not built of a key that is there nine times', () => {
    const keys = new KeyHashList()
    for (let n = 0; n < 9; n++) keys.push(keyOf('A'))
    expect(() => CuckooFilter.build(keys, 0.01, hashing)).toThrow(FilterFullError)
  })

  // Fan et al. (2014), table 2: buckets of four are filled to 95 %.
  test.each([
    [1000, 8],
    [1000, 12],
    [20_000, 4],
    [20_000, 8],
    [20_000, 32],
    [65_536, 8],
  ])(
    'of %d buckets and %d bits is filled to nineteen twentieths before the first refusal',
    (bucketCount, fingerprintBits) => {
      for (const seed of [1, 2, 3]) {
        const filter = new CuckooFilter({ bucketCount, fingerprintBits }, hashing)
        const stream = keyStream(seed)
        expect(() => {
          while (filter.entryCount < 0.95 * 4 * bucketCount) filter.add(stream())
        }).not.toThrow()
      }
    },
  )

  test('sized for so many keys takes them', () => {
    for (let count = 0; count < 600; count++) {
      for (const rate of [0.9, 0.03, 0.001]) {
        expect(filled(cuckooSizeFor(count, rate), take(keyStream(count), count)).entryCount).toBe(count)
      }
    }
  })

  test.each([
    [1, 4],
    [2, 5],
    [7, 13],
    [100, 32],
  ])(
    'of %d buckets and %d bits keeps each fingerprint in a bucket that its description names',
    (bucketCount, fingerprintBits) => {
      const size = { bucketCount, fingerprintBits }
      const keys = take(keyStream(3), Math.floor(bucketCount * 3.4))
      const filter = filled(size, keys)
      const buckets = bucketsOf(filter)
      const held = (key: KeyHash): boolean => {
        const { fingerprint, buckets: numbers } = placeOf(key, size)
        return numbers.some((number) => buckets[Number(number)]!.includes(fingerprint))
      }
      expect(keys.every(held)).toBe(true)
      expect(buckets.flat().filter((slot) => slot !== 0n).length).toBe(keys.length)
      const strangers = take(keyStream(4), 1000)
      expect(strangers.map(held)).toEqual(strangers.map((key) => filter.mayContain(key)))
    },
  )

  test('finds from either bucket the other', () => {
    for (const bucketCount of [1, 2, 3, 64, 1000]) {
      const size = { bucketCount, fingerprintBits: 6 }
      for (const key of take(keyStream(5), 200)) {
        const { fingerprint, buckets } = placeOf(key, size)
        const count = BigInt(bucketCount)
        const back = (((((fmix32(fingerprint) * count) >> 32n) - buckets[1]!) % count) + count) % count
        expect(back).toBe(buckets[0])
      }
    }
  })

  test('in one bucket claims what has the fingerprint of a key, a rate that its formula knows', () => {
    const size = { bucketCount: 1, fingerprintBits: 4 }
    expect(cuckooFalseHitRate(size, 1)).toBeCloseTo(1 / 15, 12)
    expect(cuckooFalseHitRate({ bucketCount: 2, fingerprintBits: 4 }, 1)).toBeCloseTo(1 / 15, 12)
    expect(cuckooFalseHitRate({ bucketCount: 10, fingerprintBits: 4 }, 1)).toBeCloseTo(2 / 150, 12)
    const filter = filled(size, [keyOf('A')])
    const claimed = take(keyStream(6), 20_000).filter((key) => filter.mayContain(key)).length
    expect(Math.abs(claimed / 20_000 - 1 / 15)).toBeLessThan(0.007)
  })

  test('keeps its state when saved in the middle: what is added later goes where it would have gone', () => {
    const stream = keyStream(7)
    const size = { bucketCount: 100, fingerprintBits: 9 }
    const filter = filled(size, take(stream, 360))
    const copy = CuckooFilter.load(decodeFilter(filter.serialise()))
    for (const key of take(stream, 15)) {
      filter.add(key)
      copy.add(key)
    }
    expect(copy.serialise()).toEqual(filter.serialise())
  })

  test.each([
    ['fingerprints of 3 bits', { parameters: [5, 3, 1, 0] }],
    ['fingerprints of 33 bits', { parameters: [5, 33, 1, 0] }],
    ['bucket count 0 out of range', { parameters: [0, 4, 1, 0] }],
    ['bucket count 4294967295 out of range', { parameters: [2 ** 32 - 1, 4, 1, 0] }],
    ['no state that chooses victims', { parameters: [5, 4, 0, 0] }],
    ['a fourth parameter', { parameters: [5, 4, 1, 1] }],
    ['a body of 9 bytes for 80 bits', { body: new Uint8Array(9) }],
    ['2 slots in use for 3 entries', { entryCount: 3 }],
    ['2 slots in use for 1 entries', { entryCount: 1 }],
  ] as readonly (readonly [string, Partial<FilterRecord>])[])('is not loaded with %s', (problem, change) => {
    const record = decodeFilter(filled(small, [keyOf('A'), keyOf('B')]).serialise())
    expect(CuckooFilter.load(record).entryCount).toBe(2)
    expect(() => CuckooFilter.load({ ...record, ...change })).toThrow(MalformedFilterError)
    expect(() => CuckooFilter.load({ ...record, ...change })).toThrow(problem)
  })

  test.each([
    [0, 8],
    [2.5, 8],
    [64, 3],
    [64, 4.5],
    [64, 33],
    [2 ** 30, 4],
    [NaN, 8],
  ])('has no form of %d buckets and %d bits', (bucketCount, fingerprintBits) => {
    expect(() => new CuckooFilter({ bucketCount, fingerprintBits }, hashing)).toThrow(RangeError)
  })

  test('misses no key in 300,000 random operations', () => {
    const kind = FILTER_KINDS.find(({ name }) => name === 'cuckoo')!
    expect(searchFalseMiss(kind, 300_000, 500, 2)).toBeGreaterThanOrEqual(300_000)
  })
})
