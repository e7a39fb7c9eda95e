import type { CacheKey } from '../core/http/cache-key.ts'
import type { Fields } from '../core/http/fields.ts'
import type { RequestHead, ResponseHead } from '../core/http/message-head.ts'
import type { StoredHead } from '../core/http/stored-head.ts'
import type { DirectoryEntry } from '../core/directory/cache-directory.ts'
import type { Peer } from '../core/peers/peer.ts'
import type { PartialSnapshot } from './partial-snapshot.ts'
import type { DatagramDrop, ProxyEvent } from './proxy-event.ts'

// What the proxy needs of the world. `B` is a body, which the proxy never looks into: bytes or a stream
// of them when live, a byte count when simulated.

/** A live body: whole, or as it comes. */
export type LiveBody = Uint8Array | AsyncIterable<Uint8Array>

export interface Clock {
  /** Milliseconds since 1970, for dates only: it may step. */
  wallMs(): number
  /** Milliseconds since some fixed moment, never backwards: for ages, pauses and durations. */
  monotonicMs(): number
  /** Resolves after `ms`, or at once when the signal is aborted. Never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export interface Random {
  /** Uniform in [0, 1). */
  next(): number
}

export interface StoredResponse<B> {
  readonly stored: StoredHead
  /** Undefined until the length is known. */
  readonly bodyBytes: number | undefined
  /** A reader of its own; ending it, or `release`, gives back what it held. */
  readonly body: B
  release(): void
}

/** A response on its way into the store. It can be read from the first byte on, by any number of readers. */
export interface Filling<B> {
  readonly stored: StoredHead
  /**
   * Takes the body in, as fast as it comes. Resolves when it is whole and admitted ('committed'), or when it was
   * given up: the source failed or was longer or shorter than announced ('failed'), nobody reads any more
   * ('unread'), or it has outgrown what may be stored ('too-large': readers still get all of it, at their pace).
   */
  fill(body: B): Promise<FillOutcome>
  /** Another reader, from the first byte; undefined once that byte is gone ('too-large'). */
  open(): StoredResponse<B> | undefined
  /** No source will come: readers get an error and what was held is freed. */
  abort(): void
}

export type FillOutcome = 'committed' | 'failed' | 'unread' | 'too-large'

export interface CacheStore<B> {
  /** Memory only, hence not async. The variant that `request`'s fields select. Does not tell the eviction policy. */
  find(key: CacheKey, request: Fields): DirectoryEntry | undefined
  /** Undefined when it was evicted meanwhile. Tells the eviction policy of the hit. */
  open(entry: DirectoryEntry): Promise<StoredResponse<B> | undefined>
  /** Undefined when a body of `bodyBytes` (undefined: not known) may not be stored at all. */
  reserve(key: CacheKey, stored: StoredHead, bodyBytes: number | undefined): Filling<B> | undefined
  /** After a 304: a new head for a stored body. */
  refresh(entry: DirectoryEntry, stored: StoredHead): void
  /** How many variants of the key are held, whatever the request. */
  variantCount(key: CacheKey): number
  /** Every variant of the key. Returns how many went. */
  purge(key: CacheKey): number
}

export interface FetchedResponse<B> {
  readonly head: ResponseHead
  /** Undefined when the response has none (HEAD, 204, 304). Must be read to its end or cancelled. */
  readonly body: B | undefined
  /** From Content-Length; undefined when the sender did not say. */
  readonly bodyBytes: number | undefined
  /** Application bytes of the request's and the response's heads as sent, for accounting. */
  readonly requestHeadBytes: number
  readonly responseHeadBytes: number
  /** Frees the connection without reading on. */
  cancel(): void
}

/** Why an origin or a peer gave no response. */
export class FetchError extends Error {
  override readonly name = 'FetchError'
  readonly code: FetchErrorCode
  /** Of the head that was sent in vain; 0 when nothing was sent. */
  readonly requestHeadBytes: number
  constructor(code: FetchErrorCode, message: string, requestHeadBytes: number, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.requestHeadBytes = requestHeadBytes
  }
}

/** Names after RFC 9209 proxy error types. */
export type FetchErrorCode =
  | 'dns_error'
  | 'connection_refused'
  | 'connection_timeout'
  | 'connection_terminated'
  | 'http_response_timeout'
  | 'http_protocol_error'
  | 'tls_error'
  | 'cancelled'

export interface Origin<B> {
  /** @throws {FetchError} */
  fetch(request: RequestHead, body: B | undefined, signal: AbortSignal): Promise<FetchedResponse<B>>
}

