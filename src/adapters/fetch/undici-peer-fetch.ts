import { isIP } from 'node:net'
import { Agent, buildConnector } from 'undici'
import type { RequestHead } from '../../core/http/message-head.ts'
import type { Peer } from '../../core/peers/peer.ts'
import type { PeerTls } from '../../proxy/peer-tls.ts'
import type { FetchedResponse, LiveBody, PeerFetch } from '../../proxy/ports.ts'
import { exchange } from './undici-exchange.ts'

export interface UndiciPeerFetchOptions {
  /** To the head of a peer's answer, connecting included; it bounds what a dead peer costs a request. */
  readonly timeoutMs: number
  /** For peers at `https:` addresses. */
  readonly tls?: PeerTls | undefined
}

/** A remote hit holds a connection only while its body passes; a cluster's peers are few. */
const CONNECTIONS_PER_PEER = 64
const BODY_TIMEOUT_MS = 10_000

/** Asks a peer's proxy port, with the absolute URL in the request line, as a Squid asks its siblings. */
export class UndiciPeerFetch implements PeerFetch<LiveBody> {
  readonly #agent: Agent
  readonly #timeoutMs: number

  constructor(options: UndiciPeerFetchOptions) {
    this.#timeoutMs = options.timeoutMs
    const connect = connector(options.tls)
    this.#agent = new Agent({ connect, connections: CONNECTIONS_PER_PEER, bodyTimeout: BODY_TIMEOUT_MS })
  }

  async fetch(
    peer: Peer,
    request: RequestHead,
    signal: AbortSignal,
    timeoutMs: number,
  ): Promise<FetchedResponse<LiveBody>> {
    const limitMs = Math.ceil(Math.min(timeoutMs, this.#timeoutMs))
    // A controller of its own: once the head is there, neither the timer nor the asker's leaving may cut the body off.
    const controller = new AbortController()
    const timer = setTimeout(() => {
      controller.abort(new DOMException(`no answer within ${limitMs} ms`, 'TimeoutError'))
    }, limitMs)
    const cancelled = (): void => controller.abort(signal.reason)
    signal.addEventListener('abort', cancelled, { once: true })
    try {
      return await exchange(
        this.#agent,
        {
          connectTo: peer.url,
          verifiedName: new URL(peer.url).hostname,
          target: request.url,
          host: new URL(request.url).host,
          method: request.method,
          fields: request.fields,
          body: undefined,
        },
        controller.signal,
      )
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', cancelled)
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }
}

/** The peer is known by its own address, and not by the host of the URL that it is asked for. */
function connector(tls: PeerTls | undefined): buildConnector.connector {
  const connect = buildConnector({
    ...(tls && { ca: tls.ca, cert: tls.certificate, key: tls.key }),
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    allowH2: false,
    maxCachedSessions: 0,
  })
  return (options, callback) => {
    const { servername: _origin, ...rest } = options
    // RFC 6066 §3: an address is no server name; the certificate is compared with it all the same.
    connect(isIP(rest.hostname) === 0 ? { ...rest, servername: rest.hostname } : rest, callback)
  }
}
