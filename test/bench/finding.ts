import type { Comparison, Range } from './harness.ts'

/** What the project sets itself; a benchmark says whether it is met and never fails for it. */
export interface Goal {
  readonly of: 'value' | 'ratio'
  readonly is: 'at most' | 'at least'
  readonly limit: number
}

export interface Finding {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** The name of what it was measured against in the same run. */
  readonly reference: string | null
  /** Value for one of the reference's, the median of those of the same round. */
  readonly ratio: number | null
  readonly range?: Range
  readonly goal?: Goal
  /** Its place in a table of several figures for each thing, instead of a line of its own. */
  readonly cell?: { readonly table: string; readonly row: string; readonly column: string }
}

export interface Reporting {
  /** What the finding is called, where that is more than the candidate's name. */
  readonly name?: string
  /** Another candidate of the comparison. */
  readonly against?: string
  readonly goal?: Goal
  readonly cell?: Finding['cell']
  /** 'ns' unless said otherwise. */
  readonly unit?: keyof typeof NS_OF_UNIT
}

const NS_OF_UNIT = { ns: 1, µs: 1e3, ms: 1e6 }

/** What a comparison says about one of its candidates. */
export function findingOf(comparison: Comparison, candidate: string, reporting: Reporting = {}): Finding {
  const { name = candidate, against, goal, cell, unit = 'ns' } = reporting
  const scale = NS_OF_UNIT[unit]
  const { min, median, max } = comparison.range(candidate)
  const range = { min: min / scale, median: median / scale, max: max / scale }
  return {
    name,
    value: range.median,
    unit,
    reference: against ?? null,
    ratio: against === undefined ? null : comparison.ratio(candidate, against),
    range,
    ...(goal === undefined ? {} : { goal }),
    ...(cell === undefined ? {} : { cell }),
  }
}

/** A figure that is counted or computed, not timed. */
export function countedFinding(
  name: string,
  value: number,
  unit: string,
  rest: Partial<Pick<Finding, 'reference' | 'ratio' | 'goal' | 'cell'>> = {},
): Finding {
  return { name, value, unit, reference: null, ratio: null, ...rest }
}

export function isMet({ value, ratio }: Finding, { of, is, limit }: Goal): boolean {
  const reached = of === 'value' ? value : (ratio ?? Number.NaN)
  return is === 'at most' ? reached <= limit : reached >= limit
}

/** The findings as they are printed with `--json`. */
export function toJson(findings: readonly Finding[]): string {
  const rows = findings.map(({ name, value, unit, reference, ratio }) => ({ name, value, unit, reference, ratio }))
  return `${JSON.stringify(rows, undefined, 2)}\n`
}

/** The findings in Markdown: one table of lines, and behind it those that have a cell, each under its caption. */
export function toMarkdown(findings: readonly Finding[]): string {
  const lines = lineTable(findings.filter(({ cell }) => cell === undefined))
  const captions = [...new Set(findings.flatMap(({ cell }) => cell?.table ?? []))]
  const tables = captions.map(
    (caption) => `${caption}:\n\n${cellTable(findings.filter(({ cell }) => cell?.table === caption))}`,
  )
  return [lines, ...tables].filter((table) => table !== '').join('\n')
}

function lineTable(findings: readonly Finding[]): string {
  if (findings.length === 0) return ''
  const heads = ['', 'median', 'min to max', 'unit', 'ratio', 'to', 'goal']
  const rows = findings.map((finding) => {
    const { name, value, unit, range, ratio, reference, goal } = finding
    const spread = range === undefined ? '' : `${figure(range.min)} to ${figure(range.max)}`
    const verdict = goal === undefined ? '' : goalText(finding, goal)
    return [
      name,
      figure(value),
      spread,
      unit,
      ratio === null ? '' : figure(ratio, range === undefined ? 4 : 3),
      reference ?? '',
      verdict,
    ]
  })
  return markdownTable(heads, rows)
}

function goalText(finding: Finding, goal: Goal): string {
  const what = goal.of === 'value' ? `${goal.limit} ${finding.unit}` : `ratio ${goal.limit}`
  return `${goal.is} ${what}: ${isMet(finding, goal) ? 'ok' : 'missed'}`
}

function cellTable(findings: readonly Finding[]): string {
  const columns = [...new Set(findings.map(({ cell }) => cell!.column))]
  const names = [...new Set(findings.map(({ cell }) => cell!.row))]
  const rows = names.map((row) => {
    const cells = columns.map((column) => {
      const finding = findings.find(({ cell }) => cell!.row === row && cell!.column === column)
      return finding === undefined ? '' : cellText(finding)
    })
    return [row].concat(cells)
  })
  return markdownTable(['', ...columns], rows)
}

function cellText({ value, unit }: Finding): string {
  return unit === '%' ? `${value.toFixed(3)} %` : figure(value)
}

function markdownTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heads.map((head, i) => Math.max(3, head.length, ...rows.map((row) => row[i]!.length)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join(' | ')} |\n`
  const rule = `| ${widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |\n`
  return line(heads) + rule + rows.map(line).join('')
}

/** So many digits that count: three for what is measured, four for what is counted. */
function figure(value: number, digits = 3): string {
  if (value === 0) return '0'
  const decimals = Math.min(6, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)))))
  return value.toFixed(decimals)
}
