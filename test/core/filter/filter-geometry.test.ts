import { describe, expect, test } from 'vitest'
import {
  entriesFromFill,
  expectedFalseHitRate,
  falseHitRateAtFill,
  geometryFor,
  geometryProblem,
  sameGeometry,
  type FilterGeometry,
} from '../../../src/core/filter/filter-geometry.ts'

function geometry(bitCount: number, probeCount: number): FilterGeometry {
  return { ...geometryFor(1), bitCount, probeCount }
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

describe('the geometry for a directory', () => {
  test.each([
    [0, 64],
    [1, 64],
    [4, 64],
    [5, 128],
    [65_536, 2 ** 20],
    [65_537, 2 ** 21],
    [1e12, 2 ** 31],
  ])('of %d entries has %d bits', (entries, bitCount) => {
    expect(geometryFor(entries)).toEqual({ hashScheme: 1, keyId: 0, keyRules: 1, bitCount, probeCount: 4 })
    expect(geometryProblem(geometryFor(entries))).toBeUndefined()
  })

  test('takes other load factors and probe counts', () => {
    expect(geometryFor(1000, 8, 6)).toMatchObject({ bitCount: 8192, probeCount: 6 })
  })
})

test.each([
  [{ hashScheme: 2 }, 'unknown hash scheme 2'],
  [{ keyRules: 0 }, 'unknown cache-key rules 0'],
  [{ keyId: 7 }, 'unknown key 7'],
  [{ bitCount: 0 }, 'bit count 0 out of range'],
  [{ bitCount: 32 }, 'bit count 32 out of range'],
  [{ bitCount: 2 ** 32 }, 'bit count 4294967296 out of range'],
  [{ bitCount: 100 }, 'bit count 100 is no power of two'],
  [{ bitCount: NaN }, 'bit count NaN out of range'],
  [{ probeCount: 0 }, 'probe count 0 out of range'],
  [{ probeCount: 17 }, 'probe count 17 out of range'],
  [{ probeCount: 1.5 }, 'probe count 1.5 out of range'],
])('a geometry with %o is refused by name', (change, problem) => {
  expect(geometryProblem({ ...geometryFor(100), ...change })).toBe(problem)
})

test('digests of two geometries that differ in any field do not merge', () => {
  const own = geometryFor(100)
  expect(sameGeometry(own, { ...own })).toBe(true)
  for (const field of Object.keys(own)) expect(sameGeometry(own, { ...own, [field]: 99 })).toBe(false)
})
