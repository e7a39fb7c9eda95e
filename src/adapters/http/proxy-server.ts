import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { Fields } from '../../core/http/fields.ts'
import type { MountTable } from '../../core/http/mount-table.ts'
import { effectiveUrl } from '../../core/http/request-target.ts'
import { withoutForwardingClaims } from '../../core/http/forwarded-headers.ts'
import type { CacheProxy } from '../../proxy/cache-proxy.ts'
import { refusedReply, type Refusal } from '../../proxy/own-replies.ts'
import type { PeerTls } from '../../proxy/peer-tls.ts'
import type { Clock, EventSink, LiveBody } from '../../proxy/ports.ts'
import type { Outcome } from '../../proxy/proxy-event.ts'
import type { Reply } from '../../proxy/reply.ts'
import type { ClientAccess } from './client-access.ts'
import { newHttpServer } from './http-server.ts'
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
  readonly peerRoutes: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  /**
   * Given: this port is for peers alone. Whoever has no certificate of the authority gets no further than the handshake;
   * the others need not be among `access`.
   */
  readonly peersOnly?: PeerTls | undefined
  readonly clock: Clock
  readonly events: EventSink
  /** A connection on which nothing has moved for so long is closed: longer than any origin is waited for. */
  readonly idleMs: number
  /** A fault of our own: it ends one request, and should be heard of. */
  readonly reportFault: (error: unknown) => void
}

const CLOSE_IDLE_EVERY_MS = 20

/** The proxy port, or a port for peers over TLS: node:http before `CacheProxy`. */
export class ProxyServer {
  readonly #options: ProxyServerOptions
  readonly #server: Server | TlsServer
  #underWay = 0
  #closing = false

  constructor(options: ProxyServerOptions) {
    this.#options = options
    this.#server = newHttpServer(options.peersOnly)
    this.#server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#serve(request, response).catch((error: unknown) => {
        response.destroy()
        options.reportFault(error)
      })
    })
    this.#server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
      this.#turnAway(error, socket)
    })
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
      if (this.#isPeerOrClient(request)) await this.#options.peerRoutes(request, response)
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

  #isPeerOrClient(request: IncomingMessage): boolean {
    return this.#options.peersOnly !== undefined || this.#options.access.allows(clientOf(request))
  }

  /** A handshake that came to nothing. What it said is no one's word, but an operator looks for it here. */
  #turnAway(error: NodeJS.ErrnoException, socket: TLSSocket): void {
    const { authorizationError } = socket as { authorizationError?: unknown }
    // Gone, or a look at whether the port is open.
    if (authorizationError === undefined && error.code === 'ECONNRESET') return
    const reason = typeof authorizationError === 'string' ? authorizationError : (error.code ?? error.message)
    this.#options.events.emit({
      kind: 'peer-turned-away',
      peer: socket.remoteAddress ?? 'an address that has gone',
      cause: 'certificate',
      reason: `its certificate is not accepted, or it has none: ${reason}`,
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
    if (this.#options.peersOnly !== undefined) {
      const asksForWhatIsHeld = /\bonly-if-cached\b/i.test(request.headers['cache-control'] ?? '')
      const isRead = request.method === 'GET' || request.method === 'HEAD'
      if (target.startsWith('/') || !isRead || !asksForWhatIsHeld) return { refusal: 'peers-only' }
      return { url: effective.url, reverse: false }
    }
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
        : this.#options.peersOnly !== undefined
          ? 'peers-only'
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
