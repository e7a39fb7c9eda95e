import { describe, expect, test } from 'vitest'
import { BinaryFuseFilter, binaryFuseSizeFor } from '../../../src/core/filter/binary-fuse-filter.ts'
import type { FilterRecord } from '../../../src/core/filter/filter-format.ts'
import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { keyStream, listOf, seededWordsModel, take } from './seeded-keys.ts'
import { bitsOf, describeStaticFilter, expectRefusal, hashing, type StaticKind } from './static-filter-suite.ts'

function claims(record: FilterRecord, key: KeyHash): boolean {
  const [bits, length, count, seed] = record.parameters
  const [w0, w1, w2, w3] = seededWordsModel(key, seed) as [bigint, bigint, bigint, bigint]
  const body = bitsOf(record.body)
  const segment = BigInt(length)
  const start = (w0 * (BigInt(count) - 2n) * segment) >> 32n
  const slots = [start, (start + segment) ^ (w1 % segment), (start + 2n * segment) ^ (w2 % segment)]
  const fingerprints = slots.map((slot) => body >> (slot * BigInt(bits)))
  return BigInt.asUintN(bits, fingerprints[0]! ^ fingerprints[1]! ^ fingerprints[2]! ^ w3) === 0n
}

function bitsFor(entryCount: number, rate: number): number {
  const size = binaryFuseSizeFor(entryCount, rate)
  return size.segmentCount * size.segmentLength * size.fingerprintBits
}

const kind: StaticKind = {
  build: (keys, rate) => BinaryFuseFilter.build(keys, rate, hashing),
  load: (record) => BinaryFuseFilter.load(record),
  attempt: (words, bits, seed) =>
    BinaryFuseFilter.attempt(words, binaryFuseSizeFor(words.length / 4, 2 ** -bits), seed, hashing),
  bitsFor,
  unlucky: { entryCount: 24, from: 0 },
  bodyBits: ([bits, segmentLength, segmentCount]) => bits * segmentLength * segmentCount,
  twin: ([w0, w1, w2, w3]) => [w0!, w1!, w2!, w3! ^ 1n],
  claims,
}

describeStaticFilter('binary fuse', kind)

describe('a binary fuse filter', () => {
  // What calculate_segment_length, calculate_size_factor and allocate of the authors' own library give.
  test.each([
    [1, 4, 3],
    [2, 4, 3],
    [10, 16, 3],
    [25, 16, 4],
    [444, 128, 5],
    [1000, 128, 11],
    [100_000, 2048, 58],
    [1_000_000, 8192, 138],
    [10_000_000, 32_768, 344],
    [100_000_000, 131_072, 859],
    [400_000_000, 262_144, 1717],
  ])('of %d keys has segments of %d slots, %d of them', (count, segmentLength, segmentCount) => {
    expect(binaryFuseSizeFor(count, 2 ** -8)).toEqual({ fingerprintBits: 8, segmentLength, segmentCount })
  })

  test('of a million keys takes less than 9.2 bits for each at 8 bits', () => {
    expect(bitsFor(1e6, 2 ** -8) / 1e6).toBeLessThan(9.2)
  })

  test('fails with one seed independently of another', () => {
    const size = binaryFuseSizeFor(24, 2 ** -8)
    let failures = 0
    let again = 0
    for (let set = 0; set < 1500; set++) {
      const { words } = listOf(take(keyStream(set), 24))
      if (BinaryFuseFilter.attempt(words, size, 0, hashing) !== undefined) continue
      failures++
      if (BinaryFuseFilter.attempt(words, size, 1, hashing) === undefined) again++
    }
    // One attempt in twelve.
    expect(failures).toBeGreaterThan(75)
    expect(failures).toBeLessThan(175)
    expect(again).toBeLessThan(failures / 4)
  })

  test.each([
    ['fingerprints of 0 bits', 2, [0, 4, 3, 0]],
    ['fingerprints of 33 bits', 2, [33, 4, 3, 0]],
    ['segments of 0 slots', 0, [8, 0, 3, 0]],
    ['segments of 12 slots', 2, [8, 12, 3, 0]],
    ['segments of 524288 slots', 2, [8, 2 ** 19, 3, 0]],
    ['1 segments', 2, [8, 4, 1, 0]],
    ['2 segments', 2, [8, 4, 2, 0]],
    ['0 slots for 2 entries', 2, [8, 4, 0, 0]],
    ['12 slots for 0 entries', 0, [8, 4, 3, 0]],
    ['12 slots for 13 entries', 13, [8, 4, 3, 0]],
    ['2147745792 slots of 1 bits', 2, [1, 2 ** 18, 2 ** 13 + 1, 0]],
    ['134479872 slots of 32 bits', 2, [32, 2 ** 18, 2 ** 9 + 1, 0]],
  ] as const)('is not loaded with %s (of %d entries)', (problem, entryCount, parameters) => {
    expectRefusal(kind, problem, entryCount, parameters)
  })
})
