import { FALSE_HIT_CAUSES } from '../core/peers/guess-counts.ts'
import type { PeerView, Statistics } from '../proxy/views.ts'

/** What one proxy has to show. */
export interface ProxyFigures {
  readonly name: string
  readonly statistics: Statistics
  readonly peers: readonly PeerView[]
  /** As the replaying client saw it. */
  readonly failed: number
}

/** The document that `--json` prints. */
export interface DemoReport {
  readonly proxies: readonly {
    readonly name: string
    readonly requests: number
    readonly localHits: number
    readonly remoteHits: number
    readonly falseHits: number
    readonly misses: number
    readonly failed: number
    readonly hitRatio: number
  }[]
  readonly interCache: {
    readonly messagesPaper: number
    readonly messagesFull: number
    /** Messages of finding alone: digest frames and false hits. */
    readonly finding: number
    readonly bytes: number
    readonly snapshots: number
    readonly deltas: number
    readonly turnovers: number
  }
  readonly icp: { readonly messagesPaper: number; readonly messagesFull: number; readonly bytes: number }
  /** ICP queries per remote hit: no scheme can save more by the paper's count. */
  readonly ceiling: number
  readonly originBytesSaved: number
}

export function demoReport(figures: readonly ProxyFigures[]): DemoReport {
  const total = (of: (statistics: Statistics) => number): number =>
    figures.reduce((sum, { statistics }) => sum + of(statistics), 0)
  const remoteHits = total((s) => s.byOutcome['remote-hit'])
  const icpQueries = total((s) => s.icp.messagesPaper)
  return {
    proxies: figures.map(({ name, statistics, failed }) => ({
      name,
      requests: statistics.requests,
      localHits: localHits(statistics),
      remoteHits: statistics.byOutcome['remote-hit'],
      falseHits: falseHits(statistics),
      misses: statistics.byOutcome.miss + statistics.byOutcome.pass,
      failed,
      hitRatio: statistics.hitRatio.local + statistics.hitRatio.remote,
    })),
    interCache: {
      messagesPaper: total((s) => s.interCache.messagesPaper),
      messagesFull: total((s) => s.interCache.messagesFull),
      finding: total((s) => s.interCache.finding),
      bytes: total((s) => s.interCache.bytes),
      snapshots: total((s) => s.interCache.framesSent.snapshot),
      deltas: total((s) => s.interCache.framesSent.delta),
      turnovers: total((s) => s.interCache.framesSent.turnover),
    },
    icp: {
      messagesPaper: icpQueries,
      messagesFull: total((s) => s.icp.messagesFull),
      bytes: total((s) => s.icp.bytes),
    },
    ceiling: remoteHits === 0 ? 0 : icpQueries / remoteHits,
    originBytesSaved: total((s) => s.bodyBytes.local + s.bodyBytes.remote),
  }
}

const HEADINGS = ['proxy', 'requests', 'local', 'remote', 'misses', 'failed', 'false hits (why)', 'replicas: age']

/** One row per proxy, as it stands now. */
export function liveTable(figures: readonly ProxyFigures[]): string {
  const rows = figures.map(({ name, statistics, peers, failed }) => [
    name,
    String(statistics.requests),
    share(localHits(statistics), statistics.requests),
    share(statistics.byOutcome['remote-hit'], statistics.requests),
    String(statistics.byOutcome.miss + statistics.byOutcome.pass),
    String(failed),
    causes(statistics),
    peers.map((peer) => `${peer.name} ${peer.digest === null ? '-' : seconds(peer.digest.ageMs)}`).join('  '),
  ])
  return columns([HEADINGS, ...rows])
}

/** What sharing has cost and saved, against ICP for the same misses. */
export function comparison(report: DemoReport): string {
  const { ceiling, icp, interCache, originBytesSaved, proxies } = report
  const remoteHits = proxies.reduce((sum, proxy) => sum + proxy.remoteHits, 0)
  const rows = [
    ['between the proxies', 'digests', 'ICP', 'ICP costs'],
    [
      "messages, the paper's count",
      String(interCache.messagesPaper),
      String(icp.messagesPaper),
      times(icp.messagesPaper, interCache.messagesPaper),
    ],
    [
      'messages in full',
      String(interCache.messagesFull),
      String(icp.messagesFull),
      times(icp.messagesFull, interCache.messagesFull),
    ],
    [
      'messages for finding alone',
      String(interCache.finding),
      String(icp.messagesPaper),
      times(icp.messagesPaper, interCache.finding),
    ],
    ['bytes (heads and frames)', bytes(interCache.bytes), bytes(icp.bytes), times(icp.bytes, interCache.bytes)],
  ]
  return [
    columns(rows),
    '',
    `  The paper's count cannot pass ${ceiling.toFixed(1)} times on this log: ICP's ${icp.messagesPaper} queries over ${remoteHits} remote hits, which cost a message each under any scheme.`,
    `  Digests went out as ${interCache.snapshots} snapshots, ${interCache.deltas} deltas and ${interCache.turnovers} turnovers. Heartbeats are counted as sent, in real time.`,
    `  The origin was spared ${bytes(originBytesSaved)} of bodies.`,
  ].join('\n')
}

/** Cells aligned under each other, the first and the last two columns of words to the left. */
function columns(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const numeric = rows[0]!.map((_, column) =>
    rows.slice(1).every((row) => /^[\d.,]+( ?%| times| [KMG]?B)?$/.test(row[column]!)),
  )
  return rows
    .map((row) =>
      row
        .map((cell, column) => (numeric[column] ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
        .join('  '),
    )
    .map((line) => `  ${line}`.trimEnd())
    .join('\n')
}

function localHits(statistics: Statistics): number {
  return statistics.byOutcome['local-hit'] + statistics.byOutcome['validated-hit']
}

function falseHits(statistics: Statistics): number {
  return FALSE_HIT_CAUSES.reduce((sum, cause) => sum + statistics.falseHits[cause], 0)
}

function causes(statistics: Statistics): string {
  const said = FALSE_HIT_CAUSES.filter((cause) => statistics.falseHits[cause] > 0)
  return said.length === 0 ? '0' : said.map((cause) => `${statistics.falseHits[cause]} ${cause}`).join(', ')
}

function share(part: number, whole: number): string {
  return whole === 0 ? '0.0 %' : `${((100 * part) / whole).toFixed(1)} %`
}

function times(a: number, b: number): string {
  return b === 0 ? '-' : `${(a / b).toFixed(1)} times`
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

function bytes(count: number): string {
  if (count < 10_000) return `${count} B`
  return count < 10_000_000 ? `${(count / 1_000).toFixed(0)} KB` : `${(count / 1_000_000).toFixed(1)} MB`
}
