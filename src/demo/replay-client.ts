import { Agent } from 'undici'
import { isWholeBody } from './demo-origin.ts'

/** One request of the log, as it is replayed. */
export interface ReplayRequest {
  readonly path: string
  /** Which proxy its client uses. */
  readonly proxy: number
}

export interface ReplayTarget {
  /** `http://127.0.0.1:3128`. */
  readonly proxyUrl: string
}

export interface ReplayOptions {
  readonly originUrl: string
  readonly targets: readonly ReplayTarget[]
  /** Requests are spread evenly over it; on a machine that cannot keep up it takes longer. 0: as fast as it goes. */
  readonly durationMs: number
  readonly signal: AbortSignal
  /** By proxy, counted up: no answer, another status than 200, or a body that is not the origin's to the last byte. */
  readonly failed: number[]
}

export interface ReplayResult {
  readonly firstFailure: string | undefined
}

// What the browsers of a site's visitors would have under way at once.
const IN_FLIGHT = 24

/** Sends the requests in the order of the log, each through its client's proxy, and checks every body. */
export async function replay(requests: readonly ReplayRequest[], options: ReplayOptions): Promise<ReplayResult> {
  const { durationMs, failed, originUrl, signal, targets } = options
  const agent = new Agent({ connections: IN_FLIGHT, pipelining: 1 })
  let firstFailure: string | undefined
  const startMs = performance.now()
  let next = 0

  const one = async ({ path, proxy }: ReplayRequest): Promise<void> => {
    try {
      const answer = await agent.request({
        origin: targets[proxy]!.proxyUrl,
        path: originUrl + path,
        method: 'GET',
        headers: { host: new URL(originUrl).host },
      })
      const body = Buffer.from(await answer.body.arrayBuffer())
      if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}: ${body.toString('utf8', 0, 200)}`)
      if (!isWholeBody(path, body)) throw new Error(`${body.length} bytes that are not the origin's`)
    } catch (error) {
      failed[proxy]!++
      firstFailure ??= `${path}: ${(error as Error).message}`
    }
  }
  const worker = async (): Promise<void> => {
    while (next < requests.length && !signal.aborted) {
      const index = next++
      const dueMs = startMs + (durationMs * index) / requests.length
      const waitMs = dueMs - performance.now()
      if (waitMs > 1) await pause(waitMs, signal)
      if (!signal.aborted) await one(requests[index]!)
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
  await agent.close()
  return { firstFailure }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}
