import { MalformedMessageError } from '../protocol/malformed-message-error.ts'
import { FRAME_FORMAT } from './frame-fields.ts'

const PREFIX_BYTES = 4
// A length that is announced costs its sender nothing, so room grows with what has really come.
const FIRST_ROOM_BYTES = 4096

/** The frame with its length before it, four bytes big-endian, as it goes on a byte stream. */
export function encodeLengthPrefix(frame: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(PREFIX_BYTES + frame.length)
  new DataView(bytes.buffer).setUint32(0, frame.length)
  bytes.set(frame, PREFIX_BYTES)
  return bytes
}

/** Cuts a byte stream back into frames, wherever its chunks were split. */
export class FrameReader {
  readonly #maxFrameBytes: number
  #prefixBytes = 0
  #frameBytes = 0
  #room = new Uint8Array(0)
  #filled = 0

  constructor(maxFrameBytes: number) {
    this.#maxFrameBytes = maxFrameBytes
  }

  /** Whether the stream may end here: not within a frame. */
  get atFrameEdge(): boolean {
    return this.#prefixBytes === 0
  }

  /**
   * The frames that `chunk` completes, in order, each in memory of its own.
   * @throws {MalformedMessageError} a frame longer than allowed; the stream is of no use any more
   */
  push(chunk: Uint8Array): Uint8Array[] {
    const frames: Uint8Array[] = []
    let at = 0
    while (at < chunk.length) {
      if (this.#prefixBytes < PREFIX_BYTES) {
        this.#frameBytes = this.#frameBytes * 256 + chunk[at++]!
        this.#prefixBytes++
        if (this.#prefixBytes === PREFIX_BYTES) this.#begin()
      } else {
        const taken = Math.min(chunk.length - at, this.#frameBytes - this.#filled)
        this.#grow(this.#filled + taken)
        this.#room.set(chunk.subarray(at, at + taken), this.#filled)
        this.#filled += taken
        at += taken
      }
      if (this.#prefixBytes === PREFIX_BYTES && this.#filled === this.#frameBytes) frames.push(this.#take())
    }
    return frames
  }

  #begin(): void {
    if (this.#frameBytes > this.#maxFrameBytes) {
      const problem = `a frame of ${this.#frameBytes} bytes where ${this.#maxFrameBytes} are allowed`
      throw new MalformedMessageError(FRAME_FORMAT, 0, problem)
    }
    this.#room = new Uint8Array(Math.min(this.#frameBytes, FIRST_ROOM_BYTES))
  }

  #grow(neededBytes: number): void {
    if (neededBytes <= this.#room.length) return
    const grown = new Uint8Array(Math.min(this.#frameBytes, Math.max(neededBytes, this.#room.length * 2)))
    grown.set(this.#room)
    this.#room = grown
  }

  #take(): Uint8Array {
    const frame = this.#room
    this.#room = new Uint8Array(0)
    this.#prefixBytes = 0
    this.#frameBytes = 0
    this.#filled = 0
    return frame
  }
}
