import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Peer } from '../../../src/core/peers/peer.ts'
import { countedFinding } from '../finding.ts'
import type { Measurement } from '../measurement.ts'
import { SlidingKeys, startBarePeer } from './bare-peer.ts'
import type { PeersTask } from './peers.worker.ts'

const PEERS = 16
const CHANGES_PER_SECOND = 1_000
const TICK_MS = 50

/** CPU of the thread that publishes to sixteen peers and applies what they publish, sockets included. */
export const UPKEEP: Measurement = {
  name: 'upkeep',
  async run({ quick, progress }) {
    const seconds = quick ? 3 : 20
    const entryCount = quick ? 5_000 : 100_000
    const shared = await cpuShare(CHANGES_PER_SECOND / PEERS, entryCount, seconds, progress)
    const each = await cpuShare(CHANGES_PER_SECOND, entryCount, seconds, progress)
    const cpu = `CPU of the thread of a proxy that changes ${CHANGES_PER_SECOND} times a second, of one core`
    return [
      countedFinding(`${cpu}: ${PEERS} peers that change as often together`, shared.percent, '%', {
        goal: { of: 'value', is: 'at most', limit: 3 },
      }),
      countedFinding(`... updates received a second`, shared.updatesPerSecond, 'Hz'),
      countedFinding(`${cpu}: ${PEERS} peers that change as often each`, each.percent, '%'),
      countedFinding(`... updates received a second then`, each.updatesPerSecond, 'Hz'),
    ]
  },
}

async function cpuShare(
  peersChangesPerSecond: number,
  entryCount: number,
  seconds: number,
  progress: (text: string) => void,
): Promise<{ readonly percent: number; readonly updatesPerSecond: number }> {
  const proxy = await startBarePeer('proxy', entryCount, 'balanced')
  const task: PeersTask = {
    count: PEERS,
    entryCount,
    changesPerSecond: peersChangesPerSecond,
    follow: { name: proxy.name, url: proxy.url },
  }
  const worker = new Worker(new URL('./peers.worker.ts', import.meta.url), { workerData: task })
  try {
    const keys = new SlidingKeys('proxy', entryCount, proxy.protocol)
    const [peers] = (await once(worker, 'message')) as [Peer[]]
    for (const peer of peers) proxy.exchange.follow(peer)
    const areProved = (): boolean =>
      proxy.protocol.peers.all().every(({ digest }) => digest.isProved(performance.now()))
    while (!areProved()) await pause(TICK_MS)
    progress(`${seconds} s with ${PEERS} peers, each changing ${peersChangesPerSecond} times a second`)
    await pause(1_000)

    let updates = 0
    proxy.events.subscribe((event) => {
      if (event.kind === 'digest-received' && event.frame !== 'heartbeat') updates++
    })
    const change = async (ms: number): Promise<void> => {
      const endMs = performance.now() + ms
      while (performance.now() < endMs) {
        keys.slide((CHANGES_PER_SECOND / 2) * (TICK_MS / 1_000))
        await pause(TICK_MS)
      }
    }
    const before = process.threadCpuUsage()
    const startMs = performance.now()
    await change(seconds * 1_000)
    const { system, user } = process.threadCpuUsage(before)
    const elapsedMs = performance.now() - startMs
    return { percent: (system + user) / 10 / elapsedMs, updatesPerSecond: (updates / elapsedMs) * 1_000 }
  } finally {
    await worker.terminate()
    await proxy.stop()
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
