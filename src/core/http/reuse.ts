import { currentAgeMs, MUST_REVALIDATE, NO_CACHE } from './freshness.ts'
import type { RequestFacts, ReuseFacts } from './freshness.ts'

/**
 * One interned value per reason. 'serve': answer from the store. 'coding-refused': the client cannot read this body, and
 * a validation would not change that: fetch without conditions. Anything else: validate first.
 */
export type ReuseVerdict =
  | 'serve'
  | 'coding-refused'
  | 'no-cache'
  | 'request-no-cache'
  | 'stale'
  | 'request-max-age'
  | 'request-min-fresh'

/** May a shared cache answer from a stored response at `nowMs` (monotonic) without asking anyone? RFC 9111 §4. */
export function judgeReuse(facts: ReuseFacts, request: RequestFacts, nowMs: number): ReuseVerdict {
  if (facts.flags & request.refusedCodings) return 'coding-refused' // RFC 9110 §12.5.3
  if (facts.flags & NO_CACHE) return 'no-cache' // §5.2.2.4
  if (request.flags & NO_CACHE) return 'request-no-cache' // §5.2.1.4

  const ageMs = currentAgeMs(facts, nowMs) // §4.2.3
  const spareMs = facts.lifetimeMs - ageMs // §4.2
  if (spareMs <= 0) {
    if (facts.flags & MUST_REVALIDATE) return 'stale' // §5.2.2.2, §5.2.2.8, §5.2.2.10
    if (-spareMs > request.maxStaleMs) return 'stale' // §4.2.4, §5.2.1.2
  }
  if (ageMs > request.maxAgeMs) return 'request-max-age' // §5.2.1.1
  return spareMs < request.minFreshMs ? 'request-min-fresh' : 'serve' // §5.2.1.3
}
