import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MalformedFilterError, decodeFilter, type FilterRecord } from '../../../src/core/filter/filter-format.ts'
import { MURMUR3 } from '../../../src/core/filter/hash-schemes.ts'
import type { KeyHashList } from '../../../src/core/filter/key-hash-list.ts'
import type { KeyHash, KeyHashing } from '../../../src/core/filter/key-hash.ts'
import { FilterBuildError, type Filter } from '../../../src/core/filter/membership-filter.ts'
import { keysDefeating, keyStream, listOf, take, type Twin } from './seeded-keys.ts'
import { seededRandom } from './test-keys.ts'

export const hashing: KeyHashing = { hashScheme: MURMUR3, keyId: 0, keyRules: 0 }

interface SeededFilter extends Filter {
  readonly seed: number
}

/** What the suite must know of a kind of filter that is built from all its keys at once. */
export interface StaticKind {
  build(keys: KeyHashList, falseHitRate: number): SeededFilter
  load(record: FilterRecord): Filter
  /** One attempt at the size that `build` would choose for `bits` bits. */
  attempt(words: Uint32Array, bits: number, seed: number): Filter | undefined
  /** Memory for so many keys, by formula alone. */
  bitsFor(entryCount: number, falseHitRate: number): number
  /** What a record with these parameters must have for its body. */
  bodyBits(parameters: FilterRecord['parameters']): number
  /** Key sets of this many, numbered from `from`, of which one of the first has no filter with seed 0. */
  readonly unlucky: { readonly entryCount: number; readonly from: number }
  readonly twin: Twin
  /** May the filter contain the key? As the class comment has it, from the record alone, in integers without bounds. */
  claims(record: FilterRecord, key: KeyHash): boolean
}

/** A body as one number: its bit i is bit i & 7 of byte i >> 3. */
export function bitsOf(body: Uint8Array): bigint {
  return body.length === 0 ? 0n : BigInt(`0x${Buffer.from(body).reverse().toString('hex')}`)
}

function falseMisses(filter: Filter, keys: readonly KeyHash[]): number {
  return keys.filter((key) => !filter.mayContain(key)).length
}

/** How far the share of strangers that are claimed lies from 2^-bits, in standard deviations. */
function deviation(filter: Filter, stranger: () => KeyHash, queries: number): number {
  const rate = filter.expectedFalseHitRate
  let hits = 0
  for (let i = 0; i < queries; i++) if (filter.mayContain(stranger())) hits++
  return (hits - queries * rate) / Math.sqrt(queries * rate * (1 - rate))
}

/** Is the record refused for this reason, though its body has the length that its parameters demand, where that is small? */
export function expectRefusal(
  kind: StaticKind,
  problem: string,
  entryCount: number,
  parameters: FilterRecord['parameters'],
): void {
  const bodyBytes = Math.ceil(kind.bodyBits(parameters) / 8)
  const body = new Uint8Array(bodyBytes < 1e7 ? bodyBytes : 0)
  const load = (): unknown => kind.load({ kindCode: 0, hashing, entryCount, parameters, body })
  expect(load).toThrow(MalformedFilterError)
  expect(load).toThrow(`no usable filter: ${problem}`)
}

