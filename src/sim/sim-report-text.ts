import type { SchemeFigures, SimReport, SimSetting, TraceFigures } from './sim-report.ts'
import { SKIP_REASONS, type SkipReason } from './traces/trace-record.ts'

/** A report for people: what was read, how it was replayed, and a column of figures for each scheme. */
export function reportText(report: SimReport): string {
  const { interrupted, schemes, setting, trace } = report
  const replayed = schemes[0]?.requests ?? 0
  const parts = [
    traceText(trace),
    settingText(setting),
    ...(interrupted ? [`Interrupted: these are the first requests, ${replayed} counted.`] : []),
    table(rowsOf(schemes)),
    notes(schemes),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function traceText(trace: TraceFigures): string {
  const { bodyBytes, clients, documents, examples, firstMs, lastMs, outOfOrder, requests, withoutSize } = trace
  const lines = trace.files.map(({ format, lines: count, name }) => `${name}: ${count} lines, ${format || 'empty'}`)
  lines.push(`${requests} requests of ${clients} clients for ${documents} documents, ${bytes(bodyBytes)} of bodies`)
  if (firstMs !== null && lastMs !== null) lines.push(`${moment(firstMs)} to ${moment(lastMs)}, in log time`)
  const dropped = Object.entries(trace.dropped).filter(([, count]) => count > 0)
  if (dropped.length > 0) lines.push(`left out by the filter: ${counts(dropped)}`)
  if (outOfOrder > 0) lines.push(`${outOfOrder} requests stood behind a later one: sorted by time`)
  if (withoutSize > 0) lines.push(`${withoutSize} requests without a size: taken from others for the same document`)
  for (const [reason, count] of Object.entries(trace.skippedLines)) {
    lines.push(`${count} lines skipped: ${SKIP_REASONS[reason as SkipReason].meaning}`)
  }
  for (const { file, line, reason, text } of examples)
    lines.push(`  ${file}:${line}: ${reason}: ${JSON.stringify(text)}`)
  return lines.join('\n')
}

function settingText(setting: SimSetting): string {
  const { eviction, geometry, heartbeatMs, infiniteCacheBytes, maxObjectBytes, memoryBytes, profile, proxies } = setting
  const lines = [
    `${proxies} proxies of ${bytes(memoryBytes)} each (${eviction}); all documents up to ${bytes(maxObjectBytes)} would take ${bytes(infiniteCacheBytes)}`,
    `digests of ${geometry.bitCount} bits, ${geometry.probeCount} probes; published by profile ${profile}, a heartbeat every ${heartbeatMs / 1000} s`,
  ]
  if (setting.warmUpRequests > 0) lines.push(`the first ${setting.warmUpRequests} requests are not counted`)
  return lines.join('\n')
}

type Cell = (figures: SchemeFigures) => string

function rowsOf(schemes: readonly SchemeFigures[]): string[][] {
  const rows: readonly (readonly [string, Cell])[] = [
    ['', ({ scheme }) => scheme],
    ['requests', ({ requests }) => String(requests)],
    ['hit ratio', ({ hitRatio }) => percent(hitRatio.total)],
    ['  local', ({ hitRatio }) => percent(hitRatio.local)],
    ['  remote', ({ hitRatio }) => percent(hitRatio.remote)],
    ['byte hit ratio', ({ byteHitRatio }) => percent(byteHitRatio)],
    ['false hits', ({ falseHits }) => String(falseHits)],
    ['  by collision', ({ falseHitCauses }) => String(falseHitCauses.collision ?? 0)],
    ['  by pending clears', ({ falseHitCauses }) => String(falseHitCauses['pending-clear'] ?? 0)],
    ['remote stale hits', ({ remoteStaleHits }) => String(remoteStaleHits)],
    ['false misses', ({ falseMisses }) => (falseMisses === null ? '-' : String(falseMisses))],
    ["messages, the paper's count", ({ messages }) => String(messages.messagesPaper)],
    ['  per request', ({ perRequest }) => perRequest.messagesPaper.toFixed(3)],
    ['messages in full', ({ messages }) => String(messages.messagesFull)],
    ['  per request', ({ perRequest }) => perRequest.messagesFull.toFixed(3)],
    ['messages for finding alone', ({ messages }) => String(messages.finding)],
    ['bytes (heads and frames)', ({ messages }) => bytes(messages.bytes)],
    ['  per request', ({ perRequest }) => perRequest.bytes.toFixed(1)],
    ["ICP costs, by the paper's count", ({ icp }) => times(icp.ratio.messagesPaper)],
    ['  at most (its queries per remote hit)', ({ icp }) => times(icp.ceiling)],
    ['  in full', ({ icp }) => times(icp.ratio.messagesFull)],
    ['  for finding alone', ({ icp }) => times(icp.ratio.finding)],
    ['  in bytes', ({ icp }) => times(icp.ratio.bytes)],
  ]
  return rows.map(([label, cell]) => [label].concat(schemes.map(cell)))
}

function notes(schemes: readonly SchemeFigures[]): string {
  return schemes
    .filter(({ framesSent }) => framesSent.snapshot > 0)
    .map(({ framesSent: { delta, heartbeat, snapshot, turnover }, scheme }) => {
      const frames = `${snapshot} snapshots, ${delta} deltas, ${turnover} turnovers and ${heartbeat} heartbeats`
      return `${scheme} sent ${frames}; heartbeats go by log time, however few the requests.`
    })
    .join('\n')
}

/** Labels to the left, figures to the right. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function counts(entries: readonly (readonly [string, number])[]): string {
  return entries.map(([reason, count]) => `${count} by ${reason}`).join(', ')
}

function moment(ms: number): string {
  return new Date(ms).toISOString().replace('T', ' ').slice(0, 19)
}

function percent(part: number): string {
  return `${(100 * part).toFixed(2)} %`
}

function times(ratio: number | null): string {
  return ratio === null ? '-' : `${ratio.toFixed(ratio < 10 ? 2 : 1)} times`
}

function bytes(count: number): string {
  if (count < 10_000) return `${Math.round(count)} B`
  return count < 10_000_000 ? `${(count / 1e3).toFixed(0)} KB` : `${(count / 1e6).toFixed(1)} MB`
}
