import type { ProxyEvent } from '../../proxy/proxy-event.ts'

/** How many events a listener may be behind, and how many are kept for those that come back. */
export const BACKLOG = 256
/** Each costs a socket and a backlog. */
export const MAX_LISTENERS = 32

export interface FeedMessage {
  /** Absent on a notice that belongs to one listener only. */
  readonly id?: string
  readonly event: string
  readonly data: ProxyEvent | DroppedNotice
}

export interface DroppedNotice {
  readonly kind: 'dropped'
  readonly count: number
}

/** Numbers a proxy's events and hands them to listeners, none of which can hold up the others or the proxy. */
export class EventFeed {
  /** Tells our numbers from those of an earlier start. */
  readonly #epoch: string
  readonly #recent: FeedMessage[] = []
  readonly #listeners = new Set<FeedListener>()
  #last = 0
  #closed = false

  constructor(epoch: string) {
    this.#epoch = epoch
  }

  publish(event: ProxyEvent): void {
    this.#last++
    const message = { id: `${this.#epoch}-${this.#last}`, event: event.kind, data: event }
    this.#recent[this.#last % BACKLOG] = message
    for (const listener of this.#listeners) listener.push(message)
  }

  /**
   * @param lastId the last message that the listener has had; what followed and is still kept comes first
   * @returns undefined when there are too many listeners already, or none may come any more
   */
  listen(lastId: string | undefined): FeedListener | undefined {
    if (this.#closed || this.#listeners.size >= MAX_LISTENERS) return undefined
    const listener = new FeedListener()
    for (let number = this.#nextAfter(lastId); number <= this.#last; number++) {
      listener.push(this.#recent[number % BACKLOG]!)
    }
    this.#listeners.add(listener)
    return listener
  }

  leave(listener: FeedListener): void {
    this.#listeners.delete(listener)
    listener.end()
  }

  /** Ends every listener, and lets no other in. */
  close(): void {
    this.#closed = true
    for (const listener of this.#listeners) this.leave(listener)
  }

  #nextAfter(lastId: string | undefined): number {
    const [, epoch, digits] = /^(\w+)-(\d+)$/.exec(lastId ?? '') ?? []
    const number = Number(digits)
    if (epoch !== this.#epoch || number > this.#last) return this.#last + 1
    return Math.max(number, this.#last - BACKLOG, 0) + 1
  }
}

/** One reader's backlog. When it is full, what comes is left out and counted. */
export class FeedListener {
  readonly #queue: FeedMessage[] = []
  #dropped = 0
  #ended = false
  #wake: (() => void) | undefined

  push(message: FeedMessage): void {
    // Also while a notice is due: what comes after it must not come before it.
    if (this.#dropped > 0 || this.#queue.length >= BACKLOG) this.#dropped++
    else this.#queue.push(message)
    this.#wake?.()
  }

  end(): void {
    this.#ended = true
    this.#wake?.()
  }

  /** In order, until the end. For one reader. */
  async *messages(): AsyncGenerator<FeedMessage, void, void> {
    while (!this.#ended) {
      const message = this.#queue.shift()
      if (message !== undefined) {
        yield message
        continue
      }
      if (this.#dropped > 0) {
        const count = this.#dropped
        this.#dropped = 0
        yield { event: 'dropped', data: { kind: 'dropped', count } }
        continue
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        if (this.#ended) resolve()
      })
      this.#wake = undefined
    }
  }
}
