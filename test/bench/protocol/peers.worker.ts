import { parentPort, workerData } from 'node:worker_threads'
import { SlidingKeys, startBarePeer } from './bare-peer.ts'

/** What the peers are told: whom to follow, and how much to change. */
export interface PeersTask {
  readonly count: number
  readonly entryCount: number
  readonly changesPerSecond: number
  readonly follow: { readonly name: string; readonly url: string }
}

const TICK_MS = 50

// Peers of the proxy that is measured, in a thread of their own: each follows it, and changes as it does.
const { changesPerSecond, count, entryCount, follow } = workerData as PeersTask
const peers = await Promise.all(Array.from({ length: count }, (_, i) => startBarePeer(`p${i}`, entryCount, 'balanced')))
const keys = peers.map((peer) => new SlidingKeys(peer.name, entryCount, peer.protocol))
for (const peer of peers) peer.exchange.follow(follow)
parentPort!.postMessage(peers.map(({ name, url }) => ({ name, url })))
let due = 0
setInterval(() => {
  due += (changesPerSecond / 2) * (TICK_MS / 1_000)
  for (const each of keys) each.slide(Math.floor(due))
  due %= 1
}, TICK_MS)
