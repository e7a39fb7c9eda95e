/** A signal that is aborted when the caller's is, or with time. Who makes one ends it. */
export class Deadline {
  readonly #controller = new AbortController()
  readonly #outer: AbortSignal
  readonly #onAbort: () => void
  readonly #timer: NodeJS.Timeout

  /** @param awaited what has not come then, for the message */
  constructor(outer: AbortSignal, ms: number, awaited: string) {
    this.#outer = outer
    this.#onAbort = () => this.#controller.abort(new DOMException('closed', 'AbortError'))
    this.#timer = setTimeout(() => {
      this.#controller.abort(new DOMException(`no ${awaited} within ${ms} ms`, 'TimeoutError'))
    }, ms)
    if (outer.aborted) this.#onAbort()
    else outer.addEventListener('abort', this.#onAbort, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** There is time enough from here on; the caller's signal still counts. */
  lift(): void {
    clearTimeout(this.#timer)
  }

  end(): void {
    this.lift()
    this.#outer.removeEventListener('abort', this.#onAbort)
  }
}
