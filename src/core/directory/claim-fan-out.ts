import type { ClaimListener } from './cache-directory.ts'

/** One listener that tells each of several, in their order. */
export function claimFanOut(listeners: readonly ClaimListener[]): ClaimListener {
  return {
    claimed: (...claim) => {
      for (const listener of listeners) listener.claimed(...claim)
    },
    unclaimed: (...claim) => {
      for (const listener of listeners) listener.unclaimed(...claim)
    },
    moved: (...claim) => {
      for (const listener of listeners) listener.moved(...claim)
    },
  }
}
