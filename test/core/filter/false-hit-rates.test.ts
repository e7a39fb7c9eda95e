import { describe, expect, test } from 'vitest'
import { allCells, bitCell, fieldCells, fingerprintCells, scalableCells, type RateCell } from './hit-rate-cells.ts'
import { HOSTILE_SOURCES, idealSource, type KeySource } from './key-sources.ts'
import { inWords, isWithinBound, measureRate } from './measured-rate.ts'

// The whole grid, up to 10^7 keys and with 10^7 probes a cell, is test/soak/false-hit-rates.soak.ts.
const PROBES = 60_000
/** Fewer say little: 4 standard deviations of 400 hits are 20 %. */
const MIN_HITS = 400

/** Of the cells that so many probes can measure, every `stride`-th. */
function thinned(cells: readonly RateCell[], stride: number): RateCell[] {
  return cells.filter(({ expected }) => expected * PROBES >= MIN_HITS).filter((_, i) => i % stride === 0)
}

function misses(cells: readonly RateCell[], sourceOf: (set: number) => KeySource): string[] {
  return cells.flatMap((cell) => {
    const rate = measureRate(cell, PROBES, sourceOf)
    return isWithinBound(rate) ? [] : [inWords(cell, rate)]
  })
}

describe('the false hit rate lies within 5 % of the formula, or 4 standard deviations', () => {
  test.each([
    [1000, 1],
    [10_000, 3],
    [100_000, 19],
  ])('for every kind at %d keys', (entryCount, stride) => {
    expect(misses(thinned(allCells(entryCount), stride), (set) => idealSource(entryCount + set))).toEqual([])
  })

  test('at sizes where filters in the field missed it', () => {
    expect(misses(thinned(fieldCells(), 7), idealSource)).toEqual([])
  })

  test.each(HOSTILE_SOURCES)('for %s', (_, sourceOf) => {
    const cells = [
      bitCell('bloom', 65_537, 6, 8192),
      bitCell('bloom', 65_536, 4, 8192),
      bitCell('counting', 65_536, 4, 8192),
      bitCell('blocked', 65_536, 8, 8192),
      ...(['cuckoo', 'xor', 'binary-fuse', 'ribbon'] as const).map((kind) => fingerprintCells(kind, 8192)[1]!),
      scalableCells(8192)[0]!,
    ]
    expect(misses(cells, sourceOf)).toEqual([])
  })
})
