import type { Random } from '../proxy/ports.ts'

/**
 * Chance that can be had again: the same seed gives the same numbers. Streams forked from one by different labels do not
 * depend on how many numbers were taken from the others.
 */
export class SeededRandom implements Random {
  readonly #seed: number
  #state: number

  constructor(seed: number) {
    this.#seed = mixed(seed | 0)
    this.#state = this.#seed
  }

  fork(label: number): SeededRandom {
    return new SeededRandom(this.#seed ^ mixed(label + 0x9e3779b9))
  }

  next(): number {
    return this.word() / 2 ** 32
  }

  /** 32 bits, unsigned. Weyl's sequence, mixed: any two seeds give other numbers. */
  word(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0
    return mixed(this.#state) >>> 0
  }

  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.next() * from.length)]!
  }
}

/** The finalizer of MurmurHash3. */
function mixed(word: number): number {
  let h = word
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
