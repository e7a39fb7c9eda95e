const WHO_WIDTH = 12

/**
 * What happened in a simulation: always a hash of all of it, by which two runs are told to be the same one, and the lines
 * themselves where they are to be read.
 */
export class Transcript {
  readonly lines: string[] | undefined
  #hash = 0x811c9dc5
  #count = 0

  /** @param isKept whether the lines are wanted */
  constructor(isKept: boolean) {
    this.lines = isKept ? [] : undefined
  }

  get count(): number {
    return this.#count
  }

  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, '0')
  }

  /**
   * @param who 'a' or 'a -> b'
   * @param what a word for it, which is hashed
   * @param detail a number that tells it from others of its kind, hashed too
   * @param text the rest of the line, worked out only where lines are kept
   */
  note(nowMs: number, who: string, what: string, detail: number, text?: () => string): void {
    this.#count++
    this.#mix(Math.round(nowMs * 1000))
    this.#mix(detail)
    for (let i = 0; i < who.length; i++) this.#mix(who.charCodeAt(i))
    for (let i = 0; i < what.length; i++) this.#mix(what.charCodeAt(i))
    if (this.lines === undefined) return
    const seconds = (nowMs / 1000).toFixed(3).padStart(8)
    this.lines.push(`${seconds}  ${who.padEnd(WHO_WIDTH)}  ${what}${text === undefined ? '' : ` ${text()}`}`)
  }

  #mix(word: number): void {
    this.#hash = Math.imul(this.#hash ^ (word | 0), 0x01000193)
    this.#hash ^= this.#hash >>> 15
  }
}
