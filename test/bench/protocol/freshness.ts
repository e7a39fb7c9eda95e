import type { Finding } from '../finding.ts'
import type { Measurement } from '../measurement.ts'
import { SlidingKeys, startBarePeer } from './bare-peer.ts'

const CHANGES_PER_SECOND = 100
/** A timer's grain, and what visibility is measured to. */
const LOOK_EVERY_MS = 5

export const FRESHNESS: Measurement = {
  name: 'freshness',
  async run({ quick, progress }) {
    const seconds = quick ? 3 : 60
    const entryCount = quick ? 2_000 : 100_000
    const [a, b] = [await startBarePeer('a', entryCount, 'fresh'), await startBarePeer('b', entryCount, 'fresh')]
    try {
      const keys = new SlidingKeys('fresh', entryCount, a.protocol)
      b.exchange.follow({ name: 'a', url: a.url })
      const { digest } = b.protocol.peers.at(0)!
      while (!digest.isProved(performance.now())) await pause(LOOK_EVERY_MS)
      progress(`${seconds} s of ${CHANGES_PER_SECOND} inserts and as many evictions a second`)
      const unseen: { readonly number: number; readonly atMs: number }[] = []
      const delays: number[] = []
      const startMs = performance.now()
      let inserted = 0
      while (performance.now() - startMs < seconds * 1_000 || unseen.length > 0) {
        const nowMs = performance.now()
        const due = Math.floor((Math.min(nowMs - startMs, seconds * 1_000) / 1_000) * CHANGES_PER_SECOND)
        for (; inserted < due; inserted++) {
          keys.slide(1)
          unseen.push({ number: keys.newest, atMs: nowMs })
        }
        // Inserts become visible in their order.
        while (unseen.length > 0 && digest.replica.mayContain(keys.key(unseen[0]!.number))) {
          delays.push(performance.now() - unseen.shift()!.atMs)
        }
        await pause(LOOK_EVERY_MS)
      }
      const name = `insert at one proxy to visible at another, profile fresh, ${CHANGES_PER_SECOND} changes a second`
      return [quantile(`${name}: median`, delays, 0.5), { ...quantile(`${name}: p99`, delays, 0.99), goal: GOAL }]
    } finally {
      await Promise.all([a.stop(), b.stop()])
    }
  },
}

const GOAL = { of: 'value', is: 'at most', limit: 1_000 } as const

function quantile(name: string, values: readonly number[], share: number): Finding {
  const sorted = values.toSorted((x, y) => x - y)
  const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
  return { name, value, unit: 'ms', reference: null, ratio: null }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
