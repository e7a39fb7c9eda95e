/** Who is tested by the lookups: consulted until then, or not at all (-Infinity). */
export interface Tested {
  readonly index: number
  readonly consultedUntilMs: number
}

const NOT_TESTED = -1

/**
 * How often each peer's digest has been tested, by arithmetic: a lookup tests all that are consulted, so that counting it is
 * one step however many they are. Whoever changes what decides on consultation says so; only then, and where time ends one,
 * are the peers gone through.
 */
export class TestCounts {
  readonly #peers: () => Iterable<Tested>
  /** Of the stretches that have ended. */
  readonly #counts: number[] = []
  /** The number of lookups when the stretch began, or NOT_TESTED. */
  readonly #since: number[] = []
  #lookups = 0
  #hasChanged = false
  /** The first moment at which time alone may end a consultation. */
  #nextEndMs = Infinity

  constructor(peers: () => Iterable<Tested>) {
    this.#peers = peers
  }

  /** A lookup at this time tests all that are consulted now. */
  lookup(nowMs: number): void {
    if (this.#hasChanged || nowMs > this.#nextEndMs) this.#settle(nowMs)
    this.#lookups++
  }

  of(index: number): number {
    const since = this.#since[index] ?? NOT_TESTED
    return (this.#counts[index] ?? 0) + (since === NOT_TESTED ? 0 : this.#lookups - since)
  }

  isCounting(index: number): boolean {
    return (this.#since[index] ?? NOT_TESTED) !== NOT_TESTED
  }

  consultationChanged(): void {
    this.#hasChanged = true
  }

  /** Another peer has this index from now on, or none. */
  forget(index: number): void {
    this.#counts[index] = 0
    this.#since[index] = NOT_TESTED
    this.#hasChanged = true
  }

  #settle(nowMs: number): void {
    this.#hasChanged = false
    this.#nextEndMs = Infinity
    for (const { consultedUntilMs, index } of this.#peers()) {
      const isTested = consultedUntilMs >= nowMs
      if (isTested) this.#nextEndMs = Math.min(this.#nextEndMs, consultedUntilMs)
      if (isTested === this.isCounting(index)) continue
      this.#counts[index] = this.of(index)
      this.#since[index] = isTested ? this.#lookups : NOT_TESTED
    }
  }
}
