import type { Clock } from '../proxy/ports.ts'
import type { Timer, VirtualTime } from './virtual-time.ts'

interface Sleeper {
  readonly timer: Timer
  readonly wake: () => void
}

/**
 * The clock of one proxy's life, on virtual time. Its wall clock may be wrong and may step. Once stopped it wakes nobody:
 * as for a process that was killed, what waited is never gone on with.
 */
export class VirtualClock implements Clock {
  readonly #time: VirtualTime
  readonly #owner: number
  readonly #sleepers = new WeakMap<AbortSignal, Set<Sleeper>>()
  #wallOffsetMs: number
  #isStopped = false

  /** @param wallOffsetMs what its wall clock shows when virtual time is 0 */
  constructor(time: VirtualTime, owner: number, wallOffsetMs: number) {
    this.#time = time
    this.#owner = owner
    this.#wallOffsetMs = wallOffsetMs
  }

  wallMs(): number {
    return this.#wallOffsetMs + this.#time.nowMs
  }

  monotonicMs(): number {
    return this.#time.nowMs
  }

  stepWall(byMs: number): void {
    this.#wallOffsetMs += byMs
  }

  stop(): void {
    this.#isStopped = true
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const sleepers = this.#sleepersOf(signal)
      const wake = (): void => {
        sleepers.delete(sleeper)
        if (!this.#isStopped) resolve()
      }
      const sleeper = { timer: this.#time.after(ms, this.#owner, wake), wake }
      sleepers.add(sleeper)
    })
  }

  // One listener for a signal, however often it is slept under: listeners cost more than all the rest of a sleep.
  #sleepersOf(signal: AbortSignal): Set<Sleeper> {
    const known = this.#sleepers.get(signal)
    if (known !== undefined) return known
    const sleepers = new Set<Sleeper>()
    this.#sleepers.set(signal, sleepers)
    signal.addEventListener('abort', () => {
      for (const { timer, wake } of sleepers) {
        timer.cancel()
        wake()
      }
    })
    return sleepers
  }
}
