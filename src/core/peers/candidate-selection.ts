import type { LookupPolicy } from './lookup-plan.ts'

/** What is known of a candidate when it has to be chosen. */
export interface CandidateFacts {
  /** Smoothed time to its answers' heads; 0 before the first. */
  readonly latencyMs: number
  /** Smoothed share of its digest's claims that were true; from 0 to 1. */
  readonly truthfulness: number
}

/** Claims are taken for true until they have been tried. */
export const FIRST_TRUTHFULNESS = 1
const SMOOTHING = 1 / 16

/** The share after one more claim was tried. */
export function smoothedTruth(truthfulness: number, wasTrue: boolean): number {
  return truthfulness + ((wasTrue ? 1 : 0) - truthfulness) * SMOOTHING
}

/**
 * What a hit at the candidate costs on average when it is asked: its time over its truthfulness. Asking one after the
 * other in ascending order of it makes the expected time to the first hit the least, whatever follows when all miss. 0
 * for one that was not asked yet, so that every peer is measured.
 */
export function costOfHitMs({ latencyMs, truthfulness }: CandidateFacts): number {
  return latencyMs / Math.max(truthfulness, 1e-6)
}

/**
 * Whether a peer is asked for a key, or why not. `not-consulted`: away, failed of late, or its digest is not proved.
 * `no-claim`: its digest does not claim the key. `switched-off`: it does not pay for being asked. `beyond-tries`: so many
 * others come before it.
 */
export const CANDIDATE_VERDICTS = ['asked', 'not-consulted', 'no-claim', 'switched-off', 'beyond-tries'] as const
export type CandidateVerdict = (typeof CANDIDATE_VERDICTS)[number]

/** One peer as a lookup of one key finds it. */
export interface CandidateStanding {
  readonly isConsulted: boolean
  readonly claims: boolean
  readonly isOff: boolean
  /** How many candidates come before it. */
  readonly rank: number
}

/** Agrees with what `LookupPlan` would ask as long as every question is in vain and time is left. */
export function judgeCandidate(standing: CandidateStanding, { ask, tries }: LookupPolicy): CandidateVerdict {
  if (!standing.isConsulted) return 'not-consulted' // PROTOCOL rule 9
  if (!standing.claims) return 'no-claim'
  if (standing.isOff) return 'switched-off' // rule 11
  return ask === 'best' && standing.rank >= tries ? 'beyond-tries' : 'asked' // rule 11: a bound on tries
}
