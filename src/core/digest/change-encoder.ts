import { BitChecksum } from '../filter/bit-checksum.ts'
import type { PositionSink } from '../filter/position-list.ts'
import type { BitsProof } from '../filter/summary.ts'
import type { BitChanges } from './bit-changes.ts'
import { beginDelta, beginTurnover, deltaFrameBytesOf, turnoverFrameBytesOf } from './digest-codec.ts'
import type { DigestName } from './digest-name.ts'
import { GapSizer, GapWriter } from './gap-code.ts'
import type { StateHead } from './state-head.ts'

/** A position is some tens of nanoseconds; so are as many words without one. */
const WORDS_PER_STEP = 16
const WORDS_AT_ONCE = 256

/** Sizes positions, and works the checksum on. */
class Sizer implements PositionSink {
  readonly size = new GapSizer()
  readonly #checksum: BitChecksum

  constructor(checksum: BitChecksum) {
    this.#checksum = checksum
  }

  push(position: number): void {
    this.size.push(position)
    this.#checksum.toggle(position)
  }
}

/**
 * Encodes the step between two states a slice at a time: first `measure`, which tells what the later state amounts to and
 * how long the frame would be, then, if it is wanted, `begin` and `write`.
 */
export class ChangeEncoder {
  readonly #changes: BitChanges
  readonly #before: BitsProof
  readonly #checksum: BitChecksum
  readonly #set: Sizer
  readonly #clear: Sizer
  #word = 0
  #frame: Uint8Array = new Uint8Array(0)
  #setWriter: GapWriter | undefined
  #clearWriter: GapWriter | undefined

  /** @param before what the earlier state amounts to */
  constructor(changes: BitChanges, before: BitsProof) {
    this.#changes = changes
    this.#before = before
    this.#checksum = BitChecksum.from(before.checksumHi, before.checksumLo)
    this.#set = new Sizer(this.#checksum)
    this.#clear = new Sizer(this.#checksum)
  }

  /** Goes on by about `maxSteps`; false once all is measured. */
  measure(maxSteps: number): boolean {
    return this.#pass(maxSteps, this.#set, this.#clear)
  }

  /** Once measured. */
  get after(): BitsProof {
    return {
      setBitCount: this.#before.setBitCount + this.#set.size.count - this.#clear.size.count,
      checksumHi: this.#checksum.hi,
      checksumLo: this.#checksum.lo,
    }
  }

  /** Of a turnover, or of a delta where nothing is cleared and `isDelta`; once measured. */
  frameBytes(isDelta: boolean): number {
    const setBytes = this.#set.size.bytes
    return isDelta ? deltaFrameBytesOf(setBytes) : turnoverFrameBytesOf(setBytes, this.#clear.size.bytes)
  }

  /** Once measured: makes it a delta where both states are of one generation, else a turnover. */
  begin(from: DigestName, state: StateHead): void {
    const set = this.#set.size
    const clear = this.#clear.size
    const isDelta = from.generation === state.name.generation
    const frame = isDelta
      ? beginDelta(from.sequence, state, set.count, set.bytes)
      : beginTurnover(from, state, { setCount: set.count, clearCount: clear.count }, set.bytes, clear.bytes)
    this.#frame = frame.bytes
    this.#setWriter = new GapWriter(set, frame.bytes, frame.offset)
    this.#clearWriter = new GapWriter(clear, frame.bytes, frame.offset + set.bytes)
    this.#word = 0
  }

  /** Goes on by about `maxSteps`; false once `frame` is done. */
  write(maxSteps: number): boolean {
    if (this.#pass(maxSteps, this.#setWriter!, this.#clearWriter!)) return true
    this.#setWriter!.finish()
    this.#clearWriter!.finish()
    return false
  }

  get frame(): Uint8Array {
    return this.#frame
  }

  #pass(maxSteps: number, set: PositionSink, clear: PositionSink): boolean {
    const { wordCount } = this.#changes
    let steps = 0
    const counted = (sink: PositionSink): PositionSink => ({
      push(position): void {
        steps++
        sink.push(position)
      },
    })
    const [setSink, clearSink] = [counted(set), counted(clear)]
    while (steps < maxSteps && this.#word < wordCount) {
      const to = Math.min(wordCount, this.#word + WORDS_AT_ONCE)
      this.#changes.push(setSink, clearSink, this.#word, to)
      steps += WORDS_AT_ONCE / WORDS_PER_STEP
      this.#word = to
    }
    return this.#word < wordCount
  }
}
