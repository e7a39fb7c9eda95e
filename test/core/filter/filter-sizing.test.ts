import { describe, expect, test } from 'vitest'
import {
  bestProbeCount,
  bloomSizeFor,
  entriesAtFalseHitRate,
  entriesFromFill,
  exactFalseHitRates,
  expectedFalseHitRate,
  falseHitRateAtFill,
  type BloomSize,
} from '../../../src/core/filter/filter-sizing.ts'

function geometry(bitCount: number, probeCount: number): BloomSize {
  return { bitCount, probeCount }
}

// Summary Cache, "Bloom filters": false hit rates by m/n and k.
const TABLE: readonly (readonly [loadFactor: number, rates: readonly number[]])[] = [
  [6, [0.154, 0.0804, 0.0609, 0.0561, 0.0578, 0.0638]],
  [8, [0.118, 0.0489, 0.0306, 0.024, 0.0217, 0.0216, 0.0229]],
  [10, [0.0952, 0.0329, 0.0174, 0.0118, 0.00943, 0.00844, 0.00819, 0.00846]],
  [12, [0.08, 0.0236, 0.0108, 0.00646, 0.00459, 0.00371, 0.00329, 0.00314]],
  [14, [0.0689, 0.0177, 0.00718, 0.00381, 0.00244, 0.00179, 0.00146, 0.00129]],
  [15, [0.0645, 0.0156, 0.00596, 0.003, 0.00183, 0.00128, 0.001, 0.000852]],
  [16, [NaN, NaN, NaN, 0.00239, NaN, 9.35e-4, NaN, NaN, NaN, 4.7e-4, 4.59e-4]],
  [32, [NaN, NaN, NaN, 1.91e-4, NaN, NaN, NaN, 5.73e-6]],
  [5, [NaN, NaN, NaN, 0.092]],
]

describe('the false hit rate', () => {
  const m = 2 ** 24
  const cells = TABLE.flatMap(([loadFactor, rates]) =>
    rates.flatMap((rate, i) => (Number.isNaN(rate) ? [] : [[loadFactor, i + 1, rate] as const])),
  )

  test.each(cells)('at %d bits per entry and %d probes is %d', (loadFactor, k, rate) => {
    expect(Math.abs(expectedFalseHitRate(geometry(m, k), m / loadFactor) / rate - 1)).toBeLessThan(0.007)
  })

  test('of a few entries in a very large filter is not lost to rounding', () => {
    const largest = 2 ** 31
    for (const entries of [1, 3, 7]) {
      // The first two terms of the binomial series; the third is of the order of 1e-19 of them.
      const exact = entries / largest - (entries * (entries - 1)) / 2 / largest ** 2
      expect(expectedFalseHitRate(geometry(largest, 1), entries) / exact).toBeCloseTo(1, 12)
    }
    expect(expectedFalseHitRate(geometry(2 ** 31, 4), 0)).toBe(0)
  })

  test('is exact where the filter is small', () => {
    expect(expectedFalseHitRate(geometry(64, 2), 10)).toBeCloseTo((1 - (63 / 64) ** 20) ** 2, 14)
  })

  test('follows from the fill: half full with 4 probes claims one key in 16', () => {
    expect(falseHitRateAtFill(geometry(1024, 4), 512)).toBe(1 / 16)
    expect(falseHitRateAtFill(geometry(1024, 4), 0)).toBe(0)
    expect(falseHitRateAtFill(geometry(1024, 4), 1024)).toBe(1)
  })
})

test('the fill tells the number of entries (Broder, Mitzenmacher)', () => {
  const g = geometry(2 ** 20, 4)
  const setBits = g.bitCount * (1 - (1 - 1 / g.bitCount) ** (4 * 50_000))
  expect(entriesFromFill(g, setBits)).toBeCloseTo(50_000, 0)
  expect(entriesFromFill(g, 0)).toBeCloseTo(0)
  expect(entriesFromFill(g, g.bitCount)).toBe(Infinity)
})

test('a single bit has a rate and a number of entries, too', () => {
  const one = geometry(1, 3)
  expect([0, 1, 50].map((entries) => expectedFalseHitRate(one, entries))).toEqual([0, 1, 1])
  expect([0, 1].map((setBits) => entriesFromFill(one, setBits))).toEqual([0, Infinity])
  expect(bloomSizeFor(0, 0.01)).toEqual({ bitCount: 1, probeCount: 1 })
})

