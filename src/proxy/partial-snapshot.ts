const FIRST_ROOM_BYTES = 4096

/** A snapshot on its way: what has come of it outlasts the connection that it came over. */
export class PartialSnapshot {
  readonly #maxBytes: number
  #tag: string | undefined
  #room = new Uint8Array(0)
  #totalBytes = 0
  #receivedBytes = 0

  /** @param maxBytes a longer one is refused */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Of the state it describes, as its publisher names it; undefined before the first answer. */
  get tag(): string | undefined {
    return this.#tag
  }

  /** As announced. */
  get totalBytes(): number {
    return this.#totalBytes
  }

  get receivedBytes(): number {
    return this.#receivedBytes
  }

  get isWhole(): boolean {
    return this.#tag !== undefined && this.#receivedBytes === this.#totalBytes
  }

  /** Once it is whole. */
  get frame(): Uint8Array {
    return this.#room.subarray(0, this.#receivedBytes)
  }

  /** Forgets all that has come; the frame stays with whoever took it. */
  clear(): void {
    this.#tag = undefined
    this.#receivedBytes = 0
    this.#room = new Uint8Array(0)
  }

  /**
   * It starts, or starts anew as another state's: what had come is dropped.
   * @returns false: it is longer than allowed
   */
  begin(tag: string, totalBytes: number): boolean {
    this.#tag = undefined
    this.#receivedBytes = 0
    if (totalBytes > this.#maxBytes) return false
    this.#tag = tag
    this.#totalBytes = totalBytes
    return true
  }

  /** What has come is not to be believed: the next answer starts anew. */
  drop(): void {
    this.#tag = undefined
    this.#receivedBytes = 0
    this.#totalBytes = 0
  }

  /** @returns false: that is more than was announced, and nothing of it is taken */
  push(chunk: Uint8Array): boolean {
    const needed = this.#receivedBytes + chunk.length
    if (needed > this.#totalBytes) return false
    // What was announced costs its sender nothing, so room grows with what has really come.
    if (needed > this.#room.length) {
      const room = new Uint8Array(Math.min(this.#totalBytes, Math.max(FIRST_ROOM_BYTES, 2 * needed)))
      room.set(this.frame)
      this.#room = room
    }
    this.#room.set(chunk, this.#receivedBytes)
    this.#receivedBytes = needed
    return true
  }
}
