import { describe, expect, test } from 'vitest'
import { BloomFilter } from '../../../src/core/filter/bloom-filter.ts'
import {
  MalformedFilterError,
  decodeFilter,
  encodeFilter,
  type FilterRecord,
} from '../../../src/core/filter/filter-format.ts'
import { bloomSizeFor, expectedFalseHitRate } from '../../../src/core/filter/filter-sizing.ts'
import { MD5 } from '../../../src/core/filter/hash-schemes.ts'
import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { ScalableBloomFilter, scalableSliceSize } from '../../../src/core/filter/scalable-bloom-filter.ts'
import { hashing } from './hit-rate-cells.ts'
import { NumberedKeys } from './random-keys.ts'
import { keyStream, seededWordsModel, take } from './seeded-keys.ts'

function filled(firstCapacity: number, rate: number, keys: Iterable<KeyHash>): ScalableBloomFilter {
  const filter = new ScalableBloomFilter(firstCapacity, rate, hashing)
  for (const key of keys) filter.add(key)
  return filter
}

/** The slices that its body holds: each says at byte 32 how many it has between head and checksum. */
function slicesOf(body: Uint8Array): Uint8Array[] {
  const slices: Uint8Array[] = []
  for (let at = 0, end = 0; at < body.length; at = end) {
    end = at + 36 + new DataView(body.buffer, body.byteOffset + at).getUint32(32) + 8
    slices.push(body.subarray(at, end))
  }
  return slices
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]))
}

/** Each slice's rate with what it has, by formula. */
function sliceRates(firstCapacity: number, falseHitRate: number, entryCount: number): number[] {
  const rates: number[] = []
  for (let rest = entryCount, i = 0; rest > 0; i++) {
    const held = Math.min(rest, firstCapacity * 2 ** i)
    const size = bloomSizeFor(firstCapacity * 2 ** i, Math.fround(falseHitRate) * (1 - 0.85) * 0.85 ** i)
    rates.push(expectedFalseHitRate(size, held))
    rest -= held
  }
  return rates
}

