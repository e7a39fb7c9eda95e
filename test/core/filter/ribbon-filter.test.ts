import { describe, expect, test } from 'vitest'
import type { FilterRecord } from '../../../src/core/filter/filter-format.ts'
import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { RibbonFilter, ribbonSizeFor } from '../../../src/core/filter/ribbon-filter.ts'
import { fmix32, keyStream, keysDefeating, listOf, seededWordsModel, take } from './seeded-keys.ts'
import { bitsOf, describeStaticFilter, expectRefusal, hashing, type StaticKind } from './static-filter-suite.ts'

function claims(record: FilterRecord, key: KeyHash): boolean {
  const [r, m, seed] = record.parameters
  const [w0, w1, w2, w3] = seededWordsModel(key, seed) as [bigint, bigint, bigint, bigint]
  const body = bitsOf(record.body)
  const start = Number((w0 * BigInt(m - 128)) >> 32n)
  const coefficients = w1 | 1n | (w2 << 32n) | (w3 << 64n) | (fmix32(w0 + w2) << 96n)
  const result = fmix32(w1 + w3)
  for (let j = 0; j < r; j++) {
    let bit = 0n
    for (let i = 0; i < 128; i++) {
      const slot = start + i
      const word = body >> BigInt(32 * ((slot >>> 5) * r + j))
      bit ^= (coefficients >> BigInt(i)) & (word >> BigInt(slot & 31)) & 1n
    }
    if (bit !== ((result >> BigInt(j)) & 1n)) return false
  }
  return true
}

function bitsFor(entryCount: number, rate: number, attempt = 0): number {
  const size = ribbonSizeFor(entryCount, rate, attempt)
  return size.slotCount * size.resultBits
}

const kind: StaticKind = {
  build: (keys, rate) => RibbonFilter.build(keys, rate, hashing),
  load: (record) => RibbonFilter.load(record),
  attempt: (words, bits, seed) =>
    RibbonFilter.attempt(words, ribbonSizeFor(words.length / 4, 2 ** -bits), seed, hashing),
  bitsFor,
  // One set in about a thousand.
  unlucky: { entryCount: 1500, from: 700 },
  bodyBits: ([resultBits, slotCount]) => resultBits * slotCount,
  twin: ([w0, w1, w2, w3]) => [w0!, w1! ^ 1n, w2!, w3!],
  claims,
}

describeStaticFilter('ribbon', kind)

describe('a ribbon filter', () => {
  test('of a million keys takes less than 8.8 bits for each at 8 bits, and of ten million, too', () => {
    expect(bitsFor(1e6, 2 ** -8) / 1e6).toBeLessThan(8.8)
    expect(bitsFor(1e7, 2 ** -8) / 1e7).toBeLessThan(8.8)
  })

  test('gets 2 % more slots after each four failures', () => {
    const slotCounts = [0, 3, 4, 7, 8, 99].map((attempt) => ribbonSizeFor(100_000, 0.01, attempt).slotCount)
    const [first] = slotCounts
    expect(slotCounts.map((count) => Math.round((100 * count) / first!))).toEqual([100, 100, 102, 102, 104, 148])
  })

  test('is built with more slots once four seeds have failed', () => {
    const keys = [...keysDefeating(4, kind.twin), ...take(keyStream(4), 9992)]
    const filter = kind.build(listOf(keys), 2 ** -8)
    expect(filter.seed).toBe(4)
    expect(filter.sizeInBits).toBe(bitsFor(10_000, 2 ** -8, 4))
    expect(filter.sizeInBits).toBeGreaterThan(bitsFor(10_000, 2 ** -8))
  })

  test('fails with one seed independently of another', () => {
    // Closer than build would have it.
    const size = { resultBits: 8, slotCount: 160 }
    let failures = 0
    let again = 0
    for (let set = 0; set < 1000; set++) {
      const { words } = listOf(take(keyStream(set), 155))
      if (RibbonFilter.attempt(words, size, 0, hashing) !== undefined) continue
      failures++
      if (RibbonFilter.attempt(words, size, 1, hashing) === undefined) again++
    }
    // One attempt in sixteen.
    expect(failures).toBeGreaterThan(30)
    expect(failures).toBeLessThan(100)
    expect(again).toBeLessThan(failures / 4)
  })

  test('is not solved in fewer slots than keys', () => {
    const { words } = listOf(take(keyStream(2), 400))
    expect(RibbonFilter.attempt(words, { resultBits: 8, slotCount: 352 }, 0, hashing)).toBeUndefined()
  })

  test.each([
    ['results of 0 bits', 2, [0, 160, 0, 0]],
    ['results of 33 bits', 2, [33, 160, 0, 0]],
    ['128 slots', 2, [10, 128, 0, 0]],
    ['168 slots', 2, [8, 168, 0, 0]],
    ['0 slots for 2 entries', 2, [8, 0, 0, 0]],
    ['160 slots for 0 entries', 0, [8, 160, 0, 0]],
    ['160 slots for 161 entries', 161, [8, 160, 0, 0]],
    ['2147483680 slots of 1 bits', 2, [1, 2 ** 31 + 32, 0, 0]],
    ['134217760 slots of 32 bits', 2, [32, 2 ** 27 + 32, 0, 0]],
    ['a fourth parameter', 2, [8, 160, 0, 1]],
  ] as const)('is not loaded with %s (of %d entries)', (problem, entryCount, parameters) => {
    expectRefusal(kind, problem, entryCount, parameters)
  })
})
