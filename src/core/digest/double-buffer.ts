import assert from 'node:assert'
import { BitArray } from '../filter/bit-array.ts'
import type { ReplicaBits, ReplicaBuffers } from './replica-bits.ts'

const INDEX_BITS = 4
const INDEX_MASK = (1 << INDEX_BITS) - 1
// Epochs fill the rest of a positive 32-bit word, from 1: no word of a reader that is inside is ever 0.
const MAX_EPOCH = 2 ** (31 - INDEX_BITS) - 1
const OUTSIDE = 0

// One active, one being built, one for a reader that sleeps inside a buffer long since replaced.
const DEFAULT_POOL_SIZE = 3

export interface DoubleBufferOptions {
  /** Most buffers that may exist, 2 to 16. With 2, one suspended reader stops the writer's next build; 3 by default. */
  readonly poolSize?: number
  /** `controlWords(readers)` of them, zeroed at first; shared memory where readers are other threads. None: no readers. */
  readonly control?: Int32Array
  /**
   * The words of buffer `index`, zeroed, asked for when the buffer is first needed. With other threads: the same
   * memory in each of them. Plain arrays of its own when not given.
   */
  readonly allocate?: (index: number) => Uint32Array
}

/**
 * Equally sized bit arrays of which one is active (PROTOCOL rule 4). Many readers and one writer, each through an
 * object of its own over the same memory, or all through one. A reader never waits for the writer nor the writer for
 * a reader: a suspended reader keeps its buffer from being built in, no more.
 *
 * Control word 0 holds epoch and index of the active buffer, word 1 + r what reader r has entered under, 0 while it
 * is outside.
 */
export class DoubleBuffer implements ReplicaBuffers {
  readonly wordsPerStep = 32
  readonly isSliced = false
  readonly hasWork = false
  readonly bitCount: number
  readonly #poolSize: number
  readonly #control: Int32Array
  readonly #allocate: (index: number) => Uint32Array
  readonly #buffers: (BitArray | undefined)[] = []

  static controlWords(readerCount: number): number {
    return 1 + readerCount
  }

  constructor(bitCount: number, options: DoubleBufferOptions = {}) {
    this.bitCount = bitCount
    this.#poolSize = options.poolSize ?? DEFAULT_POOL_SIZE
    this.#control = options.control ?? new Int32Array(DoubleBuffer.controlWords(0))
    this.#allocate = options.allocate ?? (() => new Uint32Array(bitCount / 32))
    assert(this.#poolSize >= 2 && this.#poolSize <= INDEX_MASK + 1, `a pool of ${this.#poolSize} buffers`)
    // Whoever comes first starts with buffer 0 in epoch 1.
    Atomics.compareExchange(this.#control, 0, 0, 1 << INDEX_BITS)
  }

  /** For the writer itself, and for whoever runs on its thread: it cannot be built in before the next swap. */
  get active(): BitArray {
    return this.#buffer(Atomics.load(this.#control, 0) & INDEX_MASK)
  }

  /** The active buffer, which stays as it is (but for bits that rise) until the same reader leaves. */
  enter(reader: number): BitArray {
    const slot = 1 + reader
    assert(slot < this.#control.length, `reader ${reader} has no word`)
    assert(Atomics.load(this.#control, slot) === OUTSIDE, `reader ${reader} is inside already`)
    let word = Atomics.load(this.#control, 0)
    for (;;) {
      Atomics.store(this.#control, slot, word)
      // Only now does the writer see us. A swap before that may have given the buffer away: look again.
      const now = Atomics.load(this.#control, 0)
      if (now === word) return this.#buffer(word & INDEX_MASK)
      word = now
    }
  }

  leave(reader: number): void {
    Atomics.store(this.#control, 1 + reader, OUTSIDE)
  }

  /**
   * A buffer to build in, with whatever it held last: neither active nor with any reader inside, and so it stays until
   * it is swapped in. Undefined while readers keep all of the pool.
   */
  idle(): BitArray | undefined {
    const active = Atomics.load(this.#control, 0) & INDEX_MASK
    // Those that exist first: memory grows only when they are all in use.
    for (let i = 0; i < this.#poolSize; i++)
      if (this.#buffers[i] && i !== active && !this.#isPinned(i)) return this.#buffers[i]
    for (let i = 0; i < this.#poolSize; i++)
      if (!this.#buffers[i] && i !== active && !this.#isPinned(i)) return this.#buffer(i)
    return undefined
  }

  /** Makes a buffer that `idle` gave the active one. Readers see the old state or the new one. */
  swap(buffer: ReplicaBits): void {
    const index = this.#buffers.findIndex((candidate) => candidate === buffer)
    const word = Atomics.load(this.#control, 0)
    assert(index >= 0 && index !== (word & INDEX_MASK), 'only an idle buffer of the pool can become active')
    const epoch = word >>> INDEX_BITS
    const next = ((epoch === MAX_EPOCH ? 1 : epoch + 1) << INDEX_BITS) | index
    assert(Atomics.compareExchange(this.#control, 0, word, next) === word, 'a double buffer has one writer')
  }

  /** What `idle` gave it gives again. */
  discard(): void {}

  // Its readers ask whether there is a state before they look: nothing is to be done.
  show(): void {}
  hide(): void {}
  release(): void {}
  work(): void {}

  #isPinned(index: number): boolean {
    for (let slot = 1; slot < this.#control.length; slot++) {
      const word = Atomics.load(this.#control, slot)
      if (word !== OUTSIDE && (word & INDEX_MASK) === index) return true
    }
    return false
  }

  #buffer(index: number): BitArray {
    return (this.#buffers[index] ??= new BitArray(this.bitCount, this.#allocate(index)))
  }
}
