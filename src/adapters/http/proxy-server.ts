import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Fields } from '../../core/http/fields.ts'
import type { MountTable } from '../../core/http/mount-table.ts'
import { effectiveUrl } from '../../core/http/request-target.ts'
import { withoutForwardingClaims } from '../../core/http/forwarded-headers.ts'
import type { CacheProxy } from '../../proxy/cache-proxy.ts'
import { refusedReply, type Refusal } from '../../proxy/own-replies.ts'
import type { Clock, EventSink, LiveBody } from '../../proxy/ports.ts'
import type { Outcome } from '../../proxy/proxy-event.ts'
import type { Reply } from '../../proxy/reply.ts'
import type { ClientAccess } from './client-access.ts'
import { rawReply } from './raw-reply.ts'
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
const CLOSE_IDLE_EVERY_MS = 20
// Probes on connections that are silent by nature, such as those of digests: a peer that vanished is found out.
const PROBE_AFTER_MS = 30_000
const MAX_HEADER_BYTES = 64 * 1024

/** The proxy port: node:http before `CacheProxy`. */
export class ProxyServer {
  readonly #options: ProxyServerOptions
  readonly #server: Server
  #underWay = 0
  #closing = false

  constructor(options: ProxyServerOptions) {
    this.#options = options
    this.#server = createServer(
      {
        maxHeaderSize: MAX_HEADER_BYTES,
        // Told by ourselves, with our name on it.
        requireHostHeader: false,
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
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
      this.#refuse(error, socket as Socket)
    })
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
    this.#closing = true
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve())
    })
    // Again and again: a connection whose last reply has just ended is idle only now, and would be kept for the next.
    const idle = setInterval(() => this.#server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS)
    const grace = setTimeout(() => this.#server.closeAllConnections(), graceMs)
    await closed
    clearInterval(idle)
    clearTimeout(grace)
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clock, events, name } = this.#options
    // On a connection that is open still: this answer is its last.
    if (this.#closing) response.shouldKeepAlive = false
    if (request.url!.startsWith(PEER_PREFIX)) {
      if (this.#options.access.allows(clientOf(request))) this.#options.peerRoutes(request, response)
      else await sendReply(response, request.method!, refusedReply(name, 'forbidden', request.url!), clock.wallMs())
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
          : refusedReply(name, target.refusal, url)
    } catch (error) {
      this.#options.reportFault(error)
      reply = refusedReply(name, 'internal', url)
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
    if (request.httpVersionMajor !== 1) return { refusal: 'version' }
    const hosts = request.headersDistinct['host'] ?? []
    // RFC 9112 §3.2: also where the target names the host itself.
    if (hosts.length === 0 && request.httpVersion === '1.1') return { refusal: 'no-host' }
    const effective = effectiveUrl(target, hosts, 'http')
    if (effective.kind === 'problem') return { refusal: effective.problem }
    if (!target.startsWith('/')) {
      if (!forward.enabled || !access.allows(clientOf(request))) return { refusal: 'forbidden' }
      return { url: effective.url, reverse: false }
    }
    const url = mounts.originUrl(effective.url)
    return url === undefined ? { refusal: 'no-mount' } : { url, reverse: true }
  }

  /** What node's parser does not take for a request. */
  #refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    const { clock, events, name } = this.#options
    // A client that is gone, or was cut off by us, said nothing to refuse.
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const refusal: Refusal =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? 'head-too-large'
        : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
          ? 'too-slow'
          : 'malformed'
    const reply = refusedReply(name, refusal, error.code ?? error.message)
    const bytes = rawReply(reply)
    socket.end(bytes)
    events.emit({
      kind: 'request-ended',
      wallMs: clock.wallMs(),
      elapsedMs: 0,
      client: socket.remoteAddress ?? '',
      fromPeer: false,
      method: 'NONE',
      url: `error:${refusal}`,
      status: reply.head.status,
      outcome: reply.outcome,
      bytesToClient: bytes.length,
      bodyBytes: reply.bodyBytes,
      contentType: 'text/plain; charset=utf-8',
      server: undefined,
      aborted: false,
    })
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
      const reply = refusedReply(name, refusal, request.url!)
      status = reply.head.status
      socket.end(rawReply(reply))
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

function clientOf(request: IncomingMessage): string {
  // Undefined when the client has gone already.
  return request.socket.remoteAddress ?? ''
}

/** RFC 9112 §6.3: a request has a body when it says so. */
function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length']
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}
