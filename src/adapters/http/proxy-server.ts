import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Fields } from '../../core/http/fields.ts'
import type { MountTable } from '../../core/http/mount-table.ts'
import { effectiveUrl } from '../../core/http/request-target.ts'
import { withoutForwardingClaims } from '../../core/http/forwarded-headers.ts'
import type { CacheProxy, Reply } from '../../proxy/cache-proxy.ts'
import { refusedReply, type Refusal } from '../../proxy/own-replies.ts'
import type { Clock, EventSink, LiveBody } from '../../proxy/ports.ts'
import type { Outcome } from '../../proxy/proxy-event.ts'
import type { ClientAccess } from './client-access.ts'
import { sendReply } from './send-reply.ts'
import { openTunnel } from './tunnel.ts'

/** Under this path, on whatever host, proxies of a cluster talk to each other (RFC 8615). */
export const PEER_PREFIX = '/.well-known/summary-cache/'

export interface ProxyServerOptions {
  readonly name: string
  readonly proxy: CacheProxy<LiveBody>
  readonly mounts: MountTable
  readonly access: ClientAccess
  readonly forward: { readonly enabled: boolean; readonly connectPorts: readonly number[] }
  /** Answers what comes under `PEER_PREFIX` from a client that may. */
  readonly peerRoutes: (request: IncomingMessage, response: ServerResponse) => void
  readonly clock: Clock
  readonly events: EventSink
  /** A connection on which nothing has moved for so long is closed: longer than any origin is waited for. */
  readonly idleMs: number
  /** A fault of our own: it ends one request, and should be heard of. */
  readonly reportFault: (error: unknown) => void
}

// As long as Squid keeps an idle client connection, and a second: the client, not we, should close first, or a request
// and our close may cross.
const KEEP_ALIVE_MS = 121_000
// Probes on connections that are silent by nature, such as those of digests: a peer that vanished is found out.
const PROBE_AFTER_MS = 30_000
const MAX_HEADER_BYTES = 64 * 1024

/** The proxy port: node:http before `CacheProxy`. */
export class ProxyServer {
  readonly #options: ProxyServerOptions
  readonly #server: Server
  #underWay = 0

