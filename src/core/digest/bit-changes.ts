import { BitArray } from '../filter/bit-array.ts'
import type { PositionSink } from '../filter/position-list.ts'

/** What changes from one state of a digest to another, to be gone through in order, twice if need be. */
export interface BitChanges {
  /** The words of the digest; ranges of them are gone through. */
  readonly wordCount: number
  /** Hands on what changes in words `fromWord` to `toWord`, ascending. */
  push(set: PositionSink, clear: PositionSink, fromWord: number, toWord: number): void
}

/** All that tells two states of one size apart. Neither may change meanwhile. */
export class BitDifference implements BitChanges {
  readonly #before: BitArray
  readonly #after: BitArray

  constructor(before: BitArray, after: BitArray) {
    this.#before = before
    this.#after = after
  }

  get wordCount(): number {
    return this.#after.words.length
  }

  push(set: PositionSink, clear: PositionSink, fromWord: number, toWord: number): void {
    const before = this.#before.words
    const after = this.#after.words
    for (let i = fromWord; i < toWord; i++) {
      const now = after[i]!
      for (let rest = now ^ before[i]!; rest !== 0; rest &= rest - 1) {
        const bit = rest & -rest
        const position = i * 32 + 31 - Math.clz32(bit)
        if ((now & bit) !== 0) set.push(position)
        else clear.push(position)
      }
    }
  }
}

/** All the bits of a state, as if they were set in an empty one. */
export class WholeState implements BitChanges {
  readonly #bits: BitArray

  constructor(bits: BitArray) {
    this.#bits = bits
  }

  get wordCount(): number {
    return this.#bits.words.length
  }

  push(set: PositionSink, _clear: PositionSink, fromWord: number, toWord: number): void {
    this.#bits.pushSet(set, fromWord, toWord)
  }
}

/** What several steps come to in all: a bit that was set and cleared again has not changed. */
export class NetChanges implements BitChanges {
  readonly #set: BitArray
  readonly #clear: BitArray

  constructor(bitCount: number) {
    this.#set = new BitArray(bitCount)
    this.#clear = new BitArray(bitCount)
  }

  get wordCount(): number {
    return this.#set.words.length
  }

  /** A step sets the bit, which was 0 before. */
  rose(position: number): void {
    if (!this.#clear.clear(position)) this.#set.set(position)
  }

  /** A step clears the bit, which was 1 before. */
  fell(position: number): void {
    if (!this.#set.clear(position)) this.#clear.set(position)
  }

  push(set: PositionSink, clear: PositionSink, fromWord: number, toWord: number): void {
    this.#set.pushSet(set, fromWord, toWord)
    this.#clear.pushSet(clear, fromWord, toWord)
  }
}
