import type { DigestStreamHandler, ProtocolVersion } from '../proxy/ports.ts'
import type { Host, SimNetwork } from './sim-network.ts'
import type { Timer } from './virtual-time.ts'

/** A publisher that cannot reach its follower finds out after so long, as TCP would. */
const SENDER_GIVES_UP_MS = 20_000
/** Frames on a stream are this far apart at least. */
const FRAME_GAP_MS = 0.01

export interface StreamEnds<H extends Host> {
  readonly publisher: H
  readonly follower: H
  readonly version: ProtocolVersion
  readonly handler: DigestStreamHandler
  /** A follower that hears nothing for so long gives the stream up. */
  readonly silenceMs: number
  /** The publisher sends no more on it. */
  readonly ended: (stream: SimStream<H>) => void
  /** A frame has got to the follower, before it is handed on; `isWhole`: as it was sent. */
  readonly arrived: (bytes: Uint8Array, isWhole: boolean) => void
}

/** A publisher's frames on their way to one follower. */
export class SimStream<H extends Host> {
  readonly #network: SimNetwork<H>
  readonly #ends: StreamEnds<H>
  #isSending = true
  #isReading = true
  #isBroken = false
  #isOpened = false
  #lastArrivalMs = 0
  #lastHeardMs = 0
  #silence: Timer | undefined

  constructor(network: SimNetwork<H>, ends: StreamEnds<H>) {
    this.#network = network
    this.#ends = ends
  }

  get version(): ProtocolVersion {
    return this.#ends.version
  }

  get follower(): H {
    return this.#ends.follower
  }

  /** Whether the follower has heard of it. */
  get isOpened(): boolean {
    return this.#isOpened
  }

  /** Tells the follower that it is heard; a frame that overtakes that tells it, too. */
  open(): void {
    this.#send(() => undefined)
  }

  send(frame: Uint8Array): void {
    if (!this.#isSending) return
    const { publisher, follower, arrived, handler } = this.#ends
    const network = this.#network
    const copies = network.mode === 'datagrams' && network.isRepeated(publisher.index, follower.index) ? 2 : 1
    for (let i = 0; i < copies; i++) {
      const bytes = network.corrupted(publisher.index, follower.index, frame)
      const isWhole = bytes === frame
      const wasBroken = this.#isBroken
      const leaves = this.#send(() => {
        network.noteFrame(publisher, follower, isWhole ? 'gets' : 'gets damaged', bytes)
        arrived(bytes, isWhole)
        handler.frame(bytes)
      })
      if (!leaves && !wasBroken) network.noteFrame(publisher, follower, 'misses', frame)
    }
  }

  /** By the publisher, after what it has sent. */
  end(): void {
    if (!this.#isSending) return
    this.#send(() => this.#close('the stream ended'))
    this.#stopSending()
  }

  /** By the follower. */
  close(): void {
    if (!this.#isReading) return
    this.#isReading = false
    this.#silence?.cancel()
    const { publisher, follower } = this.#ends
    const delayMs = this.#network.passage(follower.index, publisher.index)
    if (delayMs === undefined) this.#giveUpLater()
    else this.#network.time.after(delayMs, publisher.index, () => this.#stopSending())
  }

  /** The publisher's life is over, without a word: its machine says so, when it is reached. */
  break(): void {
    this.#isSending = false
    this.#breakOff()
  }

  /** False: it is lost. */
  #send(arrive: () => void): boolean {
    const network = this.#network
    const { publisher, follower } = this.#ends
    if (this.#isBroken) return false
    const delayMs = network.passage(publisher.index, follower.index)
    if (delayMs === undefined) {
      if (network.mode === 'streams') this.#breakOff()
      return false
    }
    let atMs = network.time.nowMs + delayMs
    if (network.mode === 'streams') {
      atMs = Math.max(atMs, this.#lastArrivalMs + FRAME_GAP_MS)
      this.#lastArrivalMs = atMs
    }
    network.time.at(atMs, follower.index, () => {
      if (!follower.isUp) {
        this.#stopSending()
      } else if (this.#isReading) {
        this.#lastHeardMs = network.time.nowMs
        if (!this.#isOpened) this.#opened()
        arrive()
      }
    })
    return true
  }

  #opened(): void {
    this.#isOpened = true
    this.#watch()
    this.#ends.handler.opened(this.#ends.version)
  }

  /** Nothing gets through any more; the follower hears of it, or of nothing. */
  #breakOff(): void {
    if (this.#isBroken) return
    this.#isBroken = true
    const { follower, publisher } = this.#ends
    const resetMs = this.#network.resetAfterMs()
    if (resetMs !== undefined && !this.#network.isCut(publisher.index, follower.index)) {
      this.#network.time.after(resetMs, follower.index, () => this.#close('the connection broke'))
    }
    this.#giveUpLater()
  }

  #giveUpLater(): void {
    this.#network.time.after(SENDER_GIVES_UP_MS, this.#ends.publisher.index, () => this.#stopSending())
  }

  #stopSending(): void {
    this.#isSending = false
    this.#ends.ended(this)
  }

  #watch(): void {
    const { follower, silenceMs } = this.#ends
    this.#silence = this.#network.time.at(this.#lastHeardMs + silenceMs, follower.index, () => {
      if (this.#network.time.nowMs >= this.#lastHeardMs + silenceMs) this.#close('nothing has come for too long')
      else this.#watch()
    })
  }

  #close(reason: string): void {
    if (!this.#isReading) return
    this.#isReading = false
    this.#silence?.cancel()
    if (this.#ends.follower.isUp) this.#ends.handler.closed(reason)
  }
}
