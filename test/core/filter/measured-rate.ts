import type { KeySource } from './key-sources.ts'
import type { RateCell } from './hit-rate-cells.ts'

export interface MeasuredRate {
  readonly measured: number
  readonly expected: number
  /** Of the measured rate: by chance of the probes, and, where there are filters enough to tell, of the filters. */
  readonly sigma: number
}

/** Below so many the scatter of the filters' own rates says little. Then the filters are large, and scatter by formula. */
const MIN_FILTERS_FOR_SCATTER = 8
const MAX_FILTERS = 400
const PROBES_PER_KEY = 10

/**
 * Looks up `probeCount` strangers in all, spread over many filters of different keys where these are small. Every
 * hundredth key that was added is looked up, too.
 *
 * @param sourceOf a source of other keys for each number
 */
export function measureRate(cell: RateCell, probeCount: number, sourceOf: (set: number) => KeySource): MeasuredRate {
  const { entryCount, expected } = cell
  const filterCount = Math.max(1, Math.min(MAX_FILTERS, Math.round(probeCount / PROBES_PER_KEY / entryCount)))
  const perFilter = Math.ceil(probeCount / filterCount)
  const rates: number[] = []
  for (let set = 0; set < filterCount; set++) {
    const source = sourceOf(set)
    const filter = cell.build(source)
    if (set === 0 && Math.abs(filter.expectedFalseHitRate / expected - 1) > 1e-9) {
      throw new Error(`${cell.name}: expects ${filter.expectedFalseHitRate} itself, not ${expected}`)
    }
    for (let n = 0; n < entryCount; n += 100) {
      if (!filter.mayContain(source.at(n))) throw new Error(`${cell.name}: a false miss of key ${n}, set ${set}`)
    }
    let hits = 0
    for (let n = entryCount; n < entryCount + perFilter; n++) if (filter.mayContain(source.at(n))) hits++
    rates.push(hits / perFilter)
  }
  const measured = rates.reduce((sum, rate) => sum + rate) / filterCount
  const byProbes = (expected * (1 - expected)) / (perFilter * filterCount)
  if (filterCount < MIN_FILTERS_FOR_SCATTER) {
    return { measured, expected, sigma: Math.sqrt(byProbes + (cell.scatter ?? 0) ** 2 / filterCount) }
  }
  const squares = rates.reduce((sum, rate) => sum + (rate - measured) ** 2, 0)
  const byFilters = squares / (filterCount - 1) / filterCount
  return { measured, expected, sigma: Math.sqrt(Math.max(byProbes, byFilters)) }
}

/** Does it lie within 5 % of the formula, or within 4 standard deviations, whichever is more? */
export function isWithinBound({ measured, expected, sigma }: MeasuredRate): boolean {
  return Math.abs(measured - expected) <= Math.max(0.05 * expected, 4 * sigma)
}

/** The cell and what came of it, for people: a line of the soak's report, and of a failure. */
export function inWords(cell: RateCell, { measured, expected, sigma }: MeasuredRate): string {
  const excess = `${((measured / expected - 1) * 100).toFixed(2)} %`
  const deviations = ((measured - expected) / sigma).toFixed(1)
  return `${cell.name}: ${measured.toExponential(4)} for ${expected.toExponential(4)}: ${excess}, ${deviations} sigma`
}
