import type { IncomingMessage, ServerResponse } from 'node:http'
import { encodeLengthPrefix } from '../../core/digest/frame-reader.ts'
import { MAX_PEERS } from '../../core/peers/peer-table.ts'
import { MalformedMessageError } from '../../core/protocol/malformed-message-error.ts'
import { BudgetError, type DigestSource, type ProtocolVersion } from '../../proxy/ports.ts'

/** What the routes give away; wired in once the parts exist. */
export interface DigestRoutesSource {
  readonly digests: DigestSource
  /** A JSON document about this proxy, for the cluster view of the others. */
  describe(): string
}

export interface DigestRoutesOptions {
  /** Ours: a peer that asks for another's digest has been misled by a reused address. */
  readonly name: string
  readonly maxFrameBytes: number
  /** The path under which the routes live, ending in `/`. */
  readonly prefix: string
  /** Of the protocol, to be spoken. */
  readonly versions: readonly ProtocolVersion[]
}

export const FRAMES_TYPE = 'application/vnd.summary-cache.frames'
/** Who asks, by name: what it asks for is counted for it. */
export const ASKER_FIELD = 'summary-cache-proxy'
/** A want frame is 30 bytes at most; more is not one. */
const MAX_WANT_BYTES = 64
// A follower that does not read is cut off when this much waits for it beyond one snapshot: it will ask for what it
// lacks when it is back.
const MAX_UNREAD_BYTES = 1024 * 1024
const MAX_NAME_LENGTH = 64

/** The peers' side of the proxy port: our digest, given away as docs/protocol.md says. */
export class DigestRoutes {
  readonly #options: DigestRoutesOptions
  readonly #followers = new Set<ServerResponse>()
  #cutOffCount = 0
  #closing = false

  constructor(options: DigestRoutesOptions) {
    this.#options = options
  }

  get followerCount(): number {
    return this.#followers.size
  }

  /** Followers that read too slowly, so far. */
  get cutOffCount(): number {
    return this.#cutOffCount
  }

  /** Returns how many followers it went to. */
  broadcast(frame: Uint8Array): number {
    const bytes = encodeLengthPrefix(frame)
    const limit = this.#options.maxFrameBytes + MAX_UNREAD_BYTES
    for (const follower of this.#followers) {
      if (follower.writableLength > limit) {
        this.#cutOffCount++
        this.#followers.delete(follower)
        follower.destroy()
      } else {
        follower.write(bytes)
      }
    }
    return this.#followers.size
  }

