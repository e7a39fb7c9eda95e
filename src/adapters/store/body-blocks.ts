import assert from 'node:assert'

const FIRST_BLOCK_BYTES = 4 * 1024
// As large as what a socket brings at once: larger ones would only leave more of the last one unused.
const LARGEST_BLOCK_BYTES = 64 * 1024

interface Block {
  readonly bytes: Uint8Array
  /** Where its first byte stands in the body. */
  readonly start: number
  usedBytes: number
}

/**
 * The bytes of a body that is coming in, copied into blocks: what is held is neither a small piece that keeps a larger
 * buffer of node's alive, nor an object per chunk of the sender's. A byte once in a block is never written over, so a
 * view stays good for as long as its reader keeps it.
 */
export class BodyBlocks {
  readonly #announcedBytes: number | undefined
  /** In the order of the body. */
  readonly #blocks: Block[] = []
  #length = 0
  #heldBytes = 0

  /** @param announcedBytes the body's length if known: it gets one block of just that size, at its first byte */
  constructor(announcedBytes: number | undefined) {
    this.#announcedBytes = announcedBytes
  }

  /** Bytes that have come in so far, dropped ones included. */
  get length(): number {
    return this.#length
  }

  /** Size of the blocks, used or not. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** By how much `heldBytes` grows if `count` bytes are appended. */
  growthFor(count: number): number {
    const last = this.#blocks.at(-1)
    const missing = last === undefined ? count : count - (last.bytes.length - last.usedBytes)
    if (missing <= 0) return 0
    if (this.#announcedBytes !== undefined) return Math.max(missing, this.#announcedBytes - this.#length)
    // In step with what has come: half of it is unused at most.
    return Math.max(missing, FIRST_BLOCK_BYTES, Math.min(this.#length, LARGEST_BLOCK_BYTES))
  }

  append(chunk: Uint8Array): void {
    const growth = this.growthFor(chunk.length)
    const last = this.#blocks.at(-1)
    const fitting = last === undefined ? 0 : Math.min(chunk.length, last.bytes.length - last.usedBytes)
    if (last !== undefined) this.#fill(last, chunk.subarray(0, fitting))
    if (growth === 0) return
    const block = { bytes: new Uint8Array(growth), start: this.#length, usedBytes: 0 }
    this.#blocks.push(block)
    this.#heldBytes += growth
    this.#fill(block, chunk.subarray(fitting))
  }

  /** What lies in one piece from `offset` on; `offset` must have come in and not been dropped. */
  view(offset: number): Uint8Array {
    let low = 0
    let high = this.#blocks.length - 1
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if (this.#blocks[middle]!.start <= offset) low = middle
      else high = middle - 1
    }
    const block = this.#blocks[low]
    assert(block !== undefined && block.start <= offset && offset < this.#length, 'a view of bytes that are not held')
    return block.bytes.subarray(offset - block.start, block.usedBytes)
  }

  /** Lets go of the blocks that end at or before `offset`. */
  dropBefore(offset: number): void {
    let count = 0
    for (const { start, bytes } of this.#blocks) {
      if (start + bytes.length > offset) break
      this.#heldBytes -= bytes.length
      count++
    }
    if (count > 0) this.#blocks.splice(0, count)
  }

  dropAll(): void {
    this.#blocks.length = 0
    this.#heldBytes = 0
  }

  /** The body in one piece of just its size; nothing may have been dropped. Copied only if it is not that already. */
  joined(): Uint8Array {
    const first = this.#blocks[0]
    if (first !== undefined && first.bytes.length === this.#length) return first.bytes
    const whole = new Uint8Array(this.#length)
    for (const { bytes, start, usedBytes } of this.#blocks) whole.set(bytes.subarray(0, usedBytes), start)
    return whole
  }

  #fill(block: Block, piece: Uint8Array): void {
    block.bytes.set(piece, block.usedBytes)
    block.usedBytes += piece.length
    this.#length += piece.length
  }
}
