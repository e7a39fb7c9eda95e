/**
 * Why a digest sent us to a peer in vain (PROTOCOL rule 10). `collision`: other keys' bits looked like this one.
 * `pending-clear`: the entry has gone and its bits are not cleared yet. `freshness`: held, but stale. `variant`: held,
 * but not the variant asked for. `unknown`: the peer did not say.
 */
export const FALSE_HIT_CAUSES = ['collision', 'pending-clear', 'freshness', 'variant', 'unknown'] as const
export type FalseHitCause = (typeof FALSE_HIT_CAUSES)[number]

/**
 * Why a peer had what its digest did not claim. `freshness`: its replica had not caught up yet, and claims it since.
 * `unknown`: it has caught up and does not: the entry has gone since, or the digest is wrong.
 */
export const FALSE_MISS_CAUSES = ['freshness', 'unknown'] as const
export type FalseMissCause = (typeof FALSE_MISS_CAUSES)[number]

/** How one peer's digest has guessed so far. */
export interface GuessCounts {
  trueHits: number
  falseHits: Record<FalseHitCause, number>
  /** Asked, and no answer came in time or the connection failed: no guess of the digest's. */
  failures: number
  /** Times the digest was tested for a key, and the times it claimed one: the base of the measured error. */
  readonly tests: number
  claims: number
  /** Asked, on a sample, though its digest did not claim the key; and had it all the same. */
  probes: number
  falseMisses: number
  /** Of those whose replica has caught up meanwhile. */
  falseMissCauses: Record<FalseMissCause, number>
}

/** @param testCount how often the digest has been tested so far: counted by the lookups, not by the peer */
export function newGuessCounts(testCount: () => number): GuessCounts {
  return {
    trueHits: 0,
    falseHits: { collision: 0, 'pending-clear': 0, freshness: 0, variant: 0, unknown: 0 },
    failures: 0,
    get tests() {
      return testCount()
    },
    claims: 0,
    probes: 0,
    falseMisses: 0,
    falseMissCauses: { freshness: 0, unknown: 0 },
  }
}

/** Collisions per test that should have said no, to hold beside what theory predicts; null before the first such test. */
export function measuredError({ falseHits, tests, trueHits }: GuessCounts): number | null {
  const refusable = tests - trueHits
  return refusable > 0 ? falseHits.collision / refusable : null
}
