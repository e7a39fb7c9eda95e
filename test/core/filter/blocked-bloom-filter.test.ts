import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  BlockedBloomFilter,
  blockedBloomSizeFor,
  blockedFalseHitRate,
  type BlockedBloomSize,
} from '../../../src/core/filter/blocked-bloom-filter.ts'
import { MalformedFilterError, decodeFilter, type FilterRecord } from '../../../src/core/filter/filter-format.ts'
import { exactFalseHitRates, expectedFalseHitRate } from '../../../src/core/filter/filter-sizing.ts'
import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { hashing } from './hit-rate-cells.ts'
import { RandomKeys } from './random-keys.ts'
import { fmix32, keyStream, take } from './seeded-keys.ts'
import { bitsOf } from './static-filter-suite.ts'
import { keyOf } from './test-keys.ts'

function filled(size: BlockedBloomSize, keys: Iterable<KeyHash>): BlockedBloomFilter {
  const filter = new BlockedBloomFilter(size, hashing)
  for (const key of keys) filter.add(key)
  return filter
}

function setBits(filter: BlockedBloomFilter): number[] {
  const bits: number[] = []
  filter.bits.pushSet({ push: (position) => bits.push(position) })
  return bits
}

/** As the class comment has it, in integers without bounds. */
function positionsModel(key: KeyHash, { blockCount, probeCount }: BlockedBloomSize): number[] {
  const block = (BigInt(key.h0) * BigInt(blockCount)) >> 32n
  const words = [BigInt(key.h1)]
  for (const [g, word] of [key.h2, key.h3, key.h1, key.h1, key.h1].entries()) {
    words.push(fmix32(BigInt.asUintN(32, BigInt(word) + BigInt(g + 1) * 0x9e3779b9n)))
  }
  const within = words.flatMap((word) => [word >> 23n, (word >> 14n) & 511n, (word >> 5n) & 511n])
  return within.slice(0, probeCount).map((position) => Number(block * 512n + position))
}

/** The mean of the exact rates over a binomial number of keys in the block, by factorials. */
function rateModel({ blockCount, probeCount }: BlockedBloomSize, entryCount: number): number {
  const rates = exactFalseHitRates(512, probeCount, entryCount)
  let logChoose = 0
  let sum = 0
  for (let i = 0; i <= entryCount; i++) {
    const logShare = logChoose + i * Math.log(1 / blockCount) + (entryCount - i) * Math.log1p(-1 / blockCount)
    sum += Math.exp(logShare) * rates[i]!
    logChoose += Math.log((entryCount - i) / (i + 1))
  }
  return sum
}

describe('a blocked Bloom filter', () => {
  test.each([1, 2, 3, 64, 1001])(
    'of %d blocks has the bits that its description names, all in one block',
    (blockCount) => {
      for (const probeCount of [1, 3, 4, 7, 9, 10, 16]) {
        const size = { blockCount, probeCount }
        for (const key of take(keyStream(blockCount), 40)) {
          const filter = filled(size, [key])
          const bits = setBits(filter)
          expect(bits).toEqual([...new Set(positionsModel(key, size))].sort((a, b) => a - b))
          expect(new Set(bits.map((bit) => Math.floor(bit / 512))).size).toBe(1)
          expect([filter.setBitCount, filter.mayContain(key)]).toEqual([bits.length, true])
        }
      }
    },
  )

  test('claims a key exactly when all its bits are set', () => {
    for (const probeCount of [1, 5, 16]) {
      const size = { blockCount: 3, probeCount }
      const filter = filled(size, take(keyStream(probeCount), 600 / probeCount))
      const bits = bitsOf(decodeFilter(filter.serialise()).body)
      for (const key of take(keyStream(99), 2000)) {
        const all = positionsModel(key, size).every((position) => ((bits >> BigInt(position)) & 1n) === 1n)
        expect(filter.mayContain(key)).toBe(all)
      }
    }
  })

  test('has the bits of what was added, in any order and however often', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(30), { maxLength: 60 }), fc.integer({ min: 1, max: 16 }), (ns, probeCount) => {
        const size = { blockCount: 3, probeCount }
        const filter = filled(
          size,
          ns.map((n) => keyOf(`${n}`)),
        )
        const model = new Set(ns.flatMap((n) => positionsModel(keyOf(`${n}`), size)))
        expect(setBits(filter)).toEqual([...model].sort((a, b) => a - b))
        expect([filter.setBitCount, filter.entryCount]).toEqual([model.size, ns.length])
      }),
      { numRuns: 50 },
    )
  })

  // MurmurHash3 x86_128 of 4 bytes or less gives three equal words.
  test('gives a key of 4 bytes as many bits as any other', () => {
    const short = Array.from({ length: 2000 }, (_, n) => keyOf(`${n}`))
    expect(short.every(({ h1, h2, h3 }) => h1 === h2 && h2 === h3)).toBe(true)
    for (const probeCount of [4, 8, 16]) {
      const bits = short.map((key) => filled({ blockCount: 1, probeCount }, [key]).setBitCount)
      // A few of them coincide by chance.
      const mean = 512 * (1 - (1 - 1 / 512) ** probeCount)
      expect(Math.abs(bits.reduce((sum, count) => sum + count) / 2000 / mean - 1)).toBeLessThan(0.01)
    }
  })

  test.each([2, 6, 64])('of %d blocks, folded, is the one of half the blocks', (blockCount) => {
    for (const probeCount of [1, 8, 16]) {
      const keys = take(keyStream(probeCount), 500)
      const half = filled({ blockCount: blockCount / 2, probeCount }, keys)
      expect(filled({ blockCount, probeCount }, keys).foldedToHalf().serialise()).toEqual(half.serialise())
    }
  })

  test.each([1, 7])('of %d blocks is not folded', (blockCount) => {
    expect(() => new BlockedBloomFilter({ blockCount, probeCount: 4 }, hashing).foldedToHalf()).toThrow(RangeError)
  })

  test('of which one block is full cannot tell how many keys it has', () => {
    const filter = filled({ blockCount: 1, probeCount: 16 }, take(keyStream(3), 1000))
    expect([filter.estimatedEntryCount, filter.estimatedFalseHitRate]).toEqual([Infinity, 1])
  })

  test.each([
    ['block count 0 out of range', { parameters: [0, 2, 4, 0] }],
    ['block count 4194305 out of range', { parameters: [2 ** 22 + 1, 2, 4, 0] }],
    ['probe count 0 out of range', { parameters: [2, 0, 4, 0] }],
    ['probe count 17 out of range', { parameters: [2, 17, 4, 0] }],
    ['a fourth parameter', { parameters: [2, 2, 4, 1] }],
    ['4 set bits of 0 entries', { entryCount: 0 }],
    ['4 set bits of 1 entries', { entryCount: 1 }],
    ['4 set bits, where its head says 3', { parameters: [2, 2, 3, 0] }],
    ['a body of 127 bytes for 1024 bits', { body: new Uint8Array(127) }],
    ['a body of 128 bytes for 2147483648 bits', { parameters: [2 ** 22, 2, 4, 0] }],
  ] as readonly (readonly [string, Partial<FilterRecord>])[])('is not loaded with %s', (problem, change) => {
    const record = decodeFilter(filled({ blockCount: 2, probeCount: 2 }, take(keyStream(4), 2)).serialise())
    expect(record.parameters).toEqual([2, 2, 4, 0])
    expect(() => BlockedBloomFilter.load({ ...record, ...change })).toThrow(MalformedFilterError)
    expect(() => BlockedBloomFilter.load({ ...record, ...change })).toThrow(problem)
  })
})

