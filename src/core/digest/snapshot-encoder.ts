import type { BitArray } from '../filter/bit-array.ts'
import { FRAME_HEADER_BYTES, FrameWriter, STATE_BYTES } from './frame-fields.ts'
import { SNAPSHOT_CODED, SNAPSHOT_GAPS, TYPE_SNAPSHOT } from './frame-types.ts'
import { GapSizer, GapWriter, expectedGapBytes } from './gap-code.ts'
import { RansSizer, RansWriter, expectedRansBytes } from './rans-code.ts'
import type { StateHead } from './state-head.ts'

const FIXED_BYTES = FRAME_HEADER_BYTES + STATE_BYTES

/** One of the forms that a snapshot's bits have, being written. */
interface BodyWriter {
  /** Every word once, in ascending ranges. */
  put(fromWord: number, toWord: number): void
  /** Returns the offset behind the body. */
  finish(): number
}

/**
 * Encodes a snapshot a slice at a time: the words are read twice, once for the size that each form would have and once
 * to write the smallest. They must not change in between: give it a copy where they could.
 */
export class SnapshotEncoder {
  readonly #state: StateHead
  readonly #bits: BitArray
  readonly #gapSize = new GapSizer()
  readonly #codedSize = new RansSizer()
  #word = 0
  #out: Uint8Array = new Uint8Array(0)
  #body: BodyWriter | undefined
  #frame: Uint8Array | undefined

  constructor(state: StateHead, bits: BitArray) {
    this.#state = state
    this.#bits = bits
  }

  /** Goes through up to `maxWords` words (0.3 microseconds each at most); false once the frame is done. */
  work(maxWords: number): boolean {
    if (this.#frame !== undefined) return false
    const { words } = this.#bits
    const from = this.#word
    const to = Math.min(words.length, from + maxWords)
    this.#word = to
    if (this.#body === undefined) {
      this.#bits.pushSet(this.#gapSize, from, to)
      this.#codedSize.count(words, from * 4, to * 4)
    } else {
      this.#body.put(from, to)
    }
    if (to < words.length) return true
    if (this.#body === undefined) {
      this.#body = this.#begin()
      this.#word = 0
      return true
    }
    this.#frame = this.#out.subarray(0, this.#body.finish())
    return false
  }

  /** The frame, once `work` has returned false. */
  get frame(): Uint8Array {
    if (this.#frame === undefined) throw new Error('the snapshot is not encoded yet')
    return this.#frame
  }

  #begin(): BodyWriter {
    const rawBytes = this.#bits.bitCount / 8
    const gapBytes = this.#gapSize.bytes
    const coded = this.#codedSize
    // Not begun where it could turn out longer than the raw bits, which bound what a reader allows.
    const { maxBytes } = coded
    if (maxBytes < rawBytes && coded.bytes < gapBytes) {
      const out = this.#header(SNAPSHOT_CODED, maxBytes)
      return new CodedBody(this.#bits.words, new RansWriter(coded, out, FIXED_BYTES))
    }
    if (gapBytes < rawBytes) {
      const out = this.#header(SNAPSHOT_GAPS, gapBytes)
      return new GapBody(this.#bits, new GapWriter(this.#gapSize, out, FIXED_BYTES))
    }
    return new RawBody(this.#bits.words, this.#header(0, rawBytes))
  }

  #header(flags: number, bodyBytes: number): Uint8Array {
    const frame = new FrameWriter(TYPE_SNAPSHOT, flags, FIXED_BYTES + bodyBytes)
    frame.state(this.#state)
    this.#out = frame.bytes
    return frame.bytes
  }
}

export function encodeSnapshot(state: StateHead, bits: BitArray): Uint8Array {
  const encoder = new SnapshotEncoder(state, bits)
  let more = true
  while (more) more = encoder.work(bits.words.length)
  return encoder.frame
}

/**
 * The size of a snapshot's frame, from the density alone: within a percent or two where it is not tiny, since hashed
 * positions are random. Good enough to choose by.
 *
 * @param setBitCount saves counting them
 */
export function snapshotFrameBytes(bits: BitArray, setBitCount: number = bits.countSet()): number {
  const { bitCount } = bits
  const packed = Math.min(expectedGapBytes(setBitCount, bitCount), expectedRansBytes(setBitCount, bitCount))
  return FIXED_BYTES + Math.min(bitCount / 8, packed)
}

class CodedBody implements BodyWriter {
  readonly #words: Uint32Array
  readonly #writer: RansWriter

  constructor(words: Uint32Array, writer: RansWriter) {
    this.#words = words
    this.#writer = writer
  }

  // The code is written from the last byte on.
  put(fromWord: number, toWord: number): void {
    const { length } = this.#words
    this.#writer.write(this.#words, (length - toWord) * 4, (length - fromWord) * 4)
  }

  finish(): number {
    return this.#writer.finish()
  }
}

class GapBody implements BodyWriter {
  readonly #bits: BitArray
  readonly #writer: GapWriter

  constructor(bits: BitArray, writer: GapWriter) {
    this.#bits = bits
    this.#writer = writer
  }

  put(fromWord: number, toWord: number): void {
    this.#bits.pushSet(this.#writer, fromWord, toWord)
  }

  finish(): number {
    return this.#writer.finish()
  }
}

class RawBody implements BodyWriter {
  readonly #words: Uint32Array
  readonly #out: Uint8Array

  constructor(words: Uint32Array, out: Uint8Array) {
    this.#words = words
    this.#out = out
  }

  // Byte by byte: words in memory have the machine's order, bytes on the wire are least significant first.
  put(fromWord: number, toWord: number): void {
    for (let i = fromWord; i < toWord; i++) {
      const at = FIXED_BYTES + i * 4
      const word = this.#words[i]!
      this.#out[at] = word
      this.#out[at + 1] = word >>> 8
      this.#out[at + 2] = word >>> 16
      this.#out[at + 3] = word >>> 24
    }
  }

  finish(): number {
    return this.#out.length
  }
}
