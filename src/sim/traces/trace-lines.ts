/** Longer lines are skipped: a URL has 8 KiB at most, and a referrer and a user agent stand beside it. */
export const MAX_LINE_BYTES = 65_536

const LINE_FEED = 10
const CARRIAGE_RETURN = 13

/** Takes lines one at a time, empty ones as well. Undefined: one that is longer than MAX_LINE_BYTES. */
export type LineSink = (line: string | undefined) => void

/** Cuts bytes into lines, a byte a character, whatever their line ends; holds no more than one line. */
export class LineSplitter {
  readonly #sink: LineSink
  #held: Buffer[] = []
  #heldBytes = 0
  #overlong = false

  constructor(sink: LineSink) {
    this.#sink = sink
  }

  add(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
    let from = 0
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, from)) {
      this.#endLine(bytes.subarray(from, end))
      from = end + 1
    }
    if (from < bytes.length) this.#hold(bytes.subarray(from))
  }

  /** The last line may lack its end. */
  finish(): void {
    if (this.#heldBytes > 0 || this.#overlong) this.#endLine(Buffer.alloc(0))
  }

  #hold(part: Buffer): void {
    if (this.#heldBytes + part.length > MAX_LINE_BYTES) this.#overlong = true
    if (this.#overlong) {
      this.#held = []
      this.#heldBytes = 0
      return
    }
    // A copy: the chunk's memory may be used again.
    this.#held.push(Buffer.from(part))
    this.#heldBytes += part.length
  }

  #endLine(part: Buffer): void {
    const isOverlong = this.#overlong || this.#heldBytes + part.length > MAX_LINE_BYTES
    const line = isOverlong ? undefined : this.#heldBytes === 0 ? part : Buffer.concat([...this.#held, part])
    this.#held = []
    this.#heldBytes = 0
    this.#overlong = false
    if (line === undefined) return this.#sink(undefined)
    const end = line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length
    this.#sink(line.toString('latin1', 0, end))
  }
}