describe('a scalable Bloom filter', () => {
  // Almeida, Baquero, Preguiça, Hutchison (2007), "Compound error probability": P <= 1 - prod(1 - P0 r^i) <= P0 / (1 - r)
  test.each([
    [100, 0.1],
    [100, 0.01],
    [1000, 0.02],
  ])('from %d keys keeps to %d, and near 1 - prod(1 - f_i), however many there are', (firstCapacity, rate) => {
    const filter = new ScalableBloomFilter(firstCapacity, rate, hashing)
    const keys = new NumberedKeys(firstCapacity)
    const queries = 60_000
    let added = 0
    for (const count of [100, 300, 1000, 10_000, 100_000]) {
      while (added < count) filter.add(keys.at(added++))
      const rates = sliceRates(firstCapacity, rate, count)
      const expected = 1 - rates.reduce((product, f) => product * (1 - f), 1)
      expect(filter.sliceCount).toBe(rates.length)
      expect(filter.expectedFalseHitRate).toBeCloseTo(expected, 12)
      expect(expected).toBeLessThanOrEqual(rate)
      let hits = 0
      for (let n = 0; n < queries; n++) if (filter.mayContain(keys.at(1e6 + n))) hits++
      // The fill of the slices scatters, too, in small ones by some percent.
      const sigma = Math.sqrt((expected * (1 - expected)) / queries)
      expect(Math.abs(hits / queries - expected), `${count} keys`).toBeLessThan(4 * sigma + 0.06 * expected)
      expect(hits / queries).toBeLessThanOrEqual(rate)
    }
  })

  test('misses none of its keys after each addition, slice after slice', () => {
    const keys = new NumberedKeys(1)
    const filter = new ScalableBloomFilter(5, 0.01, hashing)
    for (let added = 0; added < 700; added++) {
      filter.add(keys.at(added))
      for (let n = 0; n <= added; n++) if (!filter.mayContain(keys.at(n))) throw new Error(`${n} of ${added}`)
    }
    expect([filter.sliceCount, filter.entryCount]).toEqual([8, 700])
  })

  test('begins a slice for twice as many keys when the last has its share, not before', () => {
    const keys = new NumberedKeys(2)
    const filter = new ScalableBloomFilter(10, 0.05, hashing)
    const growths: number[] = []
    for (let added = 1; added <= 160; added++) {
      const { sliceCount } = filter
      filter.add(keys.at(added))
      if (filter.sliceCount > sliceCount) growths.push(added)
    }
    expect(growths).toEqual([11, 31, 71, 151])
  })

  test('takes memory by formula, slice for slice', () => {
    const filter = filled(100, 0.01, take(keyStream(3), 701))
    const sizes = [0, 1, 2, 3].map((i) => bloomSizeFor(100 * 2 ** i, Math.fround(0.01) * (1 - 0.85) * 0.85 ** i))
    expect(sizes).toEqual([0, 1, 2, 3].map((i) => scalableSliceSize(100, Math.fround(0.01), i)))
    expect(filter.sizeInBits).toBe(sizes.reduce((sum, { bitCount }) => sum + bitCount, 0))
  })

  test('is plain Bloom filters of hashes mixed anew, as its description says', () => {
    const keys = take(keyStream(4), 150)
    const record = decodeFilter(filled(20, 0.1, keys).serialise())
    const slices = slicesOf(record.body)
    const firstOf = [0, 20, 60, 140, 150]
    expect(slices.length).toBe(4)
    for (const [i, slice] of slices.entries()) {
      const model = new BloomFilter({ ...hashing, ...scalableSliceSize(20, Math.fround(0.1), i)! })
      for (const key of keys.slice(firstOf[i], firstOf[i + 1])) {
        const [h0, h1, h2, h3] = seededWordsModel(key, i).map(Number) as [number, number, number, number]
        model.add({ h0, h1, h2, h3 })
      }
      expect(slice).toEqual(model.serialise())
    }
  })

  test('tells keys from strangers though they agree in three words of four', () => {
    for (const common of [
      { h1: 1, h2: 2, h3: 3 },
      { h0: 1, h2: 2, h3: 3 },
      { h0: 0, h1: 0, h2: 0 },
    ]) {
      const relative = (stream: () => KeyHash) => (): KeyHash => ({ ...stream(), ...common })
      const keys = take(relative(keyStream(5)), 2000)
      const filter = filled(100, 0.05, keys)
      expect(keys.every((key) => filter.mayContain(key))).toBe(true)
      const hits = take(relative(keyStream(6)), 20_000).filter((key) => filter.mayContain(key)).length
      expect(Math.abs(hits / 20_000 / filter.estimatedFalseHitRate - 1)).toBeLessThan(0.15)
    }
  })

  test('saved and loaded grows as it would have grown', () => {
    const keys = take(keyStream(7), 500)
    for (const saved of [0, 1, 9, 10, 11, 30, 250]) {
      const copy = ScalableBloomFilter.load(decodeFilter(filled(10, 0.03, keys.slice(0, saved)).serialise()))
      for (const key of keys.slice(saved)) copy.add(key)
      expect(copy.serialise()).toEqual(filled(10, 0.03, keys).serialise())
    }
  })

  test('of a rate that a 32-bit float would round to 1 keeps to one below, and comes back from its bytes', () => {
    const filter = filled(10, 1 - 1e-9, take(keyStream(9), 100))
    expect(filter.falseHitRate).toBeLessThan(1 - 1e-9)
    expect(ScalableBloomFilter.load(decodeFilter(filter.serialise())).serialise()).toEqual(filter.serialise())
  })

  test('has no MD5 form, and none without keys or rate', () => {
    expect(() => new ScalableBloomFilter(10, 0.1, { ...hashing, hashScheme: MD5 })).toThrow(RangeError)
    expect(() => new ScalableBloomFilter(0, 0.1, hashing)).toThrow(RangeError)
    expect(() => new ScalableBloomFilter(2 ** 31 + 1, 0.1, hashing)).toThrow(RangeError)
    expect(() => new ScalableBloomFilter(2 ** 31, 1e-9, hashing)).toThrow(RangeError)
    expect(() => new ScalableBloomFilter(10, 0, hashing)).toThrow(RangeError)
    expect(() => new ScalableBloomFilter(10, 1, hashing)).toThrow(RangeError)
    expect(scalableSliceSize(2 ** 30, 0.01, 1)).toBeUndefined()
    expect(scalableSliceSize(1, 0.9, 32)).toBeUndefined()
  })

  // Eleven keys: a slice of four that is full, one of eight with seven.
  const record = decodeFilter(filled(4, 0.1, take(keyStream(8), 11)).serialise())
  const [first, second] = slicesOf(record.body) as [Uint8Array, Uint8Array]
  const rateBits = record.parameters[2]
  const other = (entries: number, slice: number, seed: number): Uint8Array => {
    const filter = new BloomFilter({ ...hashing, ...scalableSliceSize(4, Math.fround(0.1), slice)! })
    for (const key of take(keyStream(seed), entries)) filter.add(key)
    return filter.serialise()
  }

  test.each([
    ['a false hit rate of 0', { parameters: [2, 4, 0, 0] }],
    ['a false hit rate of NaN', { parameters: [2, 4, 0x7fc00000, 0] }],
    ['a false hit rate of 1', { parameters: [2, 4, 0x3f800000, 0] }],
    ['0 slices', { parameters: [0, 4, rateBits, 0], body: new Uint8Array(0), entryCount: 0 }],
    ['33 slices', { parameters: [33, 4, rateBits, 0] }],
    ['a first slice for 0 keys', { parameters: [2, 0, rateBits, 0] }],
    ['a first slice for 2147483649 keys', { parameters: [2, 2 ** 31 + 1, rateBits, 0] }],
    ['slices that do not follow', { parameters: [2, 2 ** 31, rateBits, 0] }],
    ['slices that do not follow', { parameters: [2, 5, rateBits, 0] }],
    ['slices that do not follow', { parameters: [2, 4, rateBits + 2 ** 22, 0] }],
    ['a fourth parameter', { parameters: [2, 4, rateBits, 1] }],
    ['no MD5 form', { hashing: { ...hashing, hashScheme: MD5 } }],
    ['slices that do not follow', { hashing: { ...hashing, keyRules: 1 } }],
    ['11 entries in slices, where its head says 12', { entryCount: 12 }],
    ['bytes behind the last slice', { parameters: [1, 4, rateBits, 0], entryCount: 4 }],
    ['bytes behind the last slice', { body: joined([first, second, new Uint8Array(1)]) }],
    ['slice 1 ends too early', { body: joined([first, second.subarray(0, -1)]) }],
    ['slice 1 ends too early', { body: first }],
    ['slices that do not follow', { body: joined([other(3, 0, 1), second]), entryCount: 10 }],
    ['slices that do not follow', { body: joined([other(5, 0, 1), second]), entryCount: 12 }],
    ['slices that do not follow', { body: joined([first, other(9, 1, 1)]), entryCount: 13 }],
    ['slices that do not follow', { body: joined([first, first]), entryCount: 8 }],
    ['is no Bloom filter', { body: joined([first, encodeFilter({ ...record, body: new Uint8Array(0) })]) }],
    ['its checksum is wrong', { body: joined([first, second.with(40, second[40]! ^ 1)]) }],
  ] as readonly (readonly [string, Partial<FilterRecord>])[])('is not loaded with %s (case %#)', (problem, change) => {
    expect(ScalableBloomFilter.load(record).entryCount).toBe(11)
    expect(() => ScalableBloomFilter.load({ ...record, ...change })).toThrow(MalformedFilterError)
    expect(() => ScalableBloomFilter.load({ ...record, ...change })).toThrow(problem)
  })
})
