import { setImmediate } from 'node:timers/promises'
import { Command, InvalidArgumentError, Option } from 'commander'
import { parseByteSize } from './config/byte-size.ts'
import { parseDuration } from './config/duration.ts'
import { geometryFor } from './core/filter/filter-geometry.ts'
import { normalUrl } from './core/http/cache-key.ts'
import { evictionKinds, type EvictionKind } from './core/directory/eviction-kinds.ts'
import { UPDATE_PROFILES, type UpdateProfile } from './core/protocol/update-policy.ts'
import { infiniteCache } from './sim/infinite-cache.ts'
import { Replay, type ReplayOptions } from './sim/replay.ts'
import { schemeKinds, type SchemeName } from './sim/schemes/scheme-kinds.ts'
import { reportText } from './sim/sim-report-text.ts'
import { schemeFigures, traceFigures, type SimReport, type SimSetting } from './sim/sim-report.ts'
import { readTrace, type TraceReading } from './sim/traces/read-trace.ts'
import { requestFilters, type FilterKind } from './sim/traces/request-filter.ts'
import { TraceError } from './sim/traces/trace-error.ts'
import { TraceBuilder, type Trace } from './sim/traces/trace.ts'

export interface SimulateOptions {
  readonly proxies: number
  /** Bytes of each proxy; when not given, `memoryShare` decides. */
  readonly memory?: number
  /** Of the trace's infinite cache, divided among the proxies. */
  readonly memoryShare: number
  readonly eviction: EvictionKind
  readonly profile: UpdateProfile
  /** Bytes. */
  readonly maxObject: number
  /** Bits for each entry that is expected. */
  readonly loadFactor: number
  /** Milliseconds. */
  readonly heartbeat: number
  /** Share of the requests. */
  readonly warmUp: number
  readonly filter: FilterKind
  /** Host of logs that name none. */
  readonly origin: string
  readonly json?: boolean
}

export interface SimulateOutput {
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean }
  /** Ends the replay; what is known by then is reported. */
  readonly signal?: AbortSignal
}

const schemeNames = Object.keys(schemeKinds) as SchemeName[]

const EXIT_FAILED = 1
const EXIT_INTERRUPTED = 130
/** Replayed under each scheme before anything else gets its turn: some milliseconds. */
const SLICE_REQUESTS = 1_000
// Each keeps a replica of every other's digest: memory and time grow with the square.
const MAX_PROXIES = 65
const PROGRESS_AFTER_MS = 2_000
const PROGRESS_EVERY_MS = 250

/** Replays logs under every scheme and reports. Resolves with the exit code. */
export async function runSimulate(
  paths: readonly string[],
  options: SimulateOptions,
  out: SimulateOutput,
): Promise<number> {
  const progress = new Progress(out.stderr)
  const builder = new TraceBuilder(options.filter)
  let reading: TraceReading
  try {
    reading = await readTrace(paths, (record) => builder.add(record), {
      originUrl: options.origin,
      onProgress: (requests) => progress.show('read', requests),
      ...(out.signal && { signal: out.signal }),
    })
  } catch (error) {
    progress.clear()
    if (!(error instanceof TraceError)) throw error
    out.stderr.write(`summary-cache: ${error.message}\n`)
    return EXIT_FAILED
  }
  const trace = builder.finish(reading.sizeSlackBytes)
  const setting = settingFor(trace, options)
  const replays = schemeNames.map((name) => new Replay(trace, name, replayOptions(setting)))
  await replayTogether(replays, trace.length, progress, out.signal)
  progress.clear()
  const report: SimReport = {
    interrupted: out.signal?.aborted === true,
    trace: traceFigures(reading, trace),
    setting,
    schemes: schemeFigures(replays.map((replay) => replay.run())),
  }
  out.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : reportText(report))
  return report.interrupted ? EXIT_INTERRUPTED : 0
}

/** In step, so that an early end leaves all schemes at the same request. */
async function replayTogether(
  replays: readonly Replay[],
  requests: number,
  progress: Progress,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let done = 0; done < requests; done += SLICE_REQUESTS) {
    if (signal?.aborted) return
    for (const replay of replays) replay.work(SLICE_REQUESTS)
    progress.show('replayed', replays[0]!.position, requests)
    await setImmediate()
  }
}

function settingFor(trace: Trace, options: SimulateOptions): SimSetting {
  const { filter, heartbeat, loadFactor, maxObject, memory, memoryShare, profile, proxies, eviction, warmUp } = options
  const infinite = infiniteCache(trace, maxObject)
  const memoryBytes = memory ?? Math.floor((memoryShare * infinite.bytes) / proxies)
  // As many of the trace's own documents as the memory holds; the paper takes them to be of 8 KB.
  const meanBytes = infinite.documents === 0 ? 1 : infinite.bytes / infinite.documents
  const expectedEntries = Math.max(1, Math.min(infinite.documents, Math.ceil(memoryBytes / meanBytes)))
  return {
    proxies,
    memoryBytes,
    infiniteCacheBytes: infinite.bytes,
    infiniteCacheDocuments: infinite.documents,
    eviction,
    maxObjectBytes: maxObject,
    filter,
    profile,
    geometry: geometryFor(expectedEntries, loadFactor),
    heartbeatMs: heartbeat,
    warmUpRequests: Math.floor(warmUp * trace.length),
  }
}

