import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { cacheable, get, startOrigin, startTestProxy, stopAll } from '../../cluster/support.ts'
import type { Finding } from '../finding.ts'
import type { Measurement } from '../measurement.ts'
import { SlidingKeys, startBarePeer, type BarePeer } from './bare-peer.ts'
import type { HitDelays, HitsTask } from './hits.worker.ts'

const HITS_PER_SECOND = 500
const CHANGES_PER_SECOND = 1_000
const TICK_MS = 10

/**
 * What a client notices of publishing: the delays of local hits of a proxy, on whose thread a summary changes, turns over
 * and is rebuilt. Open loop, from another thread; windows of the one and the other in turn.
 */
export const STALLS: Measurement = {
  name: 'stalls',
  async run({ quick, progress }) {
    const entryCount = quick ? 100_000 : 10_000_000
    const rounds = quick ? 1 : 5
    const windowMs = quick ? 1_000 : 15_000
    const origin = await startOrigin(cacheable)
    const proxy = await startTestProxy('proxy')
    const url = `${origin.url}/page`
    await get(proxy, url)
    const { hostname, port } = new URL(proxy.url)
    const request = `GET ${url} HTTP/1.1\r\nHost: ${new URL(url).host}\r\n\r\n`
    const task: HitsTask = { host: hostname, port: Number(port), request, perSecond: HITS_PER_SECOND }
    const client = new Worker(new URL('./hits.worker.ts', import.meta.url), { workerData: task })
    progress(`a summary of ${entryCount} entries`)
    const peer = await startBarePeer('large', entryCount, 'balanced')
    const keys = new SlidingKeys('large', entryCount, peer.protocol)
    try {
      const delaysDuring = async (work: () => Promise<void> | undefined): Promise<HitDelays> => {
        const over = new AbortController()
        const working = work()
        const changing = change(keys, over.signal)
        client.postMessage(windowMs)
        const [delays] = (await once(client, 'message')) as [HitDelays]
        over.abort()
        await Promise.all([working, changing])
        return delays
      }
      const found = new Map<string, number[]>()
      const windows: readonly [string, () => Promise<void> | undefined][] = [
        ['nothing else', () => undefined],
        ['a generation turns over', () => repeated(peer, undefined, windowMs)],
        ['the summary is rebuilt from the directory', () => repeated(peer, true, windowMs)],
      ]
      for (const [what] of windows) found.set(what, [])
      // Whatever is compiled or touched once is not of interest.
      await delaysDuring(() => repeated(peer, true, windowMs))
      for (let round = 0; round < rounds; round++) {
        for (const [what, work] of windows) {
          progress(`round ${round + 1}: hits while ${what}`)
          found.get(what)!.push(quantile(await delaysDuring(work), 0.999))
        }
      }
      return findings(found, entryCount)
    } finally {
      await client.terminate()
      await peer.stop()
      await stopAll()
    }
  },
}

function findings(found: ReadonlyMap<string, readonly number[]>, entryCount: number): Finding[] {
  const [[, base] = ['', []], ...others] = [...found]
  const name = `p99.9 of local hits beside a summary of ${entryCount} entries`
  return [
    { name, value: median(base), unit: 'ms', reference: null, ratio: null },
    ...others.map(([what, values]): Finding => {
      // Of windows of one round.
      const moved = values.map((value, round) => value - base[round]!)
      return {
        name: `${name}, later while ${what}`,
        value: median(moved),
        unit: 'ms',
        reference: null,
        ratio: null,
        range: { min: Math.min(...moved), median: median(moved), max: Math.max(...moved) },
        goal: { of: 'value', is: 'at most', limit: 1 },
      }
    }),
  ]
}

/** One generation after the other, for about so long. */
async function repeated(peer: BarePeer, isRefill: boolean | undefined, forMs: number): Promise<void> {
  const { exchange, protocol } = peer
  const endMs = performance.now() + forMs
  while (performance.now() < endMs) {
    if (isRefill !== true) protocol.publisher.beginGeneration({ reason: 'command', refill: undefined })
    await exchange.newGeneration()
  }
}

async function change(keys: SlidingKeys, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    keys.slide((CHANGES_PER_SECOND / 2) * (TICK_MS / 1_000))
    await new Promise((resolve) => {
      setTimeout(resolve, TICK_MS)
    })
  }
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}
