import { describe, expect, test } from 'vitest'
import {
  bitCell,
  bitCells,
  fieldCells,
  fingerprintCells,
  scalableCells,
  type RateCell,
} from '../core/filter/hit-rate-cells.ts'
import { HOSTILE_SOURCES, idealSource, type KeySource } from '../core/filter/key-sources.ts'
import { inWords, isWithinBound, measureRate } from '../core/filter/measured-rate.ts'

// A thinned grid, with fewer probes, is test/core/filter/false-hit-rates.test.ts.
const PROBES = 1e7
/** Their standard deviation is 2.5 %. */
const MIN_HITS = 1600
const SIZES = [1e3, 1e4, 1e5, 1e6, 1e7]
const SEEDS = [1, 2]

/** Measures all that so many probes can measure, a line for each on stderr; returns those that miss the bound. */
function misses(cells: readonly RateCell[], sourceOf: (set: number) => KeySource): string[] {
  return cells
    .filter(({ expected }) => expected * PROBES >= MIN_HITS)
    .flatMap((cell) => {
      const rate = measureRate(cell, PROBES, sourceOf)
      const line = inWords(cell, rate)
      process.stderr.write(`${line}\n`)
      return isWithinBound(rate) ? [] : [line]
    })
}

/** Sets of keys that no other seed has. */
function seeded(seed: number): (set: number) => KeySource {
  return (set) => idealSource(seed * 1000 + set)
}

describe.each(SIZES)(
  'with %d keys the false hit rate lies within 5 % of the formula, or 4 standard deviations',
  (n) => {
    // Filters of a million keys and more scatter too little for a second set to differ.
    describe.each(n < 1e6 ? SEEDS : [1])('with seed %d', (seed) => {
      test.each(['bloom', 'counting', 'blocked'] as const)('for all loads and numbers of probes: %s', (kind) => {
        expect(misses(bitCells(kind, n), seeded(seed))).toEqual([])
      })

      test.each(['cuckoo', 'xor', 'binary-fuse', 'ribbon'] as const)('for all widths of fingerprints: %s', (kind) => {
        expect(misses(fingerprintCells(kind, n), seeded(seed))).toEqual([])
      })

      test('for all rates: scalable', () => {
        expect(misses(scalableCells(n), seeded(seed))).toEqual([])
      })
    })
  },
)

test('at sizes where filters in the field missed it, the false hit rate keeps to the formula', () => {
  expect(misses(fieldCells(), seeded(3))).toEqual([])
})

describe.each(HOSTILE_SOURCES)('for %s the false hit rate keeps to the formula', (_, sourceOf) => {
  test('at sizes where filters in the field missed it', () => {
    expect(misses(fieldCells(), sourceOf)).toEqual([])
  })

  test.each([1e4, 1e6])('with %d keys, for every kind', (n) => {
    const cells = [
      ...(['bloom', 'counting', 'blocked'] as const).flatMap((kind) => [
        bitCell(kind, 2 ** Math.ceil(Math.log2(8 * n)), 8, n),
        bitCell(kind, 8 * n + 1, 5, n),
      ]),
      ...(['cuckoo', 'xor', 'binary-fuse', 'ribbon'] as const).map((kind) => fingerprintCells(kind, n)[4]!),
      scalableCells(n)[1]!,
    ]
    expect(misses(cells, sourceOf)).toEqual([])
  })
})
