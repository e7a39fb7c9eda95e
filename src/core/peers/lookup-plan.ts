/** What to do next for a request that our own store cannot answer. Peers are named by their index in the table. */
export type LookupStep =
  | { readonly kind: 'fetch-peer'; readonly peer: number }
  | { readonly kind: 'fetch-origin' }
  | { readonly kind: 'done' }

/** How a step ended: an answer came, a peer's digest had guessed wrong, or nobody answered. */
export type StepOutcome = 'hit' | 'false-hit' | 'failed'

/**
 * Two: at 16 bits per entry a second false hit in a row comes once in 10^5 lookups, so a further claimant is nearly
 * always worth asking; with a slow peer the added delay is bounded by this times the peer timeout.
 */
export const MAX_PEER_TRIES = 2

const FETCH_ORIGIN: LookupStep = { kind: 'fetch-origin' }
const DONE: LookupStep = { kind: 'done' }

/**
 * The order in which a miss is looked for elsewhere: the candidates one at a time, best first, then the origin
 * (PROTOCOL rule 11). Performed by whoever holds the plan; it only says what comes next.
 */
export class LookupPlan {
  readonly #candidates: readonly number[]
  #tried = 0
  #step: LookupStep

  /** @param candidates peers whose digests may contain the key, in the order in which they are to be asked */
  constructor(candidates: readonly number[]) {
    this.#candidates = candidates.slice(0, MAX_PEER_TRIES)
    this.#step = this.#next()
  }

  get step(): LookupStep {
    return this.#step
  }

  after(outcome: StepOutcome): LookupStep {
    if (outcome === 'hit' || this.#step.kind !== 'fetch-peer') this.#step = DONE
    else this.#step = this.#next()
    return this.#step
  }

  #next(): LookupStep {
    if (this.#tried === this.#candidates.length) return FETCH_ORIGIN
    return { kind: 'fetch-peer', peer: this.#candidates[this.#tried++]! }
  }
}
