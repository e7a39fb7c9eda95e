import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import { StartError } from '../start-error.ts'
import { DemoOrigin } from './demo-origin.ts'
import { comparison, demoReport, liveTable, type ProxyFigures } from './demo-report.ts'
import { readDemoLog, type DemoLog } from './demo-log.ts'
import { freePorts, NoFreePortError } from './free-ports.ts'
import { ProxyProcess, ProxyProcessError } from './proxy-process.ts'
import { replay, type ReplayResult } from './replay-client.ts'

export interface DemoOptions {
  /** Stop after the replay instead of staying up. */
  readonly exit?: boolean
  readonly json?: boolean
  readonly seconds: number
  readonly port: number
  readonly adminPort: number
}

const NAMES = ['edge-a', 'edge-b', 'edge-c'] as const
// The log's distinct bodies come to some 9 MB in all: with a quarter of that each proxy has to choose what to keep.
const MEMORY_BYTES = 2_500_000
// What that holds at the log's mean size, and half as many again.
const EXPECTED_ENTRIES = 1_000
const REFRESH_MS = 1_000

export function demoCommand(): Command {
  return new Command('demo')
    .description('Three proxies on loopback under a real access log, and what sharing saves (npm start).')
    .option('--exit', 'stop after the replay')
    .option('--json', 'print one JSON document at the end and nothing else on standard output')
    .option('--seconds <n>', 'length of the replay; slower where the machine cannot keep up', seconds, 12)
    .option('--port <port>', 'first port of the proxies; the next free ones are taken', port, 3128)
    .option('--admin-port <port>', 'first port of their administration', port, 8128)
    .action(async (options: DemoOptions) => {
      try {
        process.exitCode = await runDemo(options)
      } catch (error) {
        if (error instanceof NoFreePortError || error instanceof ProxyProcessError) {
          throw new StartError(error.message, { cause: error })
        }
        throw error
      }
    })
}

function seconds(text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value < 0 || value > 3_600) throw new InvalidArgumentError('a number from 0 to 3600')
  return value
}

function port(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1 || value > 65_000) throw new InvalidArgumentError('a port from 1 to 65000')
  return value
}

/** Resolves with the exit code: 0, 1 when a request failed, 130 when interrupted. */
async function runDemo(options: DemoOptions): Promise<number> {
  const say = (text: string): void => void (options.json ? process.stderr : process.stdout).write(`${text}\n`)
  const interrupted = new AbortController()
  const interrupt = (): void => interrupted.abort()
  process.once('SIGINT', interrupt)
  process.once('SIGTERM', interrupt)

  const log = readDemoLog(NAMES.length)
  const origin = new DemoOrigin(log.sizes)
  const originPort = await origin.listen()
  const originUrl = `http://127.0.0.1:${originPort}`
  const proxies = await startProxies(options)
  const ended = new AbortController()
  for (const proxy of proxies) void proxy.died.then((error) => ended.abort(error))
  const signal = AbortSignal.any([interrupted.signal, ended.signal])
  try {
    announce(say, proxies, originUrl, log)
    await Promise.all(proxies.map((proxy) => proxy.ready(signal)))
    const failed = NAMES.map(() => 0)
    const live = showLive(say, proxies, failed, !options.json && process.stdout.isTTY, signal)
    const result = await replay(log.requests, {
      originUrl,
      targets: proxies,
      durationMs: options.seconds * 1_000,
      signal,
      failed,
    })
    await live.stop()
    ended.signal.throwIfAborted()
    if (interrupted.signal.aborted) return 130
    const figures = await figuresOf(proxies, failed)
    conclude(say, figures, result, originUrl, log, options, proxies[0]!.adminUrl)
    if (!options.exit && !signal.aborted) await once(signal, 'abort')
    ended.signal.throwIfAborted()
    return failed.some((count) => count > 0) ? 1 : 0
  } finally {
    origin.close()
    await Promise.all(proxies.map((proxy) => proxy.stop()))
  }
}

async function startProxies(options: DemoOptions): Promise<ProxyProcess[]> {
  const ports = await freePorts(options.port, NAMES.length)
  const adminPorts = await freePorts(options.adminPort, NAMES.length)
  const peers = NAMES.map((name, i) => ({ name, url: `http://127.0.0.1:${ports[i]}` }))
  const cli = fileURLToPath(new URL(`../cli${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url))
  return NAMES.map(
    (name, i) =>
      new ProxyProcess({
        name,
        port: ports[i]!,
        adminPort: adminPorts[i]!,
        peers,
        memoryBytes: MEMORY_BYTES,
        expectedEntries: EXPECTED_ENTRIES,
        cli,
      }),
  )
}

function announce(
  say: (text: string) => void,
  proxies: readonly ProxyProcess[],
  originUrl: string,
  log: DemoLog,
): void {
  say('summary-cache: three caching proxies that share what they hold by digest\n')
  for (const { name, proxyUrl, adminUrl } of proxies) {
    say(`  ${name}   proxy ${proxyUrl}   page ${adminUrl}/   API ${adminUrl}/docs`)
  }
  say(`  origin   ${originUrl}\n`)
  say(
    `Replaying ${log.requests.length} requests of a real access log (17 to 20 May 2015, ${log.clientCount} clients; client number modulo three picks the proxy):\n`,
  )
}

/** A table each second: in place on a terminal, else one now and then. */
function showLive(
  say: (text: string) => void,
  proxies: readonly ProxyProcess[],
  failed: readonly number[],
  inPlace: boolean,
  signal: AbortSignal,
): { stop: () => Promise<void> } {
  let lines = 0
  let tick = 0
  let showing: Promise<void> | undefined
  const show = async (): Promise<void> => {
    const table = liveTable(await figuresOf(proxies, failed))
    if (inPlace && lines > 0) process.stdout.write(`\u001B[${lines}A\u001B[J`)
    say(`${table}\n`)
    lines = table.split('\n').length + 1
  }
  const timer = setInterval(() => {
    if (signal.aborted || showing !== undefined || (!inPlace && tick++ % 3 !== 0)) return
    // A proxy that ended is reported where the replay ends.
    showing = show()
      .catch(() => clearInterval(timer))
      .finally(() => {
        showing = undefined
      })
  }, REFRESH_MS)
  return {
    stop: async () => {
      clearInterval(timer)
      await showing
      if (!signal.aborted) await show()
    },
  }
}

function figuresOf(proxies: readonly ProxyProcess[], failed: readonly number[]): Promise<ProxyFigures[]> {
  return Promise.all(
    proxies.map(async (proxy, i) => {
      const [statistics, peers] = await Promise.all([proxy.statistics(), proxy.peers()])
      return { name: proxy.name, statistics, peers, failed: failed[i]! }
    }),
  )
}

function conclude(
  say: (text: string) => void,
  figures: readonly ProxyFigures[],
  result: ReplayResult,
  originUrl: string,
  log: DemoLog,
  options: DemoOptions,
  admin: string,
): void {
  const report = demoReport(figures)
  say(`${comparison(report)}\n`)
  if (result.firstFailure !== undefined) say(`  The first request that failed: ${result.firstFailure}\n`)
  if (options.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
  if (options.exit) return
  const url = encodeURIComponent(originUrl + log.requests.at(-1)!.path)
  say('Try, while they stay up (Ctrl-C ends it):\n')
  say(`  curl '${admin}/v1/explain?url=${url}'`)
  say(`  curl -X DELETE '${admin}/v1/cache?url=${url}'`)
  say(
    `  curl -H 'content-type: application/json' -d '{"name":"edge-d","url":"http://127.0.0.1:3131"}' ${admin}/v1/peers`,
  )
}
