import type { Peer } from '../core/peers/peer.ts'
import { MalformedMessageError } from '../core/protocol/malformed-message-error.ts'
import type { PartialSnapshot } from '../proxy/partial-snapshot.ts'
import {
  BudgetError,
  FetchError,
  type DigestSource,
  type DigestStream,
  type DigestStreamHandler,
  type DigestTransport,
  type EncodedSnapshot,
  type ProtocolVersion,
} from '../proxy/ports.ts'
import { frameText } from './frame-text.ts'
import type { SeededRandom } from './seeded-random.ts'
import { CONNECT_TIMEOUT_MS, type Host, type SimNetwork } from './sim-network.ts'
import { SimStream } from './sim-stream.ts'

/** A proxy as others reach it for digests. */
export interface DigestHost extends Host {
  readonly transport: SimTransport
}

export interface SimTransportOptions {
  /** The newest version that it speaks. */
  readonly version: ProtocolVersion
  readonly heartbeatMs: number
  /** Every frame that has got to this proxy, before it is handed on; `isWhole`: as it was sent. */
  readonly arrived: (from: string, bytes: Uint8Array, isWhole: boolean) => void
}

const MAX_FOLLOWERS = 1_024
const ASK_TIMEOUT_MS = 5_000
const CHUNK_BYTES = [16, 64, 256] as const
const CHUNK_GAP_MS = 2

/** Digest frames over the simulated network: one life's end of it. */
export class SimTransport implements DigestTransport {
  readonly #network: SimNetwork<DigestHost>
  readonly #host: DigestHost
  readonly #options: SimTransportOptions
  readonly #random: SeededRandom
  readonly #followers = new Set<SimStream<DigestHost>>()
  #source: DigestSource | undefined
  /** What goes out in the place of what should: a peer that does not keep the rules. */
  lying: (() => readonly Uint8Array[]) | undefined
  /** Frames sent of our own digest, one for each who was to get it. */
  sentFrames = 0

  constructor(network: SimNetwork<DigestHost>, host: DigestHost, options: SimTransportOptions) {
    this.#network = network
    this.#host = host
    this.#options = options
    this.#random = network.random.fork(host.index)
  }

  get version(): ProtocolVersion {
    return this.#options.version
  }

  get followerCount(): number {
    return this.#followers.size
  }

  /** What is given away; before that it answers nobody. */
  serve(source: DigestSource): void {
    this.#source = source
  }

