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

/** Bold are the bits of a step, green what a filter gets right, red a false hit. */
export type Paint = (tone: 'bold' | 'green' | 'red', text: string) => string

/** With numbers of three digits they still fit a terminal of 80 columns. */
const BITS_IN_A_ROW = 16

/** A Bloom filter's every bit, step by step. */
export function traceText(
  steps: readonly TraceStep[],
  geometry: FilterGeometry,
  hasher: KeyHasher,
  paint: Paint,
): string {
  const bits = new BitArray(geometry.bitCount)
  const added = new Set<string>()
  const lines = [
    `${counted(geometry.bitCount, 'bit')}, ${counted(geometry.probeCount, 'probe')} for each key`,
    '',
    ...drawn(bits, [], paint),
    '',
  ]
  for (const { verb, key, positions: given } of steps) {
    const positions = given ?? hashed(key, geometry, hasher)
    lines.push(`${verb} ${key}: ${given === undefined ? 'hashes to' : 'is given'} ${positions.join(', ')}`)
    if (verb === 'add') {
      lines.push(...raised(positions, bits), ...drawn(bits, positions, paint), '')
      added.add(key)
    } else {
      const seen = positions.map((position) => `  bit ${position} is ${bits.get(position) ? 1 : 0}`)
      lines.push(...seen, ...drawn(bits, positions, paint), `  ${verdict(key, positions, bits, added, paint)}`, '')
    }
  }
  const [setBits, entries] = [bits.countSet(), added.size]
  const fill = falseHitRateAtFill(geometry, setBits)
  lines.push(
    `${entries === 1 ? '1 entry has' : `${entries} entries have`} set ${setBits} of ${counted(geometry.bitCount, 'bit')}`,
    `a stranger is claimed with a chance of ${percent(expectedFalseHitRate(geometry, entries))} by size, ${percent(fill)} by fill`,
    setBits === geometry.bitCount
      ? 'every bit is set, which tells nothing of how many entries there are'
      : `so many bits tell of about ${entriesFromFill(geometry, setBits).toFixed(1)} entries`,
    '',
  )
  return lines.join('\n')
}

function hashed(key: string, geometry: FilterGeometry, hasher: KeyHasher): number[] {
  const out = new Uint32Array(geometry.probeCount)
  probePositions(hasher.hashText(key), geometry, out)
  return [...out]
}

/** Sets the bits, and says what each was before. */
function raised(positions: readonly number[], bits: BitArray): string[] {
  return positions.map((position) => `  bit ${position} ${bits.set(position) ? 'was 0, is 1' : 'was 1 already'}`)
}

function verdict(
  key: string,
  positions: readonly number[],
  bits: BitArray,
  added: ReadonlySet<string>,
  paint: Paint,
): string {
  const clear = [...new Set(positions)].filter((position) => !bits.get(position))
  if (clear.length > 0) {
    const which = clear.length === 1 ? `bit ${clear[0]} is 0` : `bits ${clear.join(', ')} are 0`
    return `${paint('green', 'certainly not in it')}: ${which}`
  }
  const truth = added.has(key)
    ? `${paint('green', 'a true hit')}: it was added`
    : `${paint('red', 'a false hit')}: it was never added`
  return `may be in it, all its bits are set; ${truth}`
}

/** The bits under their numbers, those of the step marked. */
function drawn(bits: BitArray, marked: readonly number[], paint: Paint): string[] {
  const width = String(bits.bitCount - 1).length + 1
  const lines: string[] = []
  for (let from = 0; from < bits.bitCount; from += BITS_IN_A_ROW) {
    const indices = Array.from({ length: Math.min(BITS_IN_A_ROW, bits.bitCount - from) }, (_, i) => from + i)
    const line = (cell: (index: number) => string): string => {
      // Padded by hand: paint has a length, and no width.
      const cells = indices.map((index) => {
        const text = cell(index)
        return ' '.repeat(width - text.length) + (marked.includes(index) && text !== '' ? paint('bold', text) : text)
      })
      return `  ${cells.join('')}`.trimEnd()
    }
    lines.push(
      line(String),
      line((index) => (bits.get(index) ? '1' : '0')),
    )
    if (indices.some((index) => marked.includes(index)))
      lines.push(line((index) => (marked.includes(index) ? '^' : '')))
  }
  return lines
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function percent(rate: number): string {
  return `${(rate * 100).toPrecision(3)} %`
}
