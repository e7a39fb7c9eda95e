// The first pause is as long as a first failure may go unnoticed (PROTOCOL rule 9: skipped within a second); the last
// is short enough that a peer which comes back is found within half a minute.
const FIRST_PAUSE_MS = 1_000
const LAST_PAUSE_MS = 30_000

/**
 * Whether a peer may be asked for objects. A failure suspends it; it comes back when it has been heard of again (a
 * frame of its digest) after a pause that doubles with each further failure, so that no request pays for the trial.
 */
export class PeerHealth {
  #failures = 0
  #retryAtMs = -Infinity
  #suspended = false
  #reason = ''
  readonly #changed: () => void

  /** @param changed called when `mayBeAsked` has changed */
  constructor(changed: () => void = () => undefined) {
    this.#changed = changed
  }

  failed(nowMs: number, reason: string): void {
    // Requests that were under way together fail together: one failure, no reason to double the pause.
    if (this.#suspended) return
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, LAST_PAUSE_MS)
    this.#failures = Math.min(this.#failures + 1, 16)
    this.#retryAtMs = nowMs + pauseMs
    this.#suspended = true
    this.#reason = reason
    this.#changed()
  }

  /** A frame came from it. Returns true when that ends a suspension. */
  heard(nowMs: number): boolean {
    if (!this.#suspended || nowMs < this.#retryAtMs) return false
    this.#suspended = false
    this.#changed()
    return true
  }

  /** It answered a question. */
  answered(): void {
    this.#failures = 0
  }

  /** Before this nothing that is heard ends a suspension. */
  get retryAtMs(): number {
    return this.#retryAtMs
  }

  get mayBeAsked(): boolean {
    return !this.#suspended
  }

  /** Why it was suspended last; '' when it never was. */
  get reason(): string {
    return this.#reason
  }
}
