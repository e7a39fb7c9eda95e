import { parentPort, workerData } from 'node:worker_threads'
import { Agent } from 'undici'

/** Requests at their times, whether or not those before have been answered. */
export interface HitsTask {
  readonly origin: string
  readonly path: string
  readonly perSecond: number
}

/** Sent for each window that was asked for: milliseconds from when each request was due. */
export type HitDelays = readonly number[]

const { origin, path, perSecond } = workerData as HitsTask
const agent = new Agent({ connections: 16, pipelining: 1 })

async function hit(dueMs: number, delays: number[]): Promise<void> {
  const answer = await agent.request({ origin, path, method: 'GET' })
  if (answer.statusCode !== 200) throw new Error(`a hit was answered ${answer.statusCode}`)
  await answer.body.dump()
  delays.push(performance.now() - dueMs)
}

parentPort!.on('message', (windowMs: number) => {
  void measure(windowMs)
})

async function measure(windowMs: number): Promise<void> {
  const delays: number[] = []
  const hits: Promise<void>[] = []
  const startMs = performance.now()
  let sent = 0
  while (performance.now() - startMs < windowMs) {
    const due = ((performance.now() - startMs) / 1_000) * perSecond
    for (; sent < due; sent++) hits.push(hit(startMs + (sent / perSecond) * 1_000, delays))
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  }
  await Promise.all(hits)
  parentPort!.postMessage(delays satisfies HitDelays)
}