  constructor(options: ProxyServerOptions) {
    this.#options = options
    this.#server = createServer(
      {
        maxHeaderSize: MAX_HEADER_BYTES,
        keepAliveTimeout: KEEP_ALIVE_MS,
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: PROBE_AFTER_MS,
      },
      (request, response) => {
        this.#serve(request, response).catch((error: unknown) => {
          response.destroy()
          options.reportFault(error)
        })
      },
    )
    this.#server.setTimeout(options.idleMs)
    this.#server.on('connect', (request: IncomingMessage, socket: Duplex, early: Buffer) => {
      this.#tunnel(request, socket as Socket, early).catch((error: unknown) => {
        socket.destroy()
        options.reportFault(error)
      })
    })
  }

  /** Requests whose replies are not finished. */
  get requestsUnderWay(): number {
    return this.#underWay
  }

  /** @throws NodeJS.ErrnoException, such as EADDRINUSE */
  listen(host: string, port: number): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port, backlog: 1024 }, () => {
        this.#server.removeListener('error', reject)
        resolve(this.#server.address() as AddressInfo)
      })
    })
  }

  /** Takes no more connections; waits `graceMs` for replies under way, then cuts them. */
  async close(graceMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve())
    })
    this.#server.closeIdleConnections()
    const timer = setTimeout(() => this.#server.closeAllConnections(), graceMs)
    await closed
    clearTimeout(timer)
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clock, events, name } = this.#options
    if (request.url!.startsWith(PEER_PREFIX)) {
      if (this.#options.access.allows(clientOf(request))) this.#options.peerRoutes(request, response)
      else await sendReply(response, request.method!, ownReplyOf(name, 'forbidden', request.url!), clock.wallMs())
      return
    }
    const startMs = clock.monotonicMs()
    this.#underWay++
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    // Its own: the request lets go of it when the client has gone.
    const { socket } = request
    const client = socket.remoteAddress ?? ''
    const sentBefore = socket.bytesWritten
    const target = this.#resolve(request)
    const url = 'url' in target ? target.url : request.url!
    const fields = new Fields(request.rawHeaders)
    let reply: Reply<LiveBody>
    try {
      reply =
        'url' in target
          ? await this.#options.proxy.handle(
              {
                head: {
                  method: request.method!,
                  url,
                  fields: target.reverse ? withoutForwardingClaims(fields) : fields,
                },
                body: hasBody(request) ? request : undefined,
                client,
              },
              gone.signal,
            )
          : ownReplyOf(name, target.refusal, url)
    } catch (error) {
      this.#options.reportFault(error)
      reply = ownReplyOf(name, 'internal', url)
    }
    const sent = await sendReply(response, request.method!, reply, clock.wallMs())
    this.#underWay--
    // What the client still sends of a body that nobody read would be taken for its next request.
    if (!request.complete) request.resume()
    events.emit({
      kind: 'request-ended',
      wallMs: clock.wallMs(),
      elapsedMs: clock.monotonicMs() - startMs,
      client,
      fromPeer: fields.has('via') && /\bonly-if-cached\b/i.test(fields.get('cache-control') ?? ''),
      method: request.method!,
      url,
      status: reply.head.status,
      outcome: reply.outcome,
      bytesToClient: socket.bytesWritten - sentBefore,
      bodyBytes: sent.bodyBytes,
      contentType: reply.head.fields.get('content-type'),
      server: reply.server,
      aborted: sent.aborted,
    })
  }

  /** The URL at its origin that a request is about, or why it is refused. */
  #resolve(request: IncomingMessage): { url: string; reverse: boolean } | { refusal: Refusal } {
    const { access, forward, mounts } = this.#options
    const target = request.url!
    const effective = effectiveUrl(target, request.headersDistinct['host'] ?? [], 'http')
    if (effective.kind === 'problem') return { refusal: effective.problem }
    if (!target.startsWith('/')) {
      if (!forward.enabled || !access.allows(clientOf(request))) return { refusal: 'forbidden' }
      return { url: effective.url, reverse: false }
    }
    const url = mounts.originUrl(effective.url)
    return url === undefined ? { refusal: 'no-mount' } : { url, reverse: true }
  }

  async #tunnel(request: IncomingMessage, socket: Socket, early: Buffer): Promise<void> {
    const { access, clock, events, forward, name } = this.#options
    const startMs = clock.monotonicMs()
    const client = clientOf(request)
    socket.setTimeout(0)
    socket.on('error', () => socket.destroy())
    const authority = /^(\[[0-9a-f:.]+\]|[^:/@\s]+):(\d{1,5})$/i.exec(request.url!)
    const port = Number(authority?.[2])
    const refusal: Refusal | undefined =
      authority === null
        ? 'bad-authority'
        : !forward.enabled || !access.allows(clientOf(request)) || !forward.connectPorts.includes(port)
          ? 'forbidden'
          : undefined
    let outcome: Outcome = 'tunnel'
    let status: number
    let bytesToClient = 0
    if (refusal !== undefined) {
      outcome = 'refused'
      const reply = ownReplyOf(name, refusal, request.url!)
      status = reply.head.status
      socket.end(
        `HTTP/1.1 ${status} ${reply.head.reason}\r\nConnection: close\r\n` +
          `Content-Type: text/plain; charset=utf-8\r\nContent-Length: ${reply.bodyBytes}\r\n\r\n${reply.body as string}`,
      )
    } else {
      const host = authority![1]!.replace(/^\[|\]$/g, '')
      const end = await openTunnel(socket, early, host, port, name)
      if (end.status !== 200) outcome = 'failed'
      status = end.status
      bytesToClient = end.bytesToClient
    }
    events.emit({
      kind: 'request-ended',
      wallMs: clock.wallMs(),
      elapsedMs: clock.monotonicMs() - startMs,
      client,
      fromPeer: false,
      method: 'CONNECT',
      url: request.url!,
      status,
      outcome,
      bytesToClient,
      bodyBytes: bytesToClient,
      contentType: undefined,
      server: outcome === 'refused' ? undefined : request.url!,
      aborted: false,
    })
  }
}

function ownReplyOf(name: string, refusal: Refusal, about: string): Reply<LiveBody> {
  const { head, text } = refusedReply(name, refusal, about)
  const body = Buffer.from(text)
  const outcome = refusal === 'internal' ? 'failed' : 'refused'
  return { head, body: text, bodyBytes: body.length, outcome, server: undefined, release: () => undefined }
}

function clientOf(request: IncomingMessage): string {
  // Undefined when the client has gone already.
  return request.socket.remoteAddress ?? ''
}

/** RFC 9112 §6.3: a request has a body when it says so. */
function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length']
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}
