import { BitArray } from './core/filter/bit-array.ts'
import type { FilterGeometry } from './core/filter/filter-geometry.ts'
import { entriesFromFill, expectedFalseHitRate, falseHitRateAtFill } from './core/filter/filter-sizing.ts'
import type { KeyHasher } from './core/filter/key-hasher.ts'
import { probePositions } from './core/filter/probing.ts'

/** A key to be added or asked for, with its positions where they are given and not hashed. */
export interface TraceStep {
  readonly verb: 'add' | 'query'
  readonly key: string
  readonly positions: readonly number[] | undefined
}

const BITS_IN_A_ROW = 32

/** A Bloom filter's every bit, step by step. */
export function traceText(steps: readonly TraceStep[], geometry: FilterGeometry, hasher: KeyHasher): string {
  const bits = new BitArray(geometry.bitCount)
  const added = new Set<string>()
  const lines = [`${geometry.bitCount} bits, ${geometry.probeCount} probes for each key`, '', ...drawn(bits, []), '']
  for (const step of steps) {
    const positions = step.positions ?? hashed(step.key, geometry, hasher)
    const how = step.positions === undefined ? 'hashes to' : 'is given'
    lines.push(`${step.verb} ${step.key}: ${how} ${positions.join(', ')}`)
    if (step.verb === 'add') lines.push(...add(step.key, positions, bits, added))
    else lines.push(...query(step.key, positions, bits, added))
    lines.push('')
  }
  const [setBits, entries] = [bits.countSet(), added.size]
  const fill = falseHitRateAtFill(geometry, setBits)
  lines.push(
    `${entries === 1 ? '1 entry has' : `${entries} entries have`} set ${setBits} of ${geometry.bitCount} bits`,
    `a stranger is claimed with a chance of ${percent(expectedFalseHitRate(geometry, entries))} by size, ${percent(fill)} by fill`,
    `so many bits tell of about ${entriesFromFill(geometry, setBits).toFixed(1)} entries`,
    '',
  )
  return lines.join('\n')
}

function hashed(key: string, geometry: FilterGeometry, hasher: KeyHasher): number[] {
  const out = new Uint32Array(geometry.probeCount)
  probePositions(hasher.hashText(key), geometry, out)
  return [...out]
}

function add(key: string, positions: readonly number[], bits: BitArray, added: Set<string>): string[] {
  const changes = positions.map((position) => `bit ${position} ${bits.set(position) ? 'was 0, is 1' : 'was 1 already'}`)
  added.add(key)
  return [...changes.map((change) => `  ${change}`), ...drawn(bits, positions)]
}

function query(key: string, positions: readonly number[], bits: BitArray, added: ReadonlySet<string>): string[] {
  const lines: string[] = []
  for (const position of positions) {
    const isSet = bits.get(position)
    lines.push(`  bit ${position} is ${isSet ? 1 : 0}`)
    if (!isSet) return [...lines, ...drawn(bits, positions), `  certainly not in it: bit ${position} is 0`]
  }
  const verdict = added.has(key) ? 'a true hit: it was added' : 'a false hit: it was never added'
  return [...lines, ...drawn(bits, positions), `  may be in it, all its bits are set; ${verdict}`]
}

/** The bits under their numbers, those of the step marked. */
function drawn(bits: BitArray, marked: readonly number[]): string[] {
  const width = String(bits.bitCount - 1).length + 1
  const lines: string[] = []
  for (let from = 0; from < bits.bitCount; from += BITS_IN_A_ROW) {
    const indices = Array.from({ length: Math.min(BITS_IN_A_ROW, bits.bitCount - from) }, (_, i) => from + i)
    const line = (cell: (index: number) => string): string =>
      `  ${indices.map((index) => cell(index).padStart(width)).join('')}`.trimEnd()
    lines.push(
      line(String),
      line((index) => (bits.get(index) ? '1' : '0')),
    )
    if (indices.some((index) => marked.includes(index)))
      lines.push(line((index) => (marked.includes(index) ? '^' : '')))
  }
  return lines
}

function percent(rate: number): string {
  return `${(rate * 100).toPrecision(3)} %`
}