  /** Its streams end: with a word, or as those of a process that was killed. */
  close(isClean: boolean): void {
    for (const stream of [...this.#followers]) {
      if (isClean) stream.end()
      else stream.break()
    }
    this.#followers.clear()
  }

  broadcast(frame: Uint8Array): number {
    for (const sent of this.lying?.() ?? [frame]) for (const stream of [...this.#followers]) stream.send(sent)
    this.sentFrames += this.#followers.size
    return this.#followers.size
  }

  follow(peer: Peer, want: Uint8Array, handler: DigestStreamHandler): DigestStream {
    this.#noteAsked(peer, 'follows', want)
    const network = this.#network
    const { time } = network
    const me = this.#host
    let stream: SimStream<DigestHost> | undefined
    let isOver = false
    const closed = (reason: string): void => {
      if (isOver) return
      isOver = true
      noAnswer.cancel()
      stream?.close()
      if (me.isUp) handler.closed(reason)
    }
    const noAnswer = time.after(3 * this.#options.heartbeatMs, me.index, () => closed('no answer in time'))
    const failAfter = (ms: number, reason: string): void => {
      time.after(ms, me.index, () => closed(reason))
    }
    const publisher = network.hostNamed(peer.name)
    const delayMs = publisher && network.passage(me.index, publisher.index)
    if (publisher === undefined) failAfter(1, 'nobody listens there')
    else if (delayMs === undefined) failAfter(CONNECT_TIMEOUT_MS, 'no connection in time')
    else {
      time.after(delayMs, publisher.index, () => {
        if (isOver) return
        if (!publisher.isUp) return failAfter(1, 'nobody listens there')
        const version = this.version === 2 && publisher.transport.version === 2 ? 2 : 1
        stream = new SimStream(network, {
          publisher,
          follower: me,
          version,
          handler: {
            opened: (spoken) => {
              noAnswer.cancel()
              handler.opened(spoken)
            },
            frame: (bytes) => handler.frame(bytes),
            closed,
          },
          silenceMs: 3 * this.#options.heartbeatMs,
          ended: (ended) => publisher.transport.#followers.delete(ended),
          arrived: (bytes, isWhole) => this.#options.arrived(peer.name, bytes, isWhole),
        })
        void publisher.transport.#accept(stream, want, version, (reason) => {
          failAfter(network.passage(publisher.index, me.index) ?? CONNECT_TIMEOUT_MS, reason)
        })
      })
    }
    // As from a real transport, it is never told within the call.
    return { close: () => void Promise.resolve().then(() => closed('closed')) }
  }

  async ask(peer: Peer, want: Uint8Array, signal: AbortSignal): Promise<readonly Uint8Array[]> {
    this.#noteAsked(peer, 'asks', want)
    const frames = await this.#network.call(this.#host, peer.name, ASK_TIMEOUT_MS, signal, async (publisher) => {
      const { transport, index } = publisher
      const answered: Uint8Array[] = []
      const source = transport.#sourceFor(2)
      await asFetch(source.answer(this.#host.name, want, 2, (given) => answered.push(...given)))
      transport.sentFrames += answered.length
      return answered.map((frame) => {
        const bytes = this.#network.corrupted(index, this.#host.index, frame)
        return { bytes, isWhole: bytes === frame }
      })
    })
    const publisher = this.#network.hostNamed(peer.name) ?? this.#host
    for (const { bytes, isWhole } of frames) {
      this.#network.noteFrame(publisher, this.#host, isWhole ? 'is answered' : 'is answered, damaged,', bytes)
      this.#options.arrived(peer.name, bytes, isWhole)
    }
    return frames.map(({ bytes }) => bytes)
  }

  async readSnapshot(peer: Peer, partial: PartialSnapshot, signal: AbortSignal): Promise<void> {
    const network = this.#network
    const me = this.#host
    const known = partial.isWhole ? undefined : partial.tag
    const answer = await network.call(me, peer.name, ASK_TIMEOUT_MS, signal, async (publisher) => {
      const encoded = await asFetch(publisher.transport.#sourceFor(2).snapshot(me.name, known))
      publisher.transport.sentFrames++
      return { publisher, encoded }
    })
    const { encoded, publisher } = answer
    if (encoded.tag !== known && !partial.begin(encoded.tag, encoded.frame.length)) {
      throw new FetchError('http_protocol_error', `a snapshot of ${encoded.frame.length} bytes`, 0)
    }
    await this.#readOn(publisher, encoded, partial, signal)
    const isWhole = isSame(partial.frame, encoded.frame)
    network.noteFrame(publisher, me, isWhole ? 'has read' : 'has read, damaged,', partial.frame)
    this.#options.arrived(peer.name, partial.frame, isWhole)
  }

  /** Chunk by chunk, until the connection breaks or all has come. */
  #readOn(
    publisher: DigestHost,
    { frame }: EncodedSnapshot,
    partial: PartialSnapshot,
    signal: AbortSignal,
  ): Promise<void> {
    const network = this.#network
    const me = this.#host
    const chunkBytes = this.#random.pick(CHUNK_BYTES)
    return new Promise((resolve, reject) => {
      let isOver = false
      const end = (act: () => void): void => {
        if (isOver) return
        isOver = true
        signal.removeEventListener('abort', cancel)
        if (me.isUp) act()
      }
      const fail = (code: FetchError['code'], why: string): void => end(() => reject(new FetchError(code, why, 0)))
      const cancel = (): void => fail('cancelled', 'given up')
      if (signal.aborted) return cancel()
      signal.addEventListener('abort', cancel)
      const next = (): void => {
        if (isOver) return
        if (partial.receivedBytes === frame.length) return end(resolve)
        const delayMs = publisher.isUp ? network.passage(publisher.index, me.index) : undefined
        if (delayMs === undefined) {
          const silenceMs = network.resetAfterMs() ?? ASK_TIMEOUT_MS
          network.time.after(silenceMs, me.index, () => fail('connection_terminated', 'the snapshot broke off'))
          return
        }
        network.time.after(Math.max(delayMs - LATENCY_MS, CHUNK_GAP_MS), me.index, () => {
          if (isOver) return
          const at = partial.receivedBytes
          const chunk = frame.subarray(at, at + chunkBytes)
          if (!partial.push(network.corrupted(publisher.index, me.index, chunk, at))) {
            return fail('http_protocol_error', 'more than was announced')
          }
          next()
        })
      }
      next()
    })
  }

  #noteAsked(peer: Peer, what: string, want: Uint8Array): void {
    const { time, transcript } = this.#network
    transcript.note(time.nowMs, this.#host.name, what, want.length, () => `${peer.name}: ${frameText(want)}`)
  }

  async #accept(
    stream: SimStream<DigestHost>,
    want: Uint8Array,
    version: ProtocolVersion,
    refuse: (reason: string) => void,
  ): Promise<void> {
    if (this.#followers.size >= MAX_FOLLOWERS) return refuse('it answered 503')
    try {
      const source = this.#sourceFor(version)
      await source.answer(stream.follower.name, want, version, (frames) => {
        this.sentFrames += frames.length
        if (!this.#host.isUp) return
        this.#followers.add(stream)
        stream.open()
        for (const frame of frames) stream.send(frame)
      })
    } catch (error) {
      refuse(refusalOf(error).message)
    }
  }

  #sourceFor(version: ProtocolVersion): DigestSource {
    if (this.#source === undefined) throw new FetchError('connection_refused', 'nobody listens there', 0)
    if (version > this.version) throw new FetchError('http_protocol_error', 'it answered 404', 0)
    return this.#source
  }
}

/** Chunks follow each other without waiting for an answer: they come closer together than one takes. */
const LATENCY_MS = 2

function refusalOf(error: unknown): FetchError {
  if (error instanceof FetchError) return error
  if (error instanceof MalformedMessageError) return new FetchError('http_protocol_error', 'it answered 400', 0)
  if (error instanceof BudgetError) return new FetchError('http_protocol_error', 'it answered 429', 0)
  throw error
}

/** @throws {FetchError} what an HTTP client would see of it */
async function asFetch<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw refusalOf(error)
  }
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i])
}