  /** Ends every stream, after what has been broadcast. */
  close(): void {
    this.#closing = true
    for (const follower of this.#followers) follower.end()
  }

  handler(source: DigestRoutesSource): (request: IncomingMessage, response: ServerResponse) => void {
    return (request, response) => {
      response.on('error', () => response.destroy())
      void this.#answer(request, response, source)
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, source: DigestRoutesSource): Promise<void> {
    try {
      await this.#route(request, response, source)
    } catch (error) {
      if (error instanceof BudgetError) {
        response.setHeader('retry-after', Math.ceil(error.retryAfterMs / 1_000))
        send(response, 429, 'text/plain', `${error.message}\n`)
      } else if (error instanceof MalformedMessageError) {
        send(response, 400, 'text/plain', `${error.message}\n`)
      } else {
        throw error
      }
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse, source: DigestRoutesSource): Promise<void> {
    const [version, what, name] = this.#pathOf(request)
    const route = `${request.method} ${what}`
    if (version === undefined) return notFound(response, request)
    // It comes back at once over the connection whose stream has just ended.
    if (this.#closing) return send(response, 503, 'text/plain', 'stopping\n')
    if (route === 'GET status') return send(response, 200, 'application/json', source.describe())
    if (version === 1 && route === 'GET digest') return this.#wholeDigest(request, response, source)
    if (name !== this.#options.name) {
      return name === undefined
        ? notFound(response, request)
        : send(response, 421, 'text/plain', `this is ${this.#options.name}\n`)
    }
    if (route === 'POST follow') return this.#accept(request, response, source, version)
    if (version === 2 && route === 'POST want') return this.#answerWant(request, response, source)
    if (version === 2 && route === 'GET digest') return this.#digest(request, response, source)
    notFound(response, request)
  }

  /** `v2/follow/a` as 2, 'follow' and 'a'. */
  #pathOf(request: IncomingMessage): [ProtocolVersion | undefined, string, string | undefined] {
    const [version, what = '', name] = request.url!.slice(this.#options.prefix.length).split('/')
    const spoken = this.#options.versions.find((known) => version === `v${known}`)
    return [spoken, what, name === undefined ? undefined : decoded(name)]
  }

  async #accept(
    request: IncomingMessage,
    response: ServerResponse,
    source: DigestRoutesSource,
    version: ProtocolVersion,
  ): Promise<void> {
    if (this.#followers.size >= MAX_PEERS) {
      return send(response, 503, 'text/plain', `${MAX_PEERS} followers are the limit\n`)
    }
    const want = await wantOf(request)
    await source.digests.answer(askerOf(request), want, version, (frames) => {
      if (response.destroyed) return
      request.socket.setTimeout(0)
      response.writeHead(200, { 'content-type': FRAMES_TYPE, 'cache-control': 'no-store' })
      for (const frame of frames) response.write(encodeLengthPrefix(frame))
      this.#followers.add(response)
      response.once('close', () => this.#followers.delete(response))
    })
  }

  async #answerWant(request: IncomingMessage, response: ServerResponse, source: DigestRoutesSource): Promise<void> {
    const want = await wantOf(request)
    await source.digests.answer(askerOf(request), want, 2, (frames) => {
      send(response, 200, FRAMES_TYPE, Buffer.concat(frames.map((frame) => encodeLengthPrefix(frame))))
    })
  }

  async #wholeDigest(request: IncomingMessage, response: ServerResponse, source: DigestRoutesSource): Promise<void> {
    const { frame } = await source.digests.snapshot(askerOf(request), undefined)
    send(response, 200, FRAMES_TYPE, frame)
  }

  async #digest(request: IncomingMessage, response: ServerResponse, source: DigestRoutesSource): Promise<void> {
    const { headers } = request
    const range = /^bytes=(\d{1,15})-$/.exec(headers.range ?? '')
    const wanted = /^"([\d.]{1,60})"$/.exec(String(headers['if-range']))?.[1]
    const { frame, tag } = await source.digests.snapshot(askerOf(request), wanted)
    response.setHeader('etag', `"${tag}"`)
    response.setHeader('accept-ranges', 'bytes')
    // A range of another state's snapshot would be of no use (RFC 9110 §13.1.5): the whole is sent.
    const from = range !== null && wanted === tag ? Number(range[1]) : 0
    if (from === 0) return send(response, 200, FRAMES_TYPE, frame)
    if (from >= frame.length) {
      response.setHeader('content-range', `bytes */${frame.length}`)
      return send(response, 416, 'text/plain', 'nothing is left\n')
    }
    response.setHeader('content-range', `bytes ${from}-${frame.length - 1}/${frame.length}`)
    send(response, 206, FRAMES_TYPE, frame.subarray(from))
  }
}

function askerOf(request: IncomingMessage): string {
  const said = request.headers[ASKER_FIELD]
  const address = request.socket.remoteAddress ?? ''
  return typeof said === 'string' && said.length <= MAX_NAME_LENGTH ? said : address
}

/** The body of a want; one that is too long is cut, and refused when it is read. */
async function wantOf(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > MAX_WANT_BYTES) throw new MalformedMessageError('want', MAX_WANT_BYTES, 'longer than any want')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch (error) {
    if (error instanceof URIError) return ''
    throw error
  }
}

function notFound(response: ServerResponse, request: IncomingMessage): void {
  const path = request.url!.slice(0, 100)
  send(response, 404, 'text/plain', `no ${request.method} ${path} here: this path is for the proxies of a cluster\n`)
}

function send(response: ServerResponse, status: number, type: string, body: Uint8Array | string): void {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  response.writeHead(status, { 'content-type': type, 'content-length': bytes.length, 'cache-control': 'no-store' })
  response.end(bytes)
}
