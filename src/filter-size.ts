import { MAX_BIT_COUNT } from './core/filter/filter-geometry.ts'
import { FILTER_KINDS, type FilterKind } from './core/filter/filter-kinds.ts'
import {
  bestProbeCount,
  bloomSizeFor,
  entriesAtFalseHitRate,
  expectedFalseHitRate,
  type BloomSize,
} from './core/filter/filter-sizing.ts'

export interface SizeDemand {
  readonly entries: number
  readonly error: number
  /** Of the Bloom filter, where it is given and not asked for. */
  readonly bits: number | undefined
  readonly probes: number | undefined
  /** Only this kind. */
  readonly kind: string | undefined
  readonly keyBytes: number
}

export interface SizeReport {
  readonly entries: number
  readonly error: number
  readonly bloom: BloomFigures | Impossible
  readonly kinds: readonly (KindSize | (Impossible & { readonly kind: string }))[]
}

/** No such filter does. */
interface Impossible {
  readonly problem: string
}

export interface BloomFigures {
  readonly bitCount: number
  readonly probeCount: number
  readonly bitsPerEntry: number
  /** (1 - (1 - 1/m)^kn)^k */
  readonly falseHitRate: number
  /** (1 - e^(-kn/m))^k */
  readonly asymptoticRate: number
  /** Most entries at the error asked for. */
  readonly entriesAtError: number
}

export interface KindSize {
  readonly kind: string
  readonly bitsPerEntry: number
  readonly bytes: number
  readonly falseHitRate: number
  readonly can: string
  readonly parameters: string
}

/** @throws {RangeError} no filter that was asked for does */
export function sizeReport(demand: SizeDemand): SizeReport {
  const { entries, error, kind, keyBytes } = demand
  const bloom = orProblem(() => bloomFigures(bloomSize(demand), entries, error))
  const asked = FILTER_KINDS.filter(({ name }) => kind === undefined || name === kind)
  const kinds = asked.map((one) => {
    const size = orProblem(() => kindSize(one, entries, error))
    return 'problem' in size ? { kind: one.name, problem: size.problem } : size
  })
  const [first] = kinds
  // Bits that were given are told about, whatever the kinds would take.
  if (demand.bits === undefined && first !== undefined && 'problem' in first) {
    if (kinds.every((one) => 'problem' in one)) throw new RangeError(first.problem)
  }
  return {
    entries,
    error,
    bloom,
    kinds: [
      ...kinds,
      exact('set of the keys', entries, keyBytes, `at least: ${keyBytes} bytes for each key, and nothing beside them`),
      exact('set of their MD5', entries, 16, '16 bytes for each key: the exact directory of Summary Cache'),
    ],
  }
}

function orProblem<T>(figures: () => T): T | Impossible {
  try {
    return figures()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return { problem: error.message }
  }
}

function bloomFigures(size: BloomSize, entries: number, error: number): BloomFigures {
  const { bitCount, probeCount } = size
  return {
    bitCount,
    probeCount,
    bitsPerEntry: bitCount / entries,
    falseHitRate: expectedFalseHitRate(size, entries),
    asymptoticRate: (-Math.expm1((-probeCount * entries) / bitCount)) ** probeCount,
    entriesAtError: entriesAtFalseHitRate(size, error),
  }
}

function bloomSize({ entries, error, bits, probes }: SizeDemand): BloomSize {
  if (bits !== undefined) return { bitCount: bits, probeCount: probes ?? bestProbeCount(bits, entries) }
  if (probes === undefined) return bloomSizeFor(entries, error)
  // The least m for so many probes: the formula solved for it.
  const share = error ** (1 / probes)
  const bitCount = Math.ceil(-1 / Math.expm1(Math.log1p(-share) / (probes * entries)))
  if (bitCount > MAX_BIT_COUNT) throw new RangeError(`no filter of ${MAX_BIT_COUNT} bits or less does`)
  return { bitCount, probeCount: probes }
}

function kindSize(kind: FilterKind, entries: number, error: number): KindSize {
  const { sizeInBits, falseHitRate, parameters } = kind.plan(entries, error)
  const verbs = (['add', 'remove', 'unite', 'fold'] as const).filter((verb) => kind.can[verb])
  return {
    kind: kind.name,
    bitsPerEntry: sizeInBits / entries,
    bytes: Math.ceil(sizeInBits / 8),
    falseHitRate,
    can: verbs.length === 0 ? 'built at once' : verbs.join(', '),
    parameters,
  }
}

function exact(kind: string, entries: number, bytes: number, parameters: string): KindSize {
  return { kind, bitsPerEntry: 8 * bytes, bytes: entries * bytes, falseHitRate: 0, can: 'add, remove', parameters }
}

export function sizeText(report: SizeReport): string {
  const { entries, error, bloom, kinds } = report
  const rows = [
    ['kind', 'bits/entry', 'memory', 'false hits', 'can', 'parameters'],
    ...kinds.map((one) =>
      'problem' in one
        ? [one.kind, '-', '-', '-', '-', `none: ${one.problem}`]
        : [
            one.kind,
            digits(one.bitsPerEntry),
            bytesText(one.bytes),
            percentText(one.falseHitRate),
            one.can,
            one.parameters,
          ],
    ),
  ]
  return [
    `A Bloom filter for ${countText(entries)}`,
    ...('problem' in bloom ? [`  ${bloom.problem}`] : bloomLines(bloom, error)),
    '',
    `For ${countText(entries)} with ${percentText(error)} of false hits at most`,
    ...aligned(rows),
    '',
  ].join('\n')
}

function bloomLines(bloom: BloomFigures, error: number): string[] {
  return [
    `  m = ${bloom.bitCount}, k = ${bloom.probeCount}: ${digits(bloom.bitsPerEntry)} bits an entry, ${bytesText(bloom.bitCount / 8)}`,
    `  false hits ${percentText(bloom.falseHitRate)} by (1 - (1 - 1/m)^kn)^k, ${percentText(bloom.asymptoticRate)} by (1 - e^(-kn/m))^k`,
    `  room for ${countText(bloom.entriesAtError)} with ${percentText(error)} of false hits at most`,
  ]
}

/** Columns as wide as their longest cell, numbers to the right. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row
      .map((cell, i) => (i >= 1 && i <= 3 ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd(),
  )
}

function countText(entries: number): string {
  return entries === 1 ? '1 entry' : `${entries.toLocaleString('en')} entries`
}

function digits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(value >= 10 ? 4 : 3)
}

function percentText(rate: number): string {
  return rate === 0 ? '0 %' : `${digits(rate * 100)} %`
}

function bytesText(bytes: number): string {
  let value = bytes
  let unit = 0
  for (; value >= 1024 && unit < 4; unit++) value /= 1024
  return `${unit === 0 ? Math.ceil(value) : digits(value)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}`
}
