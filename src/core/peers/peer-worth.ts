/** Where it is not known how long the origin takes. */
const UNKNOWN_ORIGIN_MS = 100
/** So many times the origin's time may a peer cost more than it saves, and so much merit is kept for later. */
const ALLOWANCE = 4
/** Less than that is what any busy machine loses now and then. */
const LEAST_ALLOWANCE_MS = 100
/**
 * So much slower than the origin may a hit be before it costs anything: it spares the origin, and the way there, all the
 * same. As a share of the origin's time, and at least.
 */
const FAVOUR = 0.05
const LEAST_FAVOUR_MS = 5
/** Trials in a row that say it would pay, before it is asked again. */
const TRIALS = 4
const FIRST_PAUSE_MS = 1_000
const LAST_PAUSE_MS = 60_000

/** How a question to a peer ended. */
export type AskOutcome = 'hit' | 'false-hit' | 'failed'

/**
 * Whether a peer pays for being asked (PROTOCOL rule 11): what its hits have saved against the origin's time, less what
 * its false hits, failures and slow answers have cost. It is an account with an overdraft: who costs more than some origin
 * requests would is switched off, and measured by trials that no request waits for, until these say that it would pay.
 */
export class PeerWorth {
  #balanceMs = 0
  #savedMs = 0
  #isOff = false
  #trials = 0
  #trialMs = 0
  #pauseMs = FIRST_PAUSE_MS
  #trialDueMs = -Infinity
  readonly #switched: (isOff: boolean) => void

  /** @param switched called when `isOff` has changed */
  constructor(switched: (isOff: boolean) => void = () => undefined) {
    this.#switched = switched
  }

  get isOff(): boolean {
    return this.#isOff
  }

  /** In all, by questions that requests have waited for; negative where they have cost more. */
  get savedMs(): number {
    return this.#savedMs
  }

  /** @returns whether that switches it off */
  asked(outcome: AskOutcome, elapsedMs: number, originMs: number | undefined, nowMs: number): boolean {
    const gainMs = gainOf(outcome, elapsedMs, originMs)
    this.#savedMs += outcome === 'hit' ? (originMs ?? elapsedMs) - elapsedMs : -elapsedMs
    const allowanceMs = Math.max(LEAST_ALLOWANCE_MS, ALLOWANCE * (originMs ?? UNKNOWN_ORIGIN_MS))
    if (this.#isOff) return false
    this.#balanceMs = Math.min(allowanceMs, this.#balanceMs + gainMs)
    if (this.#balanceMs >= -allowanceMs) return false
    this.#isOff = true
    this.#pause(nowMs)
    this.#switched(true)
    return true
  }

  /** While it is off: whether one more trial is due. Whoever is told so makes it. */
  takeTrial(nowMs: number): boolean {
    if (!this.#isOff || nowMs < this.#trialDueMs) return false
    // One at a time.
    this.#trialDueMs = nowMs + LAST_PAUSE_MS
    return true
  }

  /** @returns whether that switches it on again */
  tried(outcome: AskOutcome, elapsedMs: number, originMs: number | undefined, nowMs: number): boolean {
    if (!this.#isOff) return false
    this.#trialMs += gainOf(outcome, elapsedMs, originMs)
    if (this.#trialMs < 0) {
      this.#pause(nowMs)
      return false
    }
    this.#trialDueMs = nowMs
    if (++this.#trials < TRIALS) return false
    this.#isOff = false
    this.#balanceMs = 0
    this.#pauseMs = FIRST_PAUSE_MS
    this.#switched(false)
    return true
  }

  /** Trials start anew, after a pause that doubles. */
  #pause(nowMs: number): void {
    this.#trials = 0
    this.#trialMs = 0
    this.#trialDueMs = nowMs + this.#pauseMs
    this.#pauseMs = Math.min(2 * this.#pauseMs, LAST_PAUSE_MS)
  }
}

function gainOf(outcome: AskOutcome, elapsedMs: number, originMs: number | undefined): number {
  if (outcome !== 'hit') return -elapsedMs
  return originMs === undefined ? 0 : originMs + Math.max(LEAST_FAVOUR_MS, FAVOUR * originMs) - elapsedMs
}
