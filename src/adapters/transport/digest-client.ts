import type { KeyObject } from 'node:crypto'
import { FrameReader } from '../../core/digest/frame-reader.ts'
import type { Peer } from '../../core/peers/peer.ts'
import type { PartialSnapshot } from '../../proxy/partial-snapshot.ts'
import { FetchError, type DigestStreamHandler, type ProtocolVersion } from '../../proxy/ports.ts'
import { Deadline } from './deadline.ts'
import { FrameMac, TAG_BYTES } from './frame-mac.ts'
import type { PeerAnswer, PeerClient } from './peer-client.ts'
import { FRAMES_TYPE } from './peer-routes.ts'
import { isNonce, NONCE_FIELD } from './request-signature.ts'
import { readSnapshotBody } from './snapshot-reading.ts'

export interface DigestClientOptions {
  readonly client: PeerClient
  readonly key: KeyObject | undefined
  readonly versions: readonly ProtocolVersion[]
  readonly prefix: string
  readonly heartbeatMs: number
  readonly maxFrameBytes: number
}

/** Until a stream's first byte: a busy publisher answers within this, whatever the heartbeat. */
const LEAST_HEAD_MS = 2_000
const ASK_MS = 10_000
/** Frames that answer one want are together no larger than a snapshot, but for a heartbeat, prefixes and tags. */
const ANSWER_MARGIN_BYTES = 64 * 1024
const MAX_ANSWER_FRAMES = 256
/** A snapshot's bytes come within the first, or the rest is asked for by another request; the second is between them. */
const SNAPSHOT_MS = 60_000
const SNAPSHOT_IDLE_MS = 10_000
const DESCRIBE_MS = 2_000

/** Asks peers for their digests: the following side of the protocol over HTTP. */
export class DigestClient {
  readonly #options: DigestClientOptions

  constructor(options: DigestClientOptions) {
    this.#options = options
  }

  /** Reads a peer's stream in the newest version that both speak. Resolves with why it ended. */
  async follow(peer: Peer, want: Uint8Array, handler: DigestStreamHandler, signal: AbortSignal): Promise<string> {
    const { heartbeatMs, versions } = this.#options
    const deadline = new Deadline(signal, Math.max(3 * heartbeatMs, LEAST_HEAD_MS), 'answer')
    try {
      for (const version of versions.toSorted((a, b) => b - a)) {
        const end = await this.#follow(version, peer, want, handler, deadline)
        if (end !== 'unknown-route' || version === 1) return end === 'unknown-route' ? unknownAt(peer) : end
      }
      return unknownAt(peer)
    } catch (error) {
      return this.#options.client.failure(peer, error, signal).message
    } finally {
      deadline.end()
    }
  }

