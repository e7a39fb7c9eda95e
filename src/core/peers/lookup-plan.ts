/** What to do next for a request that our own store cannot answer. Peers are named by their index in the table. */
export type LookupStep =
  | { readonly kind: 'fetch-peer'; readonly peer: number; readonly timeoutMs: number }
  | { readonly kind: 'fetch-peers'; readonly peers: readonly number[]; readonly timeoutMs: number }
  | { readonly kind: 'fetch-origin' }
  | { readonly kind: 'done' }

/** How a step ended: an answer came, a peer's digest had guessed wrong, or nobody answered. */
export type StepOutcome = 'hit' | 'false-hit' | 'failed'

export const ASK_WAYS = ['best', 'all'] as const
/** 'best': one after the other. 'all': every claimant at once, as in Summary Cache. */
export type AskWay = (typeof ASK_WAYS)[number]

/** How a miss is looked for at peers (PROTOCOL rule 11). */
export interface LookupPolicy {
  readonly ask: AskWay
  /** Peers asked for one request at most, where they are asked one after the other. */
  readonly tries: number
  /** All that asking peers may add to one request. */
  readonly addedDelayMs: number
}

/**
 * Two tries: at 16 bits per entry a second false hit in a row comes once in 10^5 lookups, so a further claimant is nearly
 * always worth asking. The delay is one that people do not yet take for a fault.
 */
export const DEFAULT_LOOKUP_POLICY: LookupPolicy = { ask: 'best', tries: 2, addedDelayMs: 500 }

/** So many times as long as the origin takes may a peer be waited for, or asking it cannot pay. */
const ORIGIN_TIMES = 4
/** Below this, what looks like a slow peer is a busy machine. */
const LEAST_DELAY_MS = 100

const FETCH_ORIGIN: LookupStep = { kind: 'fetch-origin' }
const DONE: LookupStep = { kind: 'done' }

/**
 * What asking peers may add to a request.
 * @param originMs how long the origin takes, as far as is known
 */
export function addedDelayMs(policy: LookupPolicy, originMs: number | undefined): number {
  if (originMs === undefined) return policy.addedDelayMs
  return Math.min(policy.addedDelayMs, Math.max(LEAST_DELAY_MS, ORIGIN_TIMES * originMs))
}

/**
 * The order in which a miss is looked for elsewhere: the candidates, best first, one at a time or all at once, then the
 * origin (PROTOCOL rule 11). Performed by whoever holds the plan; it only says what comes next.
 */
export class LookupPlan {
  readonly #candidates: readonly number[]
  readonly #ask: AskWay
  readonly #endMs: number
  #tried = 0
  #step: LookupStep

  /**
   * @param candidates peers whose digests may contain the key, in the order in which they are to be asked
   * @param originMs how long the origin takes, as far as is known
   */
  constructor(
    candidates: readonly number[],
    nowMs = 0,
    policy: LookupPolicy = DEFAULT_LOOKUP_POLICY,
    originMs?: number,
  ) {
    this.#candidates = policy.ask === 'all' ? candidates : candidates.slice(0, policy.tries)
    this.#ask = policy.ask
    this.#endMs = nowMs + addedDelayMs(policy, originMs)
    this.#step = this.#next(nowMs)
  }

  get step(): LookupStep {
    return this.#step
  }

  after(outcome: StepOutcome, nowMs = 0): LookupStep {
    const askedPeers = this.#step.kind === 'fetch-peer' || this.#step.kind === 'fetch-peers'
    this.#step = outcome === 'hit' || !askedPeers ? DONE : this.#next(nowMs)
    return this.#step
  }

  #next(nowMs: number): LookupStep {
    const timeoutMs = this.#endMs - nowMs
    const left = this.#candidates.slice(this.#tried)
    if (left.length === 0 || timeoutMs <= 0) return FETCH_ORIGIN
    if (this.#ask === 'all' && left.length > 1) {
      this.#tried += left.length
      return { kind: 'fetch-peers', peers: left, timeoutMs }
    }
    this.#tried++
    return { kind: 'fetch-peer', peer: left[0]!, timeoutMs }
  }
}
