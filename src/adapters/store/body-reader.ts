import assert from 'node:assert'

export interface ReadableBody {
  /**
   * What there is at `offset`, `later` when it has not come yet, `end` behind the last byte.
   * @throws when it will never come
   */
  read(offset: number): Uint8Array | 'later' | 'end'
  /** The reader is done with everything before its `offset`. */
  moved(reader: BodyReader): void
  /** The reader is done altogether. Called once. */
  left(reader: BodyReader): void
}

interface Waiting {
  resolve(result: IteratorResult<Uint8Array, undefined>): void
  reject(error: unknown): void
}

/** One reader of a body that others may read too. Not a generator: `return` must work while `next` still waits. */
export class BodyReader implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #body: ReadableBody
  #offset = 0
  /** End of the piece last handed out; its reader is done with it when it asks for the next. */
  #handedOut = 0
  #left = false
  #waiting: Waiting | undefined

  constructor(body: ReadableBody) {
    this.#body = body
  }

  /** All before it has been read. */
  get offset(): number {
    return this.#offset
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    assert(this.#waiting === undefined, 'a reader asks for one piece at a time')
    if (this.#left) return Promise.resolve({ done: true, value: undefined })
    if (this.#handedOut > this.#offset) {
      this.#offset = this.#handedOut
      this.#body.moved(this)
    }
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.wake()
    })
  }

  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.leave()
    return Promise.resolve({ done: true, value: undefined })
  }

  /** More has come, or will not: looks again if it waits. */
  wake(): void {
    const waiting = this.#waiting
    if (waiting === undefined) return
    let piece: Uint8Array | 'later' | 'end'
    try {
      piece = this.#body.read(this.#offset)
    } catch (error) {
      this.#waiting = undefined
      this.leave()
      waiting.reject(error)
      return
    }
    if (piece === 'later') return
    if (piece === 'end') return this.leave()
    this.#waiting = undefined
    this.#handedOut = this.#offset + piece.length
    waiting.resolve({ done: false, value: piece })
  }

  /** Done with, at its end or before it; what is not read by now is not read any more. */
  leave(): void {
    this.#waiting?.resolve({ done: true, value: undefined })
    this.#waiting = undefined
    if (this.#left) return
    this.#left = true
    this.#body.left(this)
  }
}
