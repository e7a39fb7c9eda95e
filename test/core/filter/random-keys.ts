import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { mix32 } from '../../../src/core/filter/murmur3.ts'

/**
 * Random keys without end (sfc32, Chris Doty-Humphrey), the same for the same seed. One object: it is the next key
 * after each `advance`, so that 10^8 of them cost no memory.
 */
export class RandomKeys implements KeyHash {
  h0 = 0
  h1 = 0
  h2 = 0
  h3 = 0
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number) {
    this.#a = mix32(seed + 1)
    this.#b = mix32(seed ^ 0x5bd1e995)
    this.#c = mix32(~seed)
    for (let i = 0; i < 16; i++) this.word()
  }

  word(): number {
    const t = (this.#a + this.#b + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + t) | 0
    return t >>> 0
  }

  /** From 0, and below `count`. */
  below(count: number): number {
    return Math.floor((this.word() / 2 ** 32) * count)
  }

  advance(): this {
    this.h0 = this.word()
    this.h1 = this.word()
    this.h2 = this.word()
    this.h3 = this.word()
    return this
  }
}

/** Key number `index` of a set that the seed chooses, without keeping any. One object, as above. */
export class NumberedKeys implements KeyHash {
  h0 = 0
  h1 = 0
  h2 = 0
  h3 = 0
  readonly #seed: number

  constructor(seed: number) {
    this.#seed = mix32(seed + 0x1234567)
  }

  at(index: number): this {
    this.h0 = this.#word(index, 0x9e3779b9)
    this.h1 = this.#word(index, 0x3c6ef372)
    this.h2 = this.#word(index, 0xdaa66d2b)
    this.h3 = this.#word(index, 0x78dde6e4)
    return this
  }

  // One bijection of the index alone would never give a word twice, as chance does.
  #word(index: number, salt: number): number {
    return mix32(mix32((index + salt) | 0) + mix32(index ^ this.#seed) + salt) >>> 0
  }
}
