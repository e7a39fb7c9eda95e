/**
 * A body whose chunks come when the test says so. Like a stream's generator that waits for its own source, it takes no
 * notice of `return` while a chunk is asked for: a filling must not wait for it.
 */
export class HandDrivenSource implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array, undefined> {
  /** How many chunks were asked for. */
  asked = 0
  cancelled = false
  readonly #queue: Uint8Array[] = []
  #served = 0
  #end: 'ended' | Error | undefined
  #waiting: PromiseWithResolvers<IteratorResult<Uint8Array, undefined>> | undefined;

  [Symbol.asyncIterator](): this {
    return this
  }

  push(...chunks: readonly Uint8Array[]): void {
    this.#queue.push(...chunks)
    this.#serve()
  }

  end(): void {
    this.#end = 'ended'
    this.#serve()
  }

  fail(error: Error): void {
    this.#end = error
    this.#serve()
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.asked++
    this.#waiting = Promise.withResolvers()
    const { promise } = this.#waiting
    this.#serve()
    return promise
  }

  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.cancelled = true
    return this.#waiting?.promise ?? Promise.resolve({ done: true, value: undefined })
  }

  #serve(): void {
    const waiting = this.#waiting
    if (waiting === undefined) return
    const chunk = this.#queue[this.#served]
    if (chunk === undefined && this.#end === undefined) return
    this.#waiting = undefined
    if (chunk !== undefined) {
      this.#served++
      waiting.resolve({ done: false, value: chunk })
    } else if (this.#end instanceof Error) waiting.reject(this.#end)
    else waiting.resolve({ done: true, value: undefined })
  }
}

/** Everything that can happen without another event from outside has happened. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** Bytes that differ from place to place, and from seed to seed. */
export function bytesOf(length: number, seed = 0): Uint8Array {
  const bytes = new Uint8Array(length)
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + (i >>> 8) * 7 + seed * 101) & 0xff
  return bytes
}

export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(pieces))
}

/** `bytes` in pieces of the given sizes, used in turn. */
export function cut(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (let start = 0, i = 0; start < bytes.length; i++) {
    const size = Math.max(1, sizes[i % sizes.length] ?? 1)
    pieces.push(bytes.subarray(start, start + size))
    start += size
  }
  return pieces
}