describe('a size for so many entries at that rate', () => {
  test.each([
    [1000, 0.01],
    [1000, 0.5],
    [100_000, 2 ** -8],
    [7, 1e-6],
    [1, 0.9],
  ])('%d at %d is the smallest that does, and no other number of probes does better', (entries, rate) => {
    const size = bloomSizeFor(entries, rate)
    expect(expectedFalseHitRate(size, entries)).toBeLessThanOrEqual(rate)
    for (let probeCount = 1; probeCount <= 16; probeCount++) {
      expect(expectedFalseHitRate({ bitCount: size.bitCount, probeCount }, entries)).toBeGreaterThanOrEqual(
        expectedFalseHitRate(size, entries),
      )
      expect(expectedFalseHitRate({ bitCount: size.bitCount - 1, probeCount }, entries)).toBeGreaterThan(rate)
    }
  })

  test('and back: so many entries fit, and not one more', () => {
    for (const entries of [1, 10, 1000, 123_456]) {
      for (const rate of [0.5, 0.02, 1e-3, 1e-5]) {
        const size = bloomSizeFor(entries, rate)
        const fit = entriesAtFalseHitRate(size, rate)
        expect(fit).toBeGreaterThanOrEqual(entries)
        expect(expectedFalseHitRate(size, fit)).toBeLessThanOrEqual(rate)
        expect(expectedFalseHitRate(size, fit + 1)).toBeGreaterThan(rate)
      }
    }
  })

  test.each([0, -1, NaN, 1, 0.9999999999999998])('how many fit at a rate of %d is not asked', (rate) => {
    expect(() => entriesAtFalseHitRate({ bitCount: 2 ** 31, probeCount: 1 }, rate)).toThrow(RangeError)
  })

  test('the best number of probes is about ln 2 m/n', () => {
    expect([4, 8, 12, 16, 20].map((loadFactor) => bestProbeCount(loadFactor * 10_000, 10_000))).toEqual([
      3, 6, 8, 11, 14,
    ])
  })

  test.each([
    [-1, 0.1],
    [1.5, 0.1],
    [10, 0],
    [10, 1],
    [10, NaN],
    [2 ** 40, 0.01],
  ])('%d at %d is refused', (entries, rate) => {
    expect(() => bloomSizeFor(entries, rate)).toThrow(RangeError)
  })
})

describe('the exact rate (Bose et al. 2008)', () => {
  /** By going through every way in which the probes of all entries and of a stranger can fall. */
  function counted(bitCount: number, probeCount: number, entries: number): number {
    const throws = probeCount * entries
    let claimed = 0
    for (let way = 0; way < bitCount ** throws; way++) {
      let set = 0
      for (let rest = way, i = 0; i < throws; i++, rest = Math.floor(rest / bitCount)) set |= 1 << (rest % bitCount)
      let count = 0
      for (let bit = 0; bit < bitCount; bit++) count += (set >>> bit) & 1
      claimed += (count / bitCount) ** probeCount
    }
    return claimed / bitCount ** throws
  }

  test.each([
    [2, 1, 3],
    [3, 2, 2],
    [4, 2, 3],
    [5, 3, 2],
  ])('of %d bits, %d probes and %d entries is what counting all cases gives', (bitCount, probeCount, entries) => {
    expect(exactFalseHitRates(bitCount, probeCount, entries)[entries]).toBeCloseTo(
      counted(bitCount, probeCount, entries),
      12,
    )
  })

  test('is above the usual formula, and meets it as the filter grows', () => {
    const excess = [16, 64, 512].map((bitCount) => {
      const exact = exactFalseHitRates(bitCount, 4, bitCount / 8)[bitCount / 8]!
      return exact / expectedFalseHitRate({ bitCount, probeCount: 4 }, bitCount / 8) - 1
    })
    expect(excess).toEqual([...excess].sort((a, b) => b - a))
    expect(excess[2]).toBeGreaterThan(0)
    expect(excess[2]).toBeLessThan(0.02)
  })
})
