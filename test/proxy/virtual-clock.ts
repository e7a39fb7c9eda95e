import type { Clock } from '../../src/proxy/ports.ts'

interface Sleeper {
  readonly atMs: number
  readonly wake: () => void
}

/** Time that a test moves. */
export class VirtualClock implements Clock {
  #nowMs = 0
  readonly #sleepers = new Set<Sleeper>()

  wallMs(): number {
    return 1_800_000_000_000 + this.#nowMs
  }

  monotonicMs(): number {
    return this.#nowMs
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const sleeper: Sleeper = { atMs: this.#nowMs + ms, wake: resolve }
      this.#sleepers.add(sleeper)
      signal.addEventListener('abort', () => {
        this.#sleepers.delete(sleeper)
        resolve()
      })
      if (signal.aborted) resolve()
    })
  }

  /** Goes on by so much, waking whoever has slept enough, in order, and lets all that follows from it happen. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms
    await settled()
    for (;;) {
      const due = [...this.#sleepers].filter(({ atMs }) => atMs <= endMs).toSorted((a, b) => a.atMs - b.atMs)[0]
      if (due === undefined) break
      this.#nowMs = due.atMs
      this.#sleepers.delete(due)
      due.wake()
      await settled()
    }
    this.#nowMs = endMs
  }
}

/** Everything that was waiting for a promise has run. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
