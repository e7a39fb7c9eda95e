import type { BulkBits } from './bulk-bits.ts'
import type { PositionSink } from './position-list.ts'

/** Bits over 32-bit words: bit i is bit i & 31 of word i >>> 5. Bits beyond `bitCount` in the last word stay 0. */
export class BitArray {
  readonly bitCount: number
  /** The memory itself; may lie in a SharedArrayBuffer. */
  readonly words: Uint32Array

  readonly #bulk: BulkBits | undefined

  /**
   * @param words taken as they are; a new, empty array when not given
   * @param bulk in whose memory the words lie
   */
  constructor(bitCount: number, words: Uint32Array = new Uint32Array(Math.ceil(bitCount / 32)), bulk?: BulkBits) {
    if (words.length !== Math.ceil(bitCount / 32)) {
      throw new RangeError(`${bitCount} bits do not fill ${words.length} words`)
    }
    this.bitCount = bitCount
    this.words = words
    this.#bulk = bulk
  }

  /** Not checked: an index beyond the array reads as 0. */
  get(index: number): boolean {
    return ((this.words[index >>> 5]! >>> (index & 31)) & 1) === 1
  }

  /** Returns whether the bit was 0. */
  set(index: number): boolean {
    this.#check(index)
    const mask = 1 << (index & 31)
    const word = this.words[index >>> 5]!
    this.words[index >>> 5] = word | mask
    return (word & mask) === 0
  }

  /** Returns whether the bit was 1. */
  clear(index: number): boolean {
    this.#check(index)
    const mask = 1 << (index & 31)
    const word = this.words[index >>> 5]!
    this.words[index >>> 5] = word & ~mask
    return (word & mask) !== 0
  }

  word(wordIndex: number): number {
    return this.words[wordIndex]!
  }

  setWord(wordIndex: number, value: number): void {
    this.words[wordIndex] = value
  }

  /** Set bits in words `fromWord` to `toWord`, the latter not included. */
  countSet(fromWord = 0, toWord = this.words.length): number {
    if (this.#bulk !== undefined) return this.#bulk.countSet(this.words.subarray(fromWord, toWord))
    let count = 0
    for (let i = fromWord; i < toWord; i++) {
      let v = this.words[i]!
      v -= (v >>> 1) & 0x55555555
      v = (v & 0x33333333) + ((v >>> 2) & 0x33333333)
      count += Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
    }
    return count
  }

  /** Hands on the index of each set bit in words `fromWord` to `toWord`, ascending. */
  pushSet(sink: PositionSink, fromWord = 0, toWord = this.words.length): void {
    for (let i = fromWord; i < toWord; i++) {
      for (let rest = this.words[i]!; rest !== 0; rest &= rest - 1) sink.push(i * 32 + 31 - Math.clz32(rest & -rest))
    }
  }

  copyFrom(other: BitArray, fromWord = 0, toWord = this.words.length): void {
    this.#checkSize(other)
    this.words.set(other.words.subarray(fromWord, toWord), fromWord)
  }

  orFrom(other: BitArray): void {
    this.#checkSize(other)
    if (this.#bulk?.holds(other.words) === true) this.#bulk.or(this.words, other.words)
    else for (let i = 0; i < this.words.length; i++) this.words[i]! |= other.words[i]!
  }

  andFrom(other: BitArray): void {
    this.#checkSize(other)
    if (this.#bulk?.holds(other.words) === true) this.#bulk.and(this.words, other.words)
    else for (let i = 0; i < this.words.length; i++) this.words[i]! &= other.words[i]!
  }

  equals(other: BitArray): boolean {
    if (other.bitCount !== this.bitCount) return false
    for (let i = 0; i < this.words.length; i++) if (this.words[i] !== other.words[i]) return false
    return true
  }

  #check(index: number): void {
    if (!(index >= 0 && index < this.bitCount)) throw new RangeError(`bit ${index} of ${this.bitCount}`)
  }

  #checkSize(other: BitArray): void {
    if (other.bitCount !== this.bitCount) throw new RangeError(`${other.bitCount} bits against ${this.bitCount}`)
  }
}
