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
  readonly bloom: {
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
  readonly kinds: readonly KindSize[]
}

export interface KindSize {
  readonly kind: string
  readonly bitsPerEntry: number
  readonly bytes: number
  readonly falseHitRate: number
  readonly can: string
  readonly parameters: string
}

/** @throws {RangeError} no filter does */
export function sizeReport(demand: SizeDemand): SizeReport {
  const { entries, error, kind, keyBytes } = demand
  const bloom = bloomSize(demand)
  const { bitCount, probeCount } = bloom
  const kinds = FILTER_KINDS.filter(({ name }) => kind === undefined || name === kind)
  return {
    entries,
    bloom: {
      bitCount,
      probeCount,
      bitsPerEntry: bitCount / entries,
      falseHitRate: expectedFalseHitRate(bloom, entries),
      asymptoticRate: (-Math.expm1((-probeCount * entries) / bitCount)) ** probeCount,
      entriesAtError: entriesAtFalseHitRate(bloom, error),
    },
    kinds: [
      ...kinds.map((one) => kindSize(one, entries, error)),
      exact('set of the keys', entries, keyBytes, `${keyBytes} bytes of each key, and nothing else`),
      exact('set of their MD5', entries, 16, 'the exact directory of Summary Cache'),
    ],
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
  const { entries, bloom, kinds } = report
  const rows = [
    ['kind', 'bits/entry', 'memory', 'false hits', 'can', 'parameters'],
    ...kinds.map((one) => [
      one.kind,
      digits(one.bitsPerEntry),
      bytesText(one.bytes),
      percentText(one.falseHitRate),
      one.can,
      one.parameters,
    ]),
  ]
  return [
    `A Bloom filter for ${entries.toLocaleString('en')} entries`,
    `  m = ${bloom.bitCount}, k = ${bloom.probeCount}: ${digits(bloom.bitsPerEntry)} bits an entry, ${bytesText(bloom.bitCount / 8)}`,
    `  false hits ${percentText(bloom.falseHitRate)} by (1 - (1 - 1/m)^kn)^k, ${percentText(bloom.asymptoticRate)} by (1 - e^(-kn/m))^k`,
    `  room for ${bloom.entriesAtError.toLocaleString('en')} entries at the error asked for`,
    '',
    ...aligned(rows),
    '',
  ].join('\n')
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
