const SMOOTHING = 1 / 8

/** A running average of durations, in which later ones count more. */
export class SmoothedTime {
  #ms: number | undefined

  /** Undefined before the first. */
  get ms(): number | undefined {
    return this.#ms
  }

  add(ms: number): void {
    this.#ms = this.#ms === undefined ? ms : this.#ms + (ms - this.#ms) * SMOOTHING
  }
}
