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