export interface PeerFetch<B> {
  /**
   * Asks one peer with the request as given (the caller has added only-if-cached).
   * @param timeoutMs to the head of its answer, at most
   * @throws {FetchError} also when no head came within that time, or the peer's own
   */
  fetch(peer: Peer, request: RequestHead, signal: AbortSignal, timeoutMs: number): Promise<FetchedResponse<B>>
}

/** Carries digest frames. What they say is the protocol's business. */
export interface DigestTransport {
  /** To every peer that follows our digest; returns how many it went to. */
  broadcast(frame: Uint8Array): number
  /** Opens (or opens again) the stream of a peer's digest, telling it what we have. */
  follow(peer: Peer, want: Uint8Array, handler: DigestStreamHandler): DigestStream
  /**
   * The frames that answer a want, apart from the stream. Protocol version 2.
   * @throws {FetchError}
   */
  ask(peer: Peer, want: Uint8Array, signal: AbortSignal): Promise<readonly Uint8Array[]>
  /**
   * Reads the peer's snapshot, from the start or on from what `partial` has. Protocol version 2.
   * @throws {FetchError} it broke off; what has come is in `partial`
   */
  readSnapshot(peer: Peer, partial: PartialSnapshot, signal: AbortSignal): Promise<void>
}

/** The protocol's versions: `follow` speaks the newest that both know. */
export const PROTOCOL_VERSIONS = [1, 2] as const
export type ProtocolVersion = (typeof PROTOCOL_VERSIONS)[number]

export interface DigestStreamHandler {
  opened(version: ProtocolVersion): void
  frame(bytes: Uint8Array): void
  /** Why the stream ended. Called once, the last call. */
  closed(reason: string): void
}

export interface DigestStream {
  close(): void
}

/** What a transport gives away of our own digest. */
export interface DigestSource {
  /**
   * Hands `deliver` the frames that answer a want. Who follows is to be counted among the followers within that call:
   * then nothing published later is missed, or sent twice.
   *
   * @param asker who asks, by name or address: bounds are kept for each
   * @param version 1: a snapshot comes among the frames; 2: a heartbeat names the state, and the snapshot is fetched
   * @throws {MalformedMessageError} it is no want
   * @throws {BudgetError} the asker has had its share for now
   */
  answer(
    asker: string,
    want: Uint8Array,
    version: ProtocolVersion,
    deliver: (frames: readonly Uint8Array[]) => void,
  ): Promise<void>
  /**
   * An encoded snapshot: that of `tag` while it is kept (half a minute at least), else of the state published last.
   * @throws {BudgetError}
   */
  snapshot(asker: string, tag: string | undefined): Promise<EncodedSnapshot>
}

export interface EncodedSnapshot {
  /** `incarnation.generation.sequence` */
  readonly tag: string
  readonly frame: Uint8Array
}

/** A peer has asked for more than its share. */
export class BudgetError extends Error {
  override readonly name = 'BudgetError'
  readonly code = 'BUDGET'
  readonly retryAfterMs: number
  constructor(message: string, retryAfterMs: number) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}

/** Carries datagrams to and from peers, by their names. Nobody learns whether one arrives. */
export interface DatagramPort {
  /** @param receive gets each datagram of an admitted peer */
  start(receive: (peer: string, bytes: Uint8Array) => void): void
  /** Its datagrams come from that `host:port`, and ours go there; all others are counted and not read. */
  admit(peer: string, address: string): void
  dismiss(peer: string): void
  send(peer: string, bytes: Uint8Array): void
  /** What came to nothing since it was asked last. */
  takeDropped(): Readonly<Partial<Record<DatagramDrop, number>>>
}

/** A peer's whole digest of the paper's wire. 'unserved': it lives and has none to give. */
export type PaperDigestAnswer =
  | {
      readonly kind: 'digest'
      readonly filter: Uint8Array
      /** Of the last datagram that it holds; undefined when it does not say. */
      readonly requestNumber: number | undefined
      readonly requestBytes: number
    }
  | { readonly kind: 'unserved' }
  | { readonly kind: 'failed'; readonly reason: string }

export interface PaperDigestFetch {
  /** Never rejects. */
  fetch(peer: Peer, signal: AbortSignal): Promise<PaperDigestAnswer>
}

/** Follows peers over one transport. */
export interface PeerFollowing {
  /** False: the table is full or the name is taken. */
  follow(peer: Peer): boolean
  /** False: no peer of this name. */
  leave(name: string): boolean
}

export interface EventSink {
  emit(event: ProxyEvent): void
}
