import type { BitArray } from '../filter/bit-array.ts'
import { FRAME_HEADER_BYTES, FrameWriter, STATE_BYTES } from './frame-fields.ts'
import { GapSizer, GapWriter, expectedGapBytes } from './gap-code.ts'
import { SNAPSHOT_GAPS, TYPE_SNAPSHOT } from './frame-types.ts'
import type { StateHead } from './state-head.ts'

const FIXED_BYTES = FRAME_HEADER_BYTES + STATE_BYTES

/**
 * Encodes a snapshot a slice at a time: set bits are read twice, once for the size of their gap code and once to
 * write it, unless the raw bits are smaller. The bits must not change in between: give it a copy where they could.
 */
export class SnapshotEncoder {
  readonly #state: StateHead
  readonly #bits: BitArray
  readonly #size = new GapSizer()
  #word = 0
  #out: FrameWriter | undefined
  #writer: GapWriter | undefined

  constructor(state: StateHead, bits: BitArray) {
    this.#state = state
    this.#bits = bits
  }

  /** Goes through up to `maxWords` words (a hundred nanoseconds each); false once the frame is done. */
  work(maxWords: number): boolean {
    const { words } = this.#bits
    const from = this.#word
    this.#word = Math.min(words.length, from + maxWords)
    if (this.#out === undefined) this.#bits.pushSet(this.#size, from, this.#word)
    else if (this.#writer !== undefined) this.#bits.pushSet(this.#writer, from, this.#word)
    else putRaw(words, this.#out.bytes, from, this.#word)
    if (this.#word < words.length) return true
    if (this.#out !== undefined) {
      this.#writer?.finish()
      return false
    }
    this.#begin()
    return true
  }

  /** The frame, once `work` has returned false. */
  get frame(): Uint8Array {
    if (this.#out === undefined || this.#word < this.#bits.words.length)
      throw new Error('the snapshot is not encoded yet')
    return this.#out.bytes
  }

  #begin(): void {
    const rawBytes = this.#bits.bitCount / 8
    const gaps = this.#size.bytes < rawBytes
    const flags = gaps ? SNAPSHOT_GAPS : 0
    this.#out = new FrameWriter(TYPE_SNAPSHOT, flags, FIXED_BYTES + (gaps ? this.#size.bytes : rawBytes))
    this.#out.state(this.#state)
    if (gaps) this.#writer = new GapWriter(this.#size, this.#out.bytes, FIXED_BYTES)
    this.#word = 0
  }
}

export function encodeSnapshot(state: StateHead, bits: BitArray): Uint8Array {
  const encoder = new SnapshotEncoder(state, bits)
  let more = true
  while (more) more = encoder.work(bits.words.length)
  return encoder.frame
}

/**
 * The size of a snapshot's frame, exact where the raw bits are smaller and within a percent or two elsewhere, since
 * hashed positions are random: good enough to choose by.
 *
 * @param setBitCount saves counting them
 */
export function snapshotFrameBytes(bits: BitArray, setBitCount: number = bits.countSet()): number {
  return FIXED_BYTES + Math.min(bits.bitCount / 8, expectedGapBytes(setBitCount, bits.bitCount))
}

// Byte by byte: words in memory have the machine's order, bytes on the wire are least significant first.
function putRaw(words: Uint32Array, out: Uint8Array, fromWord: number, toWord: number): void {
  for (let i = fromWord; i < toWord; i++) {
    const at = FIXED_BYTES + i * 4
    const word = words[i]!
    out[at] = word
    out[at + 1] = word >>> 8
    out[at + 2] = word >>> 16
    out[at + 3] = word >>> 24
  }
}
