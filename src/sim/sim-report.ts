import type { EvictionKind } from '../core/directory/eviction-kinds.ts'
import type { FilterGeometry } from '../core/filter/filter-geometry.ts'
import { FALSE_HIT_CAUSES, type FalseHitCause } from '../core/peers/guess-counts.ts'
import type { UpdateProfile } from '../core/protocol/update-policy.ts'
import { DIGEST_FRAME_KINDS, type DigestFrameKind } from '../proxy/proxy-event.ts'
import type { Statistics } from '../proxy/views.ts'
import type { SchemeRun } from './replay.ts'
import { schemeKinds, type SchemeName } from './schemes/scheme-kinds.ts'
import type { SchemeMessages } from './schemes/sharing-scheme.ts'
import type { TraceReading } from './traces/read-trace.ts'
import type { DropReason, FilterKind } from './traces/request-filter.ts'
import type { Trace } from './traces/trace.ts'

/** The document that `--json` prints. */
export interface SimReport {
  /** True: not all requests were replayed. */
  readonly interrupted: boolean
  readonly trace: TraceFigures
  readonly setting: SimSetting
  readonly schemes: readonly SchemeFigures[]
}

export interface TraceFigures {
  readonly files: TraceReading['files']
  readonly skippedLines: TraceReading['skipped']
  readonly examples: TraceReading['examples']
  readonly dropped: Readonly<Record<DropReason, number>>
  readonly requests: number
  readonly clients: number
  readonly documents: number
  readonly bodyBytes: number
  readonly outOfOrder: number
  readonly withoutSize: number
  /** Milliseconds since 1970; null without requests. */
  readonly firstMs: number | null
  readonly lastMs: number | null
}

export interface SimSetting {
  readonly proxies: number
  readonly memoryBytes: number
  readonly infiniteCacheBytes: number
  readonly infiniteCacheDocuments: number
  readonly eviction: EvictionKind
  readonly maxObjectBytes: number
  readonly filter: FilterKind
  readonly profile: UpdateProfile
  readonly geometry: FilterGeometry
  readonly heartbeatMs: number
  readonly warmUpRequests: number
}

export interface SchemeFigures {
  readonly scheme: SchemeName
  readonly requests: number
  readonly localHits: number
  readonly remoteHits: number
  readonly hitRatio: { readonly total: number; readonly local: number; readonly remote: number }
  readonly byteHitRatio: number
  /** A peer was asked that did not hold the document at all. */
  readonly falseHits: number
  readonly falseHitCauses: Readonly<Partial<Record<FalseHitCause, number>>>
  /** A peer was asked that held another version. */
  readonly remoteStaleHits: number
  /** A peer held it and was not asked; null for a scheme that asks nobody. */
  readonly falseMisses: number | null
  readonly messages: SchemeMessages
  readonly perRequest: SchemeMessages
  readonly framesSent: Readonly<Record<DigestFrameKind, number>>
  readonly icp: {
    /** ICP's cost over this scheme's: above 1 this scheme is cheaper. Null where one of them is 0. */
    readonly ratio: Readonly<Record<keyof SchemeMessages, number | null>>
    /** ICP queries per remote hit, which no scheme can exceed by the paper's count. */
    readonly ceiling: number | null
  }
}

const MESSAGE_COUNTS = [
  'messagesPaper',
  'messagesFull',
  'finding',
  'bytes',
] as const satisfies readonly (keyof SchemeMessages)[]

export function traceFigures(reading: TraceReading, trace: Trace): TraceFigures {
  let bodyBytes = 0
  for (const size of trace.bodyBytes) bodyBytes += Math.max(0, size)
  return {
    files: reading.files,
    skippedLines: reading.skipped,
    examples: reading.examples,
    dropped: trace.dropped,
    requests: trace.length,
    clients: trace.clients.length,
    documents: trace.documents.length,
    bodyBytes,
    outOfOrder: trace.outOfOrder,
    withoutSize: trace.withoutSize,
    firstMs: trace.timeMs[0] ?? null,
    lastMs: trace.timeMs.at(-1) ?? null,
  }
}

export function schemeFigures(runs: readonly SchemeRun[]): SchemeFigures[] {
  const icp = runs.find(({ scheme }) => scheme === 'icp')
  return runs.map((run) => figuresOf(run, icp && messagesOf(icp)))
}

function figuresOf(run: SchemeRun, icp: SchemeMessages | undefined): SchemeFigures {
  const total = (of: (statistics: Statistics) => number): number => sum(run.statistics.map(of))
  const requests = total((s) => s.requests)
  const localHits = total((s) => s.byOutcome['local-hit'])
  const remoteHits = total((s) => s.byOutcome['remote-hit'])
  const hitBytes = total((s) => s.bodyBytes.local + s.bodyBytes.remote)
  const messages = messagesOf(run)
  const causes = FALSE_HIT_CAUSES.map((cause) => [cause, total((s) => s.falseHits[cause])] as const)
  const remoteStaleHits = total((s) => s.falseHits.freshness)
  const guesses = causes.filter(([cause, count]) => cause !== 'freshness' && count > 0)
  return {
    scheme: run.scheme,
    requests,
    localHits,
    remoteHits,
    hitRatio: {
      total: share(localHits + remoteHits, requests),
      local: share(localHits, requests),
      remote: share(remoteHits, requests),
    },
    byteHitRatio: share(hitBytes, hitBytes + total((s) => s.bodyBytes.origin)),
    falseHits: sum(guesses.map(([, count]) => count)),
    falseHitCauses: Object.fromEntries(guesses),
    remoteStaleHits,
    falseMisses: schemeKinds[run.scheme].shares ? run.falseMisses : null,
    messages,
    perRequest: eachCount((count) => share(messages[count], requests)),
    framesSent: Object.fromEntries(
      DIGEST_FRAME_KINDS.map((kind) => [kind, total((s) => s.interCache.framesSent[kind])]),
    ) as Record<DigestFrameKind, number>,
    icp: {
      ratio: eachCount((count) => ratio(icp?.[count] ?? 0, messages[count])),
      ceiling: ratio(icp?.messagesPaper ?? 0, remoteHits),
    },
  }
}

function messagesOf(run: SchemeRun): SchemeMessages {
  const byProxy = run.statistics.map((statistics) => schemeKinds[run.scheme].messages(statistics))
  return eachCount((count) => sum(byProxy.map((messages) => messages[count])))
}

function eachCount<T>(of: (count: keyof SchemeMessages) => T): Record<keyof SchemeMessages, T> {
  return Object.fromEntries(MESSAGE_COUNTS.map((count) => [count, of(count)])) as Record<keyof SchemeMessages, T>
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/** To six digits: what lies beyond says nothing. */
function share(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 1e6) / 1e6
}

function ratio(a: number, b: number): number | null {
  return a === 0 || b === 0 ? null : share(a, b)
}
