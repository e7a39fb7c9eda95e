import type { BitArray } from './bit-array.ts'
import { BitChecksum } from './bit-checksum.ts'

const WORDS_AT_ONCE = 32
const STEPS_AT_ONCE = 32

/** A checksum worked out whole, in slices, of bits that rise meanwhile: to compare with one that was kept as they rose. */
export class ChecksumAudit {
  readonly #bits: BitArray
  readonly #checksum = new BitChecksum()
  #passedWords = 0

  constructor(bits: BitArray) {
    this.#bits = bits
  }

  /** Goes on by about `maxSteps`, some tens of nanoseconds each; false once all words have been passed. */
  work(maxSteps: number): boolean {
    const { words } = this.#bits
    for (let left = maxSteps; left > 0 && this.#passedWords < words.length; left -= STEPS_AT_ONCE) {
      const to = Math.min(words.length, this.#passedWords + WORDS_AT_ONCE)
      this.#bits.pushSet(this.#checksum, this.#passedWords, to)
      this.#passedWords = to
    }
    return this.#passedWords < words.length
  }

  /** The bit was 0. */
  rose(position: number): void {
    if (position >>> 5 < this.#passedWords) this.#checksum.toggle(position)
  }

  /** Once `work` has returned false. */
  agreesWith({ hi, lo }: { readonly hi: number; readonly lo: number }): boolean {
    return this.#checksum.hi === hi && this.#checksum.lo === lo
  }
}
