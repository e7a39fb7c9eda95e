/** A thing that happens at a moment of virtual time. */
export interface Timer {
  readonly atMs: number
  /** Whose it is; -1: the world's. */
  readonly owner: number
  cancel(): void
}

class HeapTimer implements Timer {
  readonly atMs: number
  readonly owner: number
  readonly order: number
  fire: (() => void) | undefined

  constructor(atMs: number, owner: number, order: number, fire: () => void) {
    this.atMs = atMs
    this.owner = owner
    this.order = order
    this.fire = fire
  }

  cancel(): void {
    this.fire = undefined
  }
}

/** Resolves when no promise has anything left to do. Where to wait for that is the event loop's secret. */
export type Settle = () => Promise<void>

export const WORLD = -1

/** So many in one moment, and somebody sets his alarm for now, for ever. */
const MAX_AT_ONCE = 100_000

/**
 * Virtual milliseconds. Timers fire one by one, in the order of their moments and, at one moment, of their making; what
 * one has set going comes to rest before the next fires.
 */
export class VirtualTime {
  readonly #settle: Settle
  readonly #heap: HeapTimer[] = []
  #nowMs = 0
  #made = 0
  #steps = 0
  #atOnce = 0

  constructor(settle: Settle) {
    this.#settle = settle
  }

  get nowMs(): number {
    return this.#nowMs
  }

  /** Timers fired so far. */
  get stepCount(): number {
    return this.#steps
  }

  at(atMs: number, owner: number, fire: () => void): Timer {
    const timer = new HeapTimer(Math.max(atMs, this.#nowMs), owner, this.#made++, fire)
    this.#heap.push(timer)
    this.#siftUp(this.#heap.length - 1)
    return timer
  }

  after(ms: number, owner: number, fire: () => void): Timer {
    return this.at(this.#nowMs + ms, owner, fire)
  }

  /**
   * Fires everything due up to `untilMs`, which it is then.
   * @param stepped called with the timer's owner after each has come to rest; false ends the run
   */
  async run(untilMs: number, stepped: (owner: number) => boolean): Promise<void> {
    await this.#settle()
    for (;;) {
      const timer = this.#heap[0]
      if (timer === undefined || timer.atMs > untilMs) break
      this.#pop()
      const { fire } = timer
      if (fire === undefined) continue
      this.#atOnce = timer.atMs === this.#nowMs ? this.#atOnce + 1 : 0
      if (this.#atOnce > MAX_AT_ONCE) throw new Error(`time stands still at ${this.#nowMs} ms, by ${timer.owner}`)
      this.#nowMs = timer.atMs
      this.#steps++
      fire()
      await this.#settle()
      if (!stepped(timer.owner)) return
    }
    this.#nowMs = untilMs
  }

  #pop(): void {
    const last = this.#heap.pop()!
    if (this.#heap.length === 0) return
    this.#heap[0] = last
    this.#siftDown()
  }

  #siftUp(index: number): void {
    const heap = this.#heap
    const timer = heap[index]!
    let at = index
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(timer, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = timer
  }

  #siftDown(): void {
    const heap = this.#heap
    const timer = heap[0]!
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, timer)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = timer
  }
}

function isBefore(a: HeapTimer, b: HeapTimer): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)
}
