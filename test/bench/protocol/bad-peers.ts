import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { get, startTestProxy, stopAll, until, type TestProxy } from '../../cluster/support.ts'
import type { Finding } from '../finding.ts'
import type { Measurement } from '../measurement.ts'
import type { BadPeersPlaces, BadPeersTask } from './bad-peers.worker.ts'

const AT_ONCE = 4
const ORIGIN_MS = 20
const GOAL = { of: 'ratio', is: 'at most', limit: 1.05 } as const

/**
 * What peers that do harm cost: every request is a miss that the liar, the slow one and the dead one claim, and none of
 * the eight has. Against a proxy without peers, in turns.
 */
export const BAD_PEERS: Measurement = {
  name: 'bad peers',
  async run({ quick, progress }) {
    const documents = quick ? 800 : 16_000
    const turns = quick ? 2 : 10
    const task: BadPeersTask = { documents, originMs: ORIGIN_MS, slowMs: 2_000 }
    const worker = new Worker(new URL('./bad-peers.worker.ts', import.meta.url), { workerData: task })
    try {
      const [{ bad, good, origin }] = (await once(worker, 'message')) as [BadPeersPlaces]
      const alone = await startTestProxy('alone')
      const among = await startTestProxy('among', `digest: { profile: fresh, expectedEntries: ${documents} }`)
      for (const peer of [...good, ...bad]) among.operator.addPeer(peer)
      const claimed = `${origin}/${documents - 1}`
      await until(() => {
        const peers = among.operator.explain(claimed)!.peers
        return peers.filter(({ claims, consulted }) => claims && consulted).length === bad.length
      })
      progress(`${documents} misses, one half of them beside a liar, a slow and a dead peer among eight`)
      const delays = new Map<TestProxy, number[]>([
        [alone, []],
        [among, []],
      ])
      const each = documents / turns / 2
      for (let turn = 0; turn < 2 * turns; turn++) {
        const proxy = turn % 2 === 0 ? alone : among
        await missAll(proxy, origin, turn * each, each, delays.get(proxy)!)
      }
      return [
        compared('mean', mean, delays.get(among)!, delays.get(alone)!),
        compared('p99', (values) => quantile(values, 0.99), delays.get(among)!, delays.get(alone)!),
      ]
    } finally {
      await worker.terminate()
      await stopAll()
    }
  },
}

async function missAll(proxy: TestProxy, origin: string, from: number, count: number, delays: number[]): Promise<void> {
  let next = from
  const client = async (): Promise<void> => {
    while (next < from + count) {
      const startMs = performance.now()
      await get(proxy, `${origin}/${next++}`)
      delays.push(performance.now() - startMs)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, client))
}

function compared(
  what: string,
  of: (values: readonly number[]) => number,
  among: readonly number[],
  alone: readonly number[],
): Finding {
  return {
    name: `a miss beside a lying, a slow and a dead peer among eight, origin of ${ORIGIN_MS} ms: ${what}`,
    value: of(among),
    unit: 'ms',
    reference: 'the origin alone',
    ratio: of(among) / of(alone),
    goal: GOAL,
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
}
