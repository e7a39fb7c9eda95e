/** Takes bit positions, one at a time. */
export interface PositionSink {
  push(position: number): void
}

const FIRST_CAPACITY = 16
const KEPT_CAPACITY = 4096

/** A growable list of bit positions. */
export class PositionList implements PositionSink {
  #positions = new Uint32Array(FIRST_CAPACITY)
  #length = 0

  get length(): number {
    return this.#length
  }

  push(position: number): void {
    if (this.#length === this.#positions.length) {
      const grown = new Uint32Array(this.#length * 2)
      grown.set(this.#positions)
      this.#positions = grown
    }
    this.#positions[this.#length++] = position
  }

  at(index: number): number {
    if (!(index >= 0 && index < this.#length)) throw new RangeError(`entry ${index} of ${this.#length}`)
    return this.#positions[index]!
  }

  /** Forgets the positions, and the memory too when it has grown large. */
  clear(): void {
    this.#length = 0
    if (this.#positions.length > KEPT_CAPACITY) this.#positions = new Uint32Array(FIRST_CAPACITY)
  }

  /** Its positions in an array of their own, ascending, each once. */
  sortUnique(): Uint32Array {
    const sorted = this.#positions.slice(0, this.#length).sort()
    let kept = 0
    for (let i = 0; i < sorted.length; i++) if (i === 0 || sorted[i] !== sorted[i - 1]) sorted[kept++] = sorted[i]!
    return sorted.slice(0, kept)
  }
}