function replayOptions({ geometry, heartbeatMs, profile, proxies, ...others }: SimSetting): ReplayOptions {
  return { ...others, proxyCount: proxies, digest: { profile, geometry, heartbeatMs } }
}

/** A line that says how far it is, on a terminal and once it has taken a while. */
class Progress {
  readonly #out: SimulateOutput['stderr']
  readonly #startMs = performance.now()
  #shownMs = -Infinity
  #stage = ''
  #stageMs = this.#startMs

  constructor(out: SimulateOutput['stderr']) {
    this.#out = out
  }

  show(stage: string, done: number, of?: number): void {
    const nowMs = performance.now()
    if (stage !== this.#stage) this.#stageMs = nowMs
    this.#stage = stage
    const isDue = nowMs - this.#startMs >= PROGRESS_AFTER_MS && nowMs - this.#shownMs >= PROGRESS_EVERY_MS
    if (!this.#out.isTTY || !isDue) return
    this.#shownMs = nowMs
    const rate = Math.round((done * 1_000) / Math.max(1, nowMs - this.#stageMs))
    this.#out.write(`\r\u001B[K${stage} ${done}${of === undefined ? '' : ` of ${of}`} requests, ${rate}/s`)
  }

  clear(): void {
    if (this.#shownMs > -Infinity) this.#out.write('\r\u001B[K')
  }
}

/** `summary-cache simulate`. */
export function simulateCommand(): Command {
  return new Command('simulate')
    .description('Replay access logs through proxies that do not share, ask by ICP, or publish digests, and compare.')
    .argument('<trace...>', "logs in Squid's native, common or combined format, plain or gzip; - is standard input")
    .option('-n, --proxies <n>', 'proxies; a client uses that of its number modulo n', integer(1, MAX_PROXIES), 3)
    .addOption(
      new Option('--memory <size>', 'of each proxy: 64MiB, 1GB or bytes').argParser(byteSize).conflicts('memoryShare'),
    )
    .addOption(
      new Option('--memory-share <share>', 'of what an infinite cache would hold, divided by n')
        .argParser(percentage(0.0001, 100))
        .default(0.1, '10%'),
    )
    .addOption(new Option('--eviction <policy>', 'who goes first').choices(Object.keys(evictionKinds)).default('lru'))
    .addOption(
      new Option('--profile <profile>', 'when digests are published')
        .choices(Object.keys(UPDATE_PROFILES))
        .default('paper'),
    )
    .addOption(
      new Option('--max-object <size>', 'larger documents are not kept').argParser(byteSize).default(250_000, '250KB'),
    )
    .option('--load-factor <bits>', 'of a digest for each expected entry, at least', integer(4, 64), 16)
    .addOption(
      new Option('--heartbeat <time>', 'from one sign of life to the next, in log time')
        .argParser(duration)
        .default(5_000, '5s'),
    )
    .addOption(
      new Option('--warm-up <share>', 'of the requests that only fill the caches and are not counted')
        .argParser(percentage(0, 99))
        .default(0, '0%'),
    )
    .addOption(
      new Option('--filter <filter>', 'paper: documents alone (no queries, no errors); all: every request')
        .choices(Object.keys(requestFilters))
        .default('paper'),
    )
    .option('--origin <url>', 'the site of logs whose lines name none', originUrl, 'http://origin.example')
    .option('--json', 'print one JSON document')
    .action(async (paths: string[], options: SimulateOptions) => {
      const interrupted = new AbortController()
      // Once: a second Ctrl-C ends the program at once.
      process.once('SIGINT', () => interrupted.abort())
      process.exitCode = await runSimulate(paths, options, {
        stdout: process.stdout,
        stderr: process.stderr,
        signal: interrupted.signal,
      })
    })
}

function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`Write a whole number from ${min} to ${max}.`)
  }
}

function percentage(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,3}(?:\.\d{1,6})?%$/.test(text) ? Number(text.slice(0, -1)) : Number.NaN
    if (value >= min && value <= max) return value / 100
    throw new InvalidArgumentError(`Write a percentage from ${min}% to ${max}%.`)
  }
}

function byteSize(text: string): number {
  const bytes = parseByteSize(text)
  if (bytes !== undefined && bytes > 0) return bytes
  throw new InvalidArgumentError('Write it as 64MiB, 1GB or plain bytes.')
}

function duration(text: string): number {
  const ms = parseDuration(text)
  if (ms !== undefined && ms > 0) return ms
  throw new InvalidArgumentError('Write it as 250ms, 5s, 3m, 1h or 2d.')
}

/** `http://host` or `http://host:port`, without a path. */
function originUrl(text: string): string {
  const url = normalUrl(`${text.replace(/\/$/, '')}/`)
  if (url !== undefined && url.indexOf('/', 'https://'.length) === url.length - 1) return url.slice(0, -1)
  throw new InvalidArgumentError('Write it as http://www.example.com.')
}
