import { describe, expect, test } from 'vitest'
import type { FilterRecord } from '../../../src/core/filter/filter-format.ts'
import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { XorFilter, xorSizeFor } from '../../../src/core/filter/xor-filter.ts'
import { keyStream, listOf, seededWordsModel, take } from './seeded-keys.ts'
import { bitsOf, describeStaticFilter, expectRefusal, hashing, type StaticKind } from './static-filter-suite.ts'

function claims(record: FilterRecord, key: KeyHash): boolean {
  const [bits, length, seed] = record.parameters
  const [w0, w1, w2, w3] = seededWordsModel(key, seed) as [bigint, bigint, bigint, bigint]
  const body = bitsOf(record.body)
  const at = (word: bigint): bigint => (word * BigInt(length)) >> 32n
  const slots = [at(w0), BigInt(length) + at(w1), 2n * BigInt(length) + at(w2)]
  const fingerprints = slots.map((slot) => body >> (slot * BigInt(bits)))
  return BigInt.asUintN(bits, fingerprints[0]! ^ fingerprints[1]! ^ fingerprints[2]! ^ w3) === 0n
}

const kind: StaticKind = {
  build: (keys, rate) => XorFilter.build(keys, rate, hashing),
  load: (record) => XorFilter.load(record),
  attempt: (words, bits, seed) => XorFilter.attempt(words, xorSizeFor(words.length / 4, 2 ** -bits), seed, hashing),
  bitsFor: (entryCount, rate) => {
    const size = xorSizeFor(entryCount, rate)
    return 3 * size.blockLength * size.fingerprintBits
  },
  unlucky: { entryCount: 64, from: 0 },
  bodyBits: ([bits, blockLength]) => bits * 3 * blockLength,
  twin: ([w0, w1, w2, w3]) => [w0!, w1!, w2!, w3! ^ 1n],
  claims,
}

describeStaticFilter('xor', kind)

describe('an xor filter', () => {
  // Graf, Lemire (2020): "c = floor(1.23 n) + 32"
  test('has 1.23 slots a key and 32 more, in three equal blocks', () => {
    for (const count of [1, 10, 1000, 1_000_000, 10_000_000]) {
      const slotCount = 3 * xorSizeFor(count, 0.01).blockLength
      expect(slotCount).toBeGreaterThanOrEqual(1.23 * count + 32)
      expect(slotCount).toBeLessThan(1.23 * count + 35)
    }
    expect(XorFilter.build(listOf(take(keyStream(1), 1000)), 2 ** -8, hashing).sizeInBits).toBe(8 * 3 * 421)
  })

  test('fails with one seed independently of another', () => {
    const size = xorSizeFor(64, 2 ** -8)
    let failures = 0
    let again = 0
    for (let set = 0; set < 1500; set++) {
      const { words } = listOf(take(keyStream(set), 64))
      if (XorFilter.attempt(words, size, 0, hashing) !== undefined) continue
      failures++
      if (XorFilter.attempt(words, size, 1, hashing) === undefined) again++
    }
    // One attempt in twenty.
    expect(failures).toBeGreaterThan(40)
    expect(failures).toBeLessThan(120)
    expect(again).toBeLessThan(failures / 4)
  })

  test('is not solved in fewer slots than keys', () => {
    const { words } = listOf(take(keyStream(2), 100))
    expect(XorFilter.attempt(words, { fingerprintBits: 8, blockLength: 33 }, 0, hashing)).toBeUndefined()
  })

  test.each([
    ['fingerprints of 0 bits', 2, [0, 12, 0, 0]],
    ['fingerprints of 33 bits', 2, [33, 12, 0, 0]],
    ['0 slots for 2 entries', 2, [8, 0, 0, 0]],
    ['36 slots for 0 entries', 0, [8, 12, 0, 0]],
    ['36 slots for 37 entries', 37, [8, 12, 0, 0]],
    ['3221225472 slots of 1 bits', 2, [1, 2 ** 30, 0, 0]],
    ['402653184 slots of 32 bits', 2, [32, 2 ** 27, 0, 0]],
    ['a fourth parameter', 2, [8, 12, 0, 1]],
  ] as const)('is not loaded with %s (of %d entries)', (problem, entryCount, parameters) => {
    expectRefusal(kind, problem, entryCount, parameters)
  })
})
