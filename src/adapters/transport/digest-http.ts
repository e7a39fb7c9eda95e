import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent, type Dispatcher } from 'undici'
import { encodeLengthPrefix, FrameReader } from '../../core/digest/frame-reader.ts'
import type { Peer } from '../../core/peers/peer.ts'
import { MalformedMessageError } from '../../core/protocol/malformed-message-error.ts'
import type { DigestStream, DigestStreamHandler, DigestTransport } from '../../proxy/ports.ts'

export interface DigestHttpOptions {
  /** Ours: a peer that asks for another's digest has been misled by a reused address. */
  readonly name: string
  /** A stream on which nothing has come for three of these is given up. */
  readonly heartbeatMs: number
  readonly maxFrameBytes: number
  /** The path under which the routes live, ending in `/`. */
  readonly prefix: string
}

/** What the routes give away; wired in once the parts exist. */
export interface DigestSource {
  /** The frames a new follower is sent first. @throws {MalformedMessageError} */
  answer(want: Uint8Array): readonly Uint8Array[]
  snapshot(): Uint8Array
  /** A JSON document about this proxy, for the cluster view of the others. */
  describe(): string
}

const FRAMES_TYPE = 'application/vnd.summary-cache.frames'
/** A want frame is 26 bytes; more is not one. */
const MAX_WANT_BYTES = 64
/** A connection each, and a copy of every frame in its buffer. */
const MAX_FOLLOWERS = 256
// A follower that does not read is cut off when this much waits for it beyond one snapshot: it will ask for what it
// lacks when it is back.
const MAX_UNREAD_BYTES = 1024 * 1024
const CONNECT_TIMEOUT_MS = 1_000
const DESCRIBE_TIMEOUT_MS = 1_000

/**
 * Digest frames over HTTP, on the proxy port. A peer follows our digest by `POST {prefix}v1/follow/{our name}` with a
 * want frame; the response lasts, and carries frames, each behind its length (docs/protocol.md).
 */
export class DigestHttp implements DigestTransport {
  readonly #options: DigestHttpOptions
  readonly #agent: Agent
  readonly #followers = new Set<ServerResponse>()
  #closing = false

  constructor(options: DigestHttpOptions) {
    this.#options = options
    this.#agent = new Agent({
      bodyTimeout: 3 * options.heartbeatMs,
      headersTimeout: 3 * options.heartbeatMs,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      pipelining: 0,
    })
  }

  get followerCount(): number {
    return this.#followers.size
  }

  broadcast(frame: Uint8Array): number {
    const bytes = encodeLengthPrefix(frame)
    const limit = this.#options.maxFrameBytes + MAX_UNREAD_BYTES
    for (const follower of this.#followers) {
      if (follower.writableLength > limit) follower.destroy()
      else follower.write(bytes)
    }
    return this.#followers.size
  }

  follow(peer: Peer, want: Uint8Array, handler: DigestStreamHandler): DigestStream {
    const stop = new AbortController()
    void this.#read(peer, want, handler, stop.signal).then((reason) => handler.closed(reason))
    return { close: () => stop.abort() }
  }

  /** Resolves with why the stream ended. */
  async #read(peer: Peer, want: Uint8Array, handler: DigestStreamHandler, signal: AbortSignal): Promise<string> {
    const reader = new FrameReader(this.#options.maxFrameBytes)
    let answer: Dispatcher.ResponseData | undefined
    try {
      answer = await this.#agent.request({
        origin: peer.url,
        path: `${this.#options.prefix}v1/follow/${encodeURIComponent(peer.name)}`,
        method: 'POST',
        headers: { 'content-type': FRAMES_TYPE },
        body: want,
        signal,
      })
      if (answer.statusCode !== 200) {
        await answer.body.dump()
        return refusalOf(peer, answer.statusCode)
      }
      handler.opened()
      for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
        for (const frame of reader.push(chunk)) handler.frame(frame)
      }
      return 'the stream ended'
    } catch (error) {
      if (signal.aborted) return 'closed'
      if (error instanceof MalformedMessageError) return error.message
      return (error as Error).message || String((error as NodeJS.ErrnoException).code)
    }
  }

  /** What a peer says of itself. @throws when it cannot be had */
  async describe(peer: Peer, maxBytes: number, signal: AbortSignal): Promise<string> {
    const answer = await this.#agent.request({
      origin: peer.url,
      path: `${this.#options.prefix}v1/status`,
      method: 'GET',
      signal: AbortSignal.any([signal, AbortSignal.timeout(DESCRIBE_TIMEOUT_MS)]),
    })
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
      size += chunk.length
      if (size > maxBytes) throw new Error(`more than ${maxBytes} bytes`)
      chunks.push(chunk)
    }
    if (answer.statusCode !== 200) throw new Error(`it answered ${answer.statusCode}`)
    return Buffer.concat(chunks).toString()
  }

  /** The peers' routes on the proxy port. */
  routes(source: DigestSource): (request: IncomingMessage, response: ServerResponse) => void {
    const { name, prefix } = this.#options
    const follow = 'POST v1/follow/'
    return (request, response) => {
      response.on('error', () => response.destroy())
      const route = `${request.method} ${request.url!.slice(prefix.length)}`
      if (route === follow + encodeURIComponent(name)) this.#accept(request, response, source)
      else if (route.startsWith(follow)) send(response, 421, 'text/plain', `this is ${name}\n`)
      else if (route === 'GET v1/digest') send(response, 200, FRAMES_TYPE, source.snapshot())
      else if (route === 'GET v1/status') send(response, 200, 'application/json', source.describe())
      else send(response, 404, 'text/plain', `no ${route} here: this path is for the proxies of a cluster\n`)
    }
  }

  #accept(request: IncomingMessage, response: ServerResponse, source: DigestSource): void {
    // It comes back at once over the connection whose stream has just ended.
    if (this.#closing) {
      send(response, 503, 'text/plain', 'stopping\n')
      return
    }
    if (this.#followers.size >= MAX_FOLLOWERS) {
      send(response, 503, 'text/plain', `${MAX_FOLLOWERS} followers are the limit\n`)
      return
    }
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= MAX_WANT_BYTES) chunks.push(chunk)
    })
    request.on('end', () => {
      try {
        const frames = source.answer(Buffer.concat(chunks, Math.min(size, MAX_WANT_BYTES)))
        request.socket.setTimeout(0)
        response.writeHead(200, { 'content-type': FRAMES_TYPE, 'cache-control': 'no-store' })
        for (const frame of frames) response.write(encodeLengthPrefix(frame))
        this.#followers.add(response)
        response.once('close', () => this.#followers.delete(response))
      } catch (error) {
        if (!(error instanceof MalformedMessageError)) throw error
        send(response, 400, 'text/plain', `${error.message}\n`)
      }
    })
  }

  /** Ends every stream, after what has been broadcast. */
  async close(): Promise<void> {
    this.#closing = true
    for (const follower of this.#followers) follower.end()
    await this.#agent.destroy()
  }
}

function refusalOf({ name, url }: Peer, status: number): string {
  if (status === 421) return `${url} is not ${name}: another proxy has its address, or is called otherwise`
  if (status === 403) return `${url} refuses us its digest: are we among its access.clients?`
  return `${url} answered ${status} to the request for its digest: is it a summary-cache proxy of our version?`
}

function send(response: ServerResponse, status: number, type: string, body: Uint8Array | string): void {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  response.writeHead(status, { 'content-type': type, 'content-length': bytes.length, 'cache-control': 'no-store' })
  response.end(bytes)
}
