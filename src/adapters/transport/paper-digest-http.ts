import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent } from 'undici'
import type { Peer } from '../../core/peers/peer.ts'
import type { PaperSnapshot } from '../../core/protocol/dir-update-publisher.ts'
import type { PaperDigestAnswer, PaperDigestFetch } from '../../proxy/ports.ts'

export interface PaperDigestHttpOptions {
  /** The path under which the peers' routes live, ending in `/`. */
  readonly prefix: string
  /** A longer answer is given up. */
  readonly maxBytes: number
  readonly timeoutMs: number
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

const ROUTE = 'v2/paper-digest'
const FILTER_TYPE = 'application/vnd.summary-cache.filter'
/** Request number of the last datagram that the digest holds. */
const UPDATE_FIELD = 'summary-cache-update'

/** Whole digests of the paper's wire: `GET {prefix}v2/paper-digest` (docs/protocol.md). */
export class PaperDigestHttp implements PaperDigestFetch {
  readonly #options: PaperDigestHttpOptions
  readonly #agent: Agent

  constructor(options: PaperDigestHttpOptions) {
    this.#options = options
    this.#agent = new Agent({
      connect: { timeout: options.timeoutMs },
      headersTimeout: options.timeoutMs,
      bodyTimeout: options.timeoutMs,
    })
  }

  async fetch(peer: Peer, signal: AbortSignal): Promise<PaperDigestAnswer> {
    const { maxBytes, prefix } = this.#options
    const path = `${prefix}${ROUTE}`
    const requestBytes = `GET ${path} HTTP/1.1\r\nHost: ${new URL(peer.url).host}\r\n\r\n`.length
    try {
      const answer = await this.#agent.request({ origin: peer.url, path, method: 'GET', signal })
      if (answer.statusCode !== 200) {
        await answer.body.dump()
        return answer.statusCode === 404
          ? { kind: 'unserved' }
          : { kind: 'failed', reason: refusalOf(peer, answer.statusCode) }
      }
      const chunks: Uint8Array[] = []
      let size = 0
      for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
        size += chunk.length
        if (size > maxBytes) return { kind: 'failed', reason: `its digest has more than ${maxBytes} bytes` }
        chunks.push(chunk)
      }
      const said = answer.headers[UPDATE_FIELD]
      const requestNumber = typeof said === 'string' && /^\d{1,10}$/.test(said) ? Number(said) >>> 0 : undefined
      return { kind: 'digest', filter: Buffer.concat(chunks), requestNumber, requestBytes }
    } catch (error) {
      return { kind: 'failed', reason: (error as Error).message || String((error as NodeJS.ErrnoException).code) }
    }
  }

  /** The route of our own digest, before the peers' other routes. */
  before(others: Handler, snapshot: () => PaperSnapshot): Handler {
    const url = `${this.#options.prefix}${ROUTE}`
    return async (request, response) => {
      if (request.method !== 'GET' || request.url !== url) {
        await others(request, response)
        return
      }
      response.on('error', () => response.destroy())
      const { filter, requestNumber } = snapshot()
      response.writeHead(200, {
        'content-type': FILTER_TYPE,
        'content-length': filter.length,
        'cache-control': 'no-store',
        [UPDATE_FIELD]: requestNumber,
      })
      response.end(filter)
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }
}

function refusalOf({ url }: Peer, status: number): string {
  if (status === 403) return `${url} refuses us its digest: are we among its access.clients?`
  return `${url} answered ${status} to the request for its digest`
}
