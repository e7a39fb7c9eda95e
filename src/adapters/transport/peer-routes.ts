import assert from 'node:assert'
import { randomBytes, type KeyObject } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { MalformedMessageError } from '../../core/protocol/malformed-message-error.ts'
import { BudgetError, type Clock, type DigestSource, type EventSink, type ProtocolVersion } from '../../proxy/ports.ts'
import type { TurnedAwayCause } from '../../proxy/proxy-event.ts'
import { contentRange, entityTag, requestedRange, type ByteRange } from './byte-range.ts'
import { lengthPrefix, MAX_FOLLOWERS, type FollowerTable } from './follower-table.ts'
import { frameHash } from './frame-hash.ts'
import { FrameMac } from './frame-mac.ts'
import { writePaced } from './paced-writing.ts'
import { askedRoute, type PeerRoute } from './peer-route.ts'
import { RequestGuard } from './request-guard.ts'
import { answerMac, MAC_FIELD, NONCE_BYTES, NONCE_FIELD, snapshotMac } from './request-signature.ts'
import { readWant } from './want-body.ts'

export const FRAMES_TYPE = 'application/vnd.summary-cache.frames'

export interface PeerRoutesOptions {
  /** Ours: a peer that asks for another's digest has been misled by a reused address. */
  readonly name: string
  /** The path under which the routes live, ending in `/`. */
  readonly prefix: string
  readonly versions: readonly ProtocolVersion[]
  /** Undefined: whoever reaches the routes may use them. */
  readonly key: KeyObject | undefined
  readonly clock: Clock
  readonly events: EventSink
  readonly followers: FollowerTable
}

/** Whose request it is. */
interface Caller {
  /** By name or address. */
  readonly asker: string
  /** Of the request's signature. */
  readonly nonce: string | undefined
}

const NO_BYTES = new Uint8Array(0)
/** After a fault of ours, and with all places taken. */
const BUSY_RETRY_S = '5'

/** Gives away our digest, and our description, to the peers that ask for them (docs/protocol.md, "Over HTTP"). */
export class PeerRoutes {
  readonly #options: PeerRoutesOptions
  readonly #source: DigestSource
  readonly #describe: () => string
  readonly #guard: RequestGuard | undefined
  /** Of frames that are kept for a while and asked for again and again. */
  readonly #hashes = new WeakMap<Uint8Array, Promise<string>>()
  #closing = false

  /** @param describe a JSON document about this proxy, for the cluster view of the others */
  constructor(options: PeerRoutesOptions, source: DigestSource, describe: () => string) {
    this.#options = options
    this.#source = source
    this.#describe = describe
    this.#guard = options.key && new RequestGuard(options.key, options.clock)
  }

  /** From now on nobody is taken in who comes back at once over the connection whose stream has just ended. */
  close(): void {
    this.#closing = true
  }