  async #follow(
    version: ProtocolVersion,
    peer: Peer,
    want: Uint8Array,
    handler: DigestStreamHandler,
    deadline: Deadline,
  ): Promise<string> {
    const { client, heartbeatMs } = this.#options
    const answer = await client.request(
      peer,
      {
        method: 'POST',
        path: this.#path(`v${version}/follow/${encodeURIComponent(peer.name)}`),
        body: want,
        fields: { 'content-type': FRAMES_TYPE },
        idleMs: 3 * heartbeatMs,
      },
      deadline.signal,
    )
    if (answer.status !== 200) {
      const refusal = await client.refusal(peer, answer)
      return refusal.status === 404 && refusal.isBelieved ? 'unknown-route' : refusal.text
    }
    deadline.lift()
    const mac = this.#frameMac(peer, answer)
    handler.opened(version)
    const reader = new FrameReader(this.#options.maxFrameBytes + (mac === undefined ? 0 : TAG_BYTES))
    for await (const chunk of answer.body) {
      for (const bytes of reader.push(chunk)) {
        handler.frame(provedFrame(bytes, mac))
        // Closed by what it has just been told: the rest of the chunk is not for it.
        if (deadline.signal.aborted) break
      }
    }
    return reader.atFrameEdge ? 'the stream ended' : 'the stream ended within a frame'
  }

  /** @throws {FetchError} */
  async ask(peer: Peer, want: Uint8Array, signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const { client, maxFrameBytes } = this.#options
    const deadline = new Deadline(signal, ASK_MS, 'whole answer')
    try {
      const answer = await client.request(
        peer,
        {
          method: 'POST',
          path: this.#path(`v2/want/${encodeURIComponent(peer.name)}`),
          body: want,
          fields: { 'content-type': FRAMES_TYPE },
          idleMs: ASK_MS,
        },
        deadline.signal,
      )
      if (answer.status !== 200) throw await this.#refused(peer, answer)
      const mac = this.#frameMac(peer, answer)
      const tagBytes = mac === undefined ? 0 : TAG_BYTES
      const reader = new FrameReader(maxFrameBytes + tagBytes)
      const maxAnswerBytes = maxFrameBytes + ANSWER_MARGIN_BYTES
      const frames: Uint8Array[] = []
      let size = 0
      for await (const chunk of answer.body) {
        size += chunk.length
        if (size > maxAnswerBytes) throw new FetchError('http_protocol_error', `${TOO_LONG} ${maxAnswerBytes} bytes`, 0)
        for (const bytes of reader.push(chunk)) frames.push(provedFrame(bytes, mac))
        if (frames.length > MAX_ANSWER_FRAMES) {
          throw new FetchError('http_protocol_error', `${TOO_LONG} ${MAX_ANSWER_FRAMES} frames`, 0)
        }
      }
      if (!reader.atFrameEdge) throw new FetchError('connection_terminated', 'its answer ended within a frame', 0)
      return frames
    } catch (error) {
      throw client.failure(peer, error, signal)
    } finally {
      deadline.end()
    }
  }

  /** @throws {FetchError} */
  async readSnapshot(peer: Peer, partial: PartialSnapshot, signal: AbortSignal): Promise<void> {
    const { client, key } = this.#options
    const { receivedBytes, tag } = partial
    const path = this.#path(`v2/digest/${encodeURIComponent(peer.name)}`)
    const goesOn = tag !== undefined && receivedBytes > 0
    const deadline = new Deadline(signal, SNAPSHOT_MS, 'whole snapshot')
    try {
      const answer = await client.request(
        peer,
        {
          method: 'GET',
          path,
          ...(goesOn && { fields: { range: `bytes=${receivedBytes}-`, 'if-range': `"${tag}"` } }),
          idleMs: SNAPSHOT_IDLE_MS,
        },
        deadline.signal,
      )
      if (answer.status !== 200 && answer.status !== 206) {
        // What we have is no part of what it has now.
        if (answer.status === 416) partial.drop()
        throw await this.#refused(peer, answer)
      }
      await readSnapshotBody(answer, partial, path, key)
    } catch (error) {
      throw client.failure(peer, error, signal)
    } finally {
      deadline.end()
    }
  }

  /**
   * What a peer says of itself.
   * @throws {FetchError}
   */
  async describe(peer: Peer, maxBytes: number, signal: AbortSignal): Promise<string> {
    const { client, versions } = this.#options
    const deadline = new Deadline(signal, DESCRIBE_MS, 'description')
    try {
      let refusal = unknownAt(peer)
      for (const version of versions.toSorted((a, b) => b - a)) {
        const path = this.#path(`v${version}/status`)
        const answer = await client.request(peer, { method: 'GET', path, idleMs: DESCRIBE_MS }, deadline.signal)
        if (answer.status === 200) return Buffer.from(await client.readBody(answer, maxBytes)).toString()
        const { isBelieved, status, text } = await client.refusal(peer, answer)
        refusal = text
        if (status !== 404 || !isBelieved) break
      }
      throw new FetchError('http_protocol_error', refusal, 0)
    } catch (error) {
      throw client.failure(peer, error, signal)
    } finally {
      deadline.end()
    }
  }

  async #refused(peer: Peer, answer: PeerAnswer): Promise<FetchError> {
    const { text } = await this.#options.client.refusal(peer, answer)
    return new FetchError('http_protocol_error', text, 0)
  }

  /** What proves the frames of an answer; undefined where no key is shared. */
  #frameMac(peer: Peer, answer: PeerAnswer): FrameMac | undefined {
    const { key } = this.#options
    if (key === undefined || answer.nonce === undefined) return undefined
    const nonce = answer.field(NONCE_FIELD)
    if (nonce !== undefined && isNonce(nonce)) return new FrameMac(key, answer.nonce, nonce)
    answer.cancel()
    throw new FetchError('http_protocol_error', `${peer.url} does not sign its frames: has it our cluster.key?`, 0)
  }

  #path(route: string): string {
    return this.#options.prefix + route
  }
}

const TOO_LONG = 'its answer to a want is longer than any can be: more than'

function unknownAt({ url }: Peer): string {
  return `${url} knows no route of a version that we speak: is it a summary-cache proxy?`
}

function provedFrame(bytes: Uint8Array, mac: FrameMac | undefined): Uint8Array {
  if (mac === undefined) return bytes
  const frame = mac.untagged(bytes)
  if (frame !== undefined) return frame
  throw new FetchError('http_protocol_error', 'a frame whose tag does not hold: it was changed or put elsewhere', 0)
}