describe('the false hit rate of a blocked Bloom filter', () => {
  test.each([
    [2, 1, 300],
    [10, 8, 640],
    [100, 4, 6400],
    [3000, 2, 2000],
    [64, 16, 512],
  ])(
    'of %d blocks and %d probes with %d keys is the mean over what blocks get',
    (blockCount, probeCount, entryCount) => {
      const size = { blockCount, probeCount }
      expect(blockedFalseHitRate(size, entryCount) / rateModel(size, entryCount)).toBeCloseTo(1, 9)
    },
  )

  test('is that of 512 bits where there is one block, and above the plain filter where there are more', () => {
    expect(blockedFalseHitRate({ blockCount: 1, probeCount: 5 }, 40)).toBe(exactFalseHitRates(512, 5, 40)[40])
    for (const probeCount of [2, 4, 8, 12]) {
      const plain = expectedFalseHitRate({ bitCount: 512 * 1000, probeCount }, 32_000)
      expect(blockedFalseHitRate({ blockCount: 1000, probeCount }, 32_000)).toBeGreaterThan(plain)
    }
    expect(blockedFalseHitRate({ blockCount: 7, probeCount: 3 }, 0)).toBe(0)
  })

  // In few blocks the binomial number of keys differs from a Poisson number.
  test.each([
    [1, 4, 60],
    [2, 6, 100],
    [5, 3, 400],
  ])('of %d blocks and %d probes with %d keys is what is measured', (blockCount, probeCount, entryCount) => {
    const keys = new RandomKeys(blockCount)
    let hits = 0
    for (let i = 0; i < 600; i++) {
      const filter = new BlockedBloomFilter({ blockCount, probeCount }, hashing)
      for (let n = 0; n < entryCount; n++) filter.add(keys.advance())
      for (let n = 0; n < 600; n++) if (filter.mayContain(keys.advance())) hits++
    }
    const expected = blockedFalseHitRate({ blockCount, probeCount }, entryCount)
    expect(Math.abs(hits / 600 / 600 / expected - 1)).toBeLessThan(0.05)
  })

  test('of the smallest size for a demand keeps to it, and one block less does not', () => {
    for (const [count, rate] of [
      [1, 0.01],
      [100, 0.02],
      [3000, 0.004],
      [100_000, 1e-4],
    ] as const) {
      const { blockCount, probeCount } = blockedBloomSizeFor(count, rate)
      expect(blockedFalseHitRate({ blockCount, probeCount }, count)).toBeLessThanOrEqual(rate)
      if (blockCount === 1) continue
      for (let k = 1; k <= 16; k++) {
        expect(blockedFalseHitRate({ blockCount: blockCount - 1, probeCount: k }, count)).toBeGreaterThan(rate)
      }
    }
  })
})