  /** Resolves once the answer is written or given up, or its stream lasts. Rejects with faults of our own only. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => response.destroy())
    const { name, prefix } = this.#options
    const method = request.method!
    const path = request.url!
    const route = askedRoute(method, path.slice(prefix.length), this.#options.versions)
    const want = method === 'POST' ? await readWant(request) : ({ kind: 'bytes', bytes: NO_BYTES } as const)
    if (want.kind === 'gone') return
    const unsigned: Caller = { asker: askerOf(request), nonce: undefined }
    if (want.kind !== 'bytes') {
      response.shouldKeepAlive = false
      this.#turnAway(response, unsigned, 400, 'malformed', 'that is no want: it is too long or too slow')
      return
    }
    let caller = unsigned
    if (this.#guard !== undefined) {
      const meant = route.publisher ?? name
      const facts = { method, path, publisher: meant, body: want.bytes }
      const admission = this.#guard.admit(request.headers.authorization, facts)
      if (admission.kind === 'refused') {
        this.#turnAway(response, unsigned, 401, 'signature', admission.problem, { 'www-authenticate': 'Summary-Cache' })
        return
      }
      caller = admission
    }
    if (route.publisher !== undefined && route.publisher !== name) {
      this.#say(response, caller, 421, `this is ${name}`)
      return
    }
    try {
      await this.#answer(route, path, caller, want.bytes, request, response)
    } catch (error) {
      if (error instanceof MalformedMessageError) {
        this.#turnAway(response, caller, 400, 'malformed', error.message)
      } else if (error instanceof BudgetError) {
        const retryAfter = `${Math.max(1, Math.ceil(error.retryAfterMs / 1000))}`
        this.#turnAway(response, caller, 429, 'share', error.message, { 'retry-after': retryAfter })
      } else {
        this.#say(response, caller, 500, 'a fault of this proxy; its log says more')
        throw error
      }
    }
  }

  async #answer(
    route: PeerRoute,
    path: string,
    caller: Caller,
    want: Uint8Array,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    switch (route.kind) {
      case 'follow':
        return this.#follow(route.version, caller, want, request, response)
      case 'want':
        return this.#want(caller, want, response)
      case 'digest':
        return this.#digest(path, caller, request, response)
      case 'status':
        this.#send(response, caller, 200, 'application/json', Buffer.from(this.#describe()))
        return
      case 'none':
        this.#say(response, caller, 404, `no ${route.asked} here: this path is for the proxies of a cluster`)
    }
  }

  async #follow(
    version: ProtocolVersion,
    caller: Caller,
    want: Uint8Array,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { followers } = this.#options
    if (this.#closing) {
      this.#say(response, caller, 503, 'stopping', { 'retry-after': BUSY_RETRY_S })
      return
    }
    if (!followers.reserve()) {
      const problem = `${MAX_FOLLOWERS} followers are the limit`
      this.#turnAway(response, caller, 503, 'full', problem, { 'retry-after': BUSY_RETRY_S })
      return
    }
    try {
      await this.#source.answer(caller.asker, want, version, (frames) => {
        if (response.destroyed || this.#closing) return
        // Silent by nature: its heartbeats find out whether it is there.
        request.socket.setTimeout(0)
        const mac = this.#beginFrames(response, caller)
        followers.add({ asker: caller.asker, version, response, mac }, frames)
        // With frames the head goes in their packet.
        if (frames.length === 0) response.flushHeaders()
      })
    } finally {
      followers.release()
    }
    if (this.#closing && !response.headersSent) this.#say(response, caller, 503, 'stopping')
    assert(response.headersSent || response.destroyed, 'a want was neither answered nor refused')
  }

  async #want(caller: Caller, want: Uint8Array, response: ServerResponse): Promise<void> {
    let answer: readonly Uint8Array[] | undefined
    await this.#source.answer(caller.asker, want, 2, (frames) => {
      answer = frames
    })
    assert(answer !== undefined, 'a want was neither answered nor refused')
    if (response.destroyed) return
    const mac = this.#beginFrames(response, caller)
    const parts: Uint8Array[] = []
    for (const frame of answer) {
      parts.push(lengthPrefix(frame, { mac }), frame)
      if (mac !== undefined) parts.push(mac.tag(frame))
    }
    await this.#write(response, caller, parts)
  }

  async #digest(path: string, caller: Caller, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const wantedTag = entityTag(request.headersDistinct['if-range']?.[0])
    const { frame, tag } = await this.#source.snapshot(caller.asker, wantedTag)
    const etag = `"${tag}"`
    const mac = await this.#snapshotMac(path, etag, frame)
    if (response.destroyed) return
    const fields = {
      'content-type': FRAMES_TYPE,
      'cache-control': 'no-store',
      'accept-ranges': 'bytes',
      etag,
      ...(mac !== undefined && { [MAC_FIELD]: mac }),
    }
    const range = rangeOf(request, tag, frame.length)
    if (range === 'unsatisfiable') {
      const all = { 'content-range': `bytes */${frame.length}` }
      this.#say(response, caller, 416, `it has ${frame.length} bytes`, all)
      return
    }
    const { end, from } = range ?? { from: 0, end: frame.length }
    response.writeHead(range === undefined ? 200 : 206, {
      ...fields,
      'content-length': end - from,
      ...(range !== undefined && { 'content-range': contentRange(range, frame.length) }),
    })
    await this.#write(response, caller, [frame.subarray(from, end)])
  }

  #snapshotMac(path: string, etag: string, frame: Uint8Array): Promise<string> | undefined {
    const { key } = this.#options
    if (key === undefined) return undefined
    let hash = this.#hashes.get(frame)
    if (hash === undefined) this.#hashes.set(frame, (hash = frameHash(frame)))
    return hash.then((hex) => snapshotMac(key, path, etag, hex))
  }

  /** The head of an answer that consists of frames; what tags them, between proxies that share a key. */
  #beginFrames(response: ServerResponse, caller: Caller): FrameMac | undefined {
    const { key } = this.#options
    const head = { 'content-type': FRAMES_TYPE, 'cache-control': 'no-store' }
    if (key === undefined || caller.nonce === undefined) {
      response.writeHead(200, head)
      return undefined
    }
    const nonce = randomBytes(NONCE_BYTES).toString('hex')
    response.writeHead(200, { ...head, [NONCE_FIELD]: nonce })
    return new FrameMac(key, caller.nonce, nonce)
  }

  async #write(response: ServerResponse, { asker }: Caller, parts: readonly Uint8Array[]): Promise<void> {
    if ((await writePaced(response, parts)) === 'slow') {
      this.#report(asker, 'slow', 'it did not read the answer that it had asked for')
    }
  }

  #turnAway(
    response: ServerResponse,
    caller: Caller,
    status: number,
    cause: TurnedAwayCause,
    problem: string,
    fields: Readonly<Record<string, string>> = {},
  ): void {
    this.#report(caller.asker, cause, problem)
    this.#say(response, caller, status, problem, fields)
  }

  #report(peer: string, cause: TurnedAwayCause, reason: string): void {
    this.#options.events.emit({ kind: 'peer-turned-away', peer, cause, reason })
  }

  #say(
    response: ServerResponse,
    caller: Caller,
    status: number,
    text: string,
    fields: Readonly<Record<string, string>> = {},
  ): void {
    this.#send(response, caller, status, 'text/plain', Buffer.from(`${text}\n`), fields)
  }

  #send(
    response: ServerResponse,
    { nonce }: Caller,
    status: number,
    type: string,
    body: Uint8Array,
    fields: Readonly<Record<string, string>> = {},
  ): void {
    if (response.destroyed || response.headersSent) {
      response.destroy()
      return
    }
    const { key } = this.#options
    response.writeHead(status, {
      'content-type': type,
      'content-length': body.length,
      'cache-control': 'no-store',
      ...fields,
      ...(key !== undefined && nonce !== undefined && { [MAC_FIELD]: answerMac(key, nonce, status, body) }),
    })
    response.end(body)
  }
}

/** Only a range of the very state that is answered; without `If-Range`, of whatever state that is (RFC 9110 §13.1.5). */
function rangeOf(request: IncomingMessage, tag: string, totalBytes: number): ByteRange | 'unsatisfiable' | undefined {
  const { 'if-range': ifRange, range } = request.headersDistinct
  if (range?.length !== 1) return undefined
  if (ifRange !== undefined && (ifRange.length !== 1 || entityTag(ifRange[0]) !== tag)) return undefined
  return requestedRange(range[0]!, totalBytes)
}

/** What it calls itself, or where it comes from. */
function askerOf(request: IncomingMessage): string {
  const [name] = request.headersDistinct['summary-cache-proxy'] ?? []
  if (name !== undefined && /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/.test(name)) return name
  return request.socket.remoteAddress ?? ''
}
