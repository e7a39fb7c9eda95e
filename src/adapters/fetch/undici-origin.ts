import { Agent } from 'undici'
import type { RequestHead } from '../../core/http/message-head.ts'
import type { FetchedResponse, LiveBody, Origin } from '../../proxy/ports.ts'
import { exchange } from './undici-exchange.ts'

export interface UndiciOriginOptions {
  /** To the response's head, and between two reads of its body. */
  readonly timeoutMs: number
}

/** Connections to one origin at most; further requests wait their turn. As many as Traffic Server's default allows. */
const CONNECTIONS_PER_ORIGIN = 100
const CONNECT_TIMEOUT_MS = 5_000

/** Any origin, plain or TLS. */
export class UndiciOrigin implements Origin<LiveBody> {
  readonly #agent: Agent

  constructor(options: UndiciOriginOptions) {
    this.#agent = new Agent({
      connections: CONNECTIONS_PER_ORIGIN,
      headersTimeout: options.timeoutMs,
      bodyTimeout: options.timeoutMs,
      connect: { timeout: Math.min(CONNECT_TIMEOUT_MS, options.timeoutMs) },
    })
  }

  fetch(request: RequestHead, body: LiveBody | undefined, signal: AbortSignal): Promise<FetchedResponse<LiveBody>> {
    const url = new URL(request.url)
    const path = request.url.slice(request.url.indexOf('/', request.url.indexOf('//') + 2))
    return exchange(
      this.#agent,
      { connectTo: url.origin, target: path, host: url.host, method: request.method, fields: request.fields, body },
      signal,
    )
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }
}
