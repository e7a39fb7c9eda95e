import type { KeyHash } from './key-hash.ts'

const FIRST_CAPACITY = 64

/**
 * Hashes kept, 16 bytes each: what filters that cannot grow are built from. Of an MD5 hash for more than four probes only
 * the first 128 bits are kept.
 */
export class KeyHashList {
  #words: Uint32Array
  #length = 0

  /** @param capacity hashes that will be pushed, where that is known */
  constructor(capacity = FIRST_CAPACITY) {
    this.#words = new Uint32Array(4 * Math.max(1, capacity))
  }

  get length(): number {
    return this.#length
  }

  /** Four words for each hash, h0 to h3. A view: it changes, or is left behind, with the next push. */
  get words(): Uint32Array {
    return this.#words.subarray(0, 4 * this.#length)
  }

  push(key: KeyHash): void {
    const at = 4 * this.#length++
    if (at === this.#words.length) {
      const grown = new Uint32Array(2 * at)
      grown.set(this.#words)
      this.#words = grown
    }
    this.#words[at] = key.h0
    this.#words[at + 1] = key.h1
    this.#words[at + 2] = key.h2
    this.#words[at + 3] = key.h3
  }

  /** Forgets the hashes and keeps the memory. */
  clear(): void {
    this.#length = 0
  }

  at(index: number): KeyHash {
    if (!(index >= 0 && index < this.#length)) throw new RangeError(`hash ${index} of ${this.#length}`)
    const at = 4 * index
    return {
      h0: this.#words[at]!,
      h1: this.#words[at + 1]!,
      h2: this.#words[at + 2]!,
      h3: this.#words[at + 3]!,
    }
  }
}