export function describeStaticFilter(name: string, kind: StaticKind): void {
  const built = (keys: Iterable<KeyHash>, falseHitRate = 2 ** -8): SeededFilter =>
    kind.build(listOf(keys), falseHitRate)
  const loaded = (filter: Filter): Filter => kind.load(decodeFilter(filter.serialise()))

  describe(`every static filter: ${name}`, () => {
    test('contains every key it was built from, be they few or many', () => {
      for (const count of [1, 2, 3, 4, 5, 8, 13, 31, 32, 33, 100, 127, 128, 129, 160, 1000, 5000, 20_000]) {
        const keys = take(keyStream(count), count)
        const filter = built(keys)
        expect([falseMisses(filter, keys), filter.entryCount], `${count} keys`).toEqual([0, count])
      }
    })

    test('without keys claims nothing and takes no memory', () => {
      const filter = built([])
      expect(take(keyStream(1), 1000).some((key) => filter.mayContain(key))).toBe(false)
      expect([filter.entryCount, filter.sizeInBits, filter.expectedFalseHitRate]).toEqual([0, 0, 0])
      expect(take(keyStream(1), 10).some((key) => loaded(filter).mayContain(key))).toBe(false)
    })

    test.each([
      [10, 2, 50_000],
      [1000, 1, 50_000],
      [1000, 8, 300_000],
      [10_000, 5, 200_000],
      [100_000, 8, 300_000],
      [100_000, 12, 300_000],
    ])('of %d keys and %d bits claims strangers at a rate of 2^-bits', (count, bits, queries) => {
      for (const seed of count < 100_000 ? [1, 2, 3] : [1]) {
        const stream = keyStream(100 * bits + seed)
        const filter = built(take(stream, count), 2 ** -bits)
        expect(filter.expectedFalseHitRate).toBe(2 ** -bits)
        expect(filter.estimatedFalseHitRate).toBe(2 ** -bits)
        expect(Math.abs(deviation(filter, stream, queries))).toBeLessThan(4)
      }
    })

    test('with 32 bits claims no stranger', () => {
      const stream = keyStream(5)
      const keys = take(stream, 3000)
      const filter = built(keys, 2 ** -32)
      expect(falseMisses(filter, keys)).toBe(0)
      expect(take(stream, 100_000).some((key) => filter.mayContain(key))).toBe(false)
    })

    test('keeps within the rate asked for', () => {
      const keys = take(keyStream(6), 10)
      expect([0.9, 0.5, 0.3, 0.01, 0.001].map((rate) => built(keys, rate).expectedFalseHitRate)).toEqual([
        0.5,
        0.5,
        0.25,
        2 ** -7,
        2 ** -10,
      ])
    })

    test('refuses rates that no 32 bits reach, and numbers of keys that 2^32 bits do not hold', () => {
      expect(() => built([], 2 ** -33)).toThrow(RangeError)
      expect(() => built([], 0)).toThrow(RangeError)
      expect(() => built([], 1)).toThrow(RangeError)
      expect(() => kind.bitsFor(1e9, 2 ** -8)).toThrow(RangeError)
      expect(() => kind.bitsFor(2 ** 31, 0.5)).toThrow(RangeError)
      expect(() => kind.bitsFor(-1, 0.5)).toThrow(RangeError)
    })

    test('is built with another seed where the first one fails', () => {
      const { entryCount, from } = kind.unlucky
      const sets = Array.from({ length: 1000 }, (_, i) => from + i)
      const number = sets.find((n) => kind.attempt(listOf(take(keyStream(n), entryCount)).words, 8, 0) === undefined)
      const keys = take(keyStream(number!), entryCount)
      const filter = built(keys)
      expect(filter.seed).toBeGreaterThan(0)
      expect(falseMisses(filter, keys)).toBe(0)
      expect(falseMisses(loaded(filter), keys)).toBe(0)
      expect(Math.abs(deviation(filter, keyStream(7), 100_000))).toBeLessThan(4)
    })

    test.each([1, 2, 5, 20])('of keys that defeat %d seeds has the next one', (seedCount) => {
      const keys = [...keysDefeating(seedCount, kind.twin), ...take(keyStream(17), 1000)]
      const filter = built(keys)
      expect(filter.seed).toBeGreaterThanOrEqual(seedCount)
      expect(filter.seed).toBeLessThan(seedCount + 3)
      expect(falseMisses(filter, keys)).toBe(0)
      expect(falseMisses(loaded(filter), keys)).toBe(0)
    })

    test('of keys that defeat all seeds is not built', () => {
      expect(() => built(keysDefeating(100, kind.twin))).toThrow(FilterBuildError)
    })

    test('of keys given again and again is the filter of each of them once', () => {
      const distinct = take(keyStream(8), 300)
      const repeated = [...distinct, ...distinct, ...Array.from({ length: 2000 }, (_, i) => distinct[i % 7]!)]
      const filter = built(repeated)
      expect(filter.entryCount).toBe(300)
      expect(filter.serialise()).toEqual(built(distinct).serialise())
      expect(built(Array.from({ length: 1000 }, () => distinct[0]!)).entryCount).toBe(1)
      expect(built([distinct[0]!, distinct[0]!]).entryCount).toBe(1)
    })

    test.each([
      [['h0', 'h1']],
      [['h0', 'h2']],
      [['h0', 'h3']],
      [['h1', 'h2']],
      [['h1', 'h3']],
      [['h2', 'h3']],
      [['h1', 'h2', 'h3']],
      [['h0', 'h2', 'h3']],
      [['h0', 'h1', 'h3']],
      [['h0', 'h1', 'h2']],
    ])('holds keys that all agree in %j, and tells strangers from them that do so, too', (shared) => {
      const stream = keyStream(9)
      const common = Object.fromEntries(shared.map((word) => [word, 0x12345678]))
      const relative = (): KeyHash => ({ ...stream(), ...common })
      const keys = take(relative, 2000)
      const filter = built(keys)
      expect([filter.entryCount, falseMisses(filter, keys)]).toEqual([2000, 0])
      expect(Math.abs(deviation(filter, relative, 50_000))).toBeLessThan(4)
    })

    test('holds keys whose words are small numbers in a row', () => {
      const keys = Array.from({ length: 3000 }, (_, i) => ({ h0: i, h1: i, h2: i, h3: i }))
      const filter = built(keys)
      expect(falseMisses(filter, keys)).toBe(0)
      let n = 3000
      expect(Math.abs(deviation(filter, () => ({ h0: n, h1: n, h2: n, h3: n++ }), 50_000))).toBeLessThan(4)
    })

    test('of equal keys is equal', () => {
      expect(built(take(keyStream(10), 1000)).serialise()).toEqual(built(take(keyStream(10), 1000)).serialise())
    })

    test.each([1, 7, 8, 13, 31, 32])('with %d bits comes back from its bytes as it was', (bits) => {
      const stream = keyStream(11)
      const keys = take(stream, 500)
      const filter = built(keys, 2 ** -bits)
      const copy = loaded(filter)
      expect(copy.serialise()).toEqual(filter.serialise())
      expect([copy.entryCount, copy.sizeInBits, copy.hashing]).toEqual([500, filter.sizeInBits, hashing])
      expect(falseMisses(copy, keys)).toBe(0)
      const strangers = take(stream, 3000)
      expect(strangers.map((key) => copy.mayContain(key))).toEqual(strangers.map((key) => filter.mayContain(key)))
    })

    test.each([
      [1, 3],
      [50, 1],
      [200, 9],
      [200, 32],
    ])('of %d keys and %d bits is read alike by a reader written from its description', (count, bits) => {
      const stream = keyStream(12)
      const keys = take(stream, count)
      const filter = built(keys, 2 ** -bits)
      const record = decodeFilter(filter.serialise())
      expect(keys.every((key) => kind.claims(record, key))).toBe(true)
      const strangers = take(stream, 60)
      expect(strangers.map((key) => kind.claims(record, key))).toEqual(strangers.map((key) => filter.mayContain(key)))
    })

    test('is not loaded from a body of another length, nor with entries that it cannot have', () => {
      const record = decodeFilter(built(take(keyStream(13), 100)).serialise())
      const empty = decodeFilter(built([]).serialise())
      const refused: FilterRecord[] = [
        { ...record, body: record.body.subarray(1) },
        { ...record, body: new Uint8Array(record.body.length + 4) },
        { ...record, entryCount: 0 },
        { ...record, entryCount: record.body.length + 1 },
        { ...empty, entryCount: 1 },
      ]
      for (const each of refused) expect(() => kind.load(each)).toThrow(MalformedFilterError)
    })

    test('loaded from anything is refused or works', () => {
      const bases = [built([]), built(take(keyStream(14), 1)), built(take(keyStream(14), 40), 2 ** -3)]
      const records = bases.map((base) => decodeFilter(base.serialise()))
      const probes = [...take(keyStream(15), 20), { h0: -1 >>> 0, h1: -1 >>> 0, h2: -1 >>> 0, h3: -1 >>> 0 }]
      const parameter = fc.oneof(
        fc.nat(40),
        fc.constantFrom(64, 128, 160, 192, 2 ** 12, 2 ** 31, 2 ** 32 - 1),
        fc.nat(0xffffffff),
      )
      let loadedCount = 0
      fc.assert(
        fc.property(
          fc.constantFrom(...records),
          fc.array(fc.tuple(fc.nat(3), parameter), { maxLength: 3 }),
          fc.nat(50),
          fc.boolean(),
          fc.nat(),
          (base, changes, entryCount, fits, bodySeed) => {
            const parameters: [number, number, number, number] = [...base.parameters]
            for (const [i, value] of changes) parameters[i] = value
            const bodyBits = fits ? kind.bodyBits(parameters) : bodySeed % 1000
            const random = seededRandom(bodySeed)
            const body = Uint8Array.from({ length: Math.min(1e5, Math.ceil(bodyBits / 8)) }, () => random() * 256)
            if (fits && bodyBits % 8 !== 0) body[body.length - 1]! &= (1 << (bodyBits % 8)) - 1
            let filter: Filter
            try {
              filter = kind.load({ ...base, parameters, entryCount, body })
            } catch (error) {
              expect(error).toBeInstanceOf(MalformedFilterError)
              return
            }
            loadedCount++
            for (const key of probes) expect(typeof filter.mayContain(key)).toBe('boolean')
            expect(kind.load(decodeFilter(filter.serialise())).entryCount).toBe(entryCount)
          },
        ),
        { numRuns: 500 },
      )
      expect(loadedCount).toBeGreaterThan(50)
    })
  })
}
