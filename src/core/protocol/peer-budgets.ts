import { maxFrameBytes } from '../digest/digest-codec.ts'
import type { Budget } from '../peers/token-bucket.ts'

/** What one peer may cost us (PROTOCOL rule 8). */
export interface PeerBudgets {
  /** Bytes of frames that it may send us. */
  readonly receivedBytes: Budget
  /** Steps of building and proving that they may cost: a position, or some words. */
  readonly receivedSteps: Budget
  /** Bytes of answers and snapshots that it may ask of us. */
  readonly sentBytes: Budget
}

const BURST_SNAPSHOTS = 4
/** A publisher that changes faster than this is no cache: a snapshot a minute, and a hundred thousand positions a second. */
const SNAPSHOTS_PER_SECOND = 1 / 60
const DELTA_BYTES_PER_SECOND = 256 * 1024
const STEPS_PER_SECOND = 200_000
/** A full snapshot is proved in a step for each set bit, and as many for words. */
const STEPS_PER_BIT = 1

/**
 * So much that no peer which keeps the rules ever meets it, whatever befalls it.
 * @param maxBitCount of the digests of others; `ownBitCount` of ours
 */
export function peerBudgets(maxBitCount: number, ownBitCount: number): PeerBudgets {
  const largest = maxFrameBytes({ maxBitCount })
  const own = maxFrameBytes({ maxBitCount: ownBitCount })
  return {
    receivedBytes: {
      burst: BURST_SNAPSHOTS * largest + DELTA_BYTES_PER_SECOND,
      perSecond: DELTA_BYTES_PER_SECOND + largest * SNAPSHOTS_PER_SECOND,
    },
    receivedSteps: {
      burst: BURST_SNAPSHOTS * maxBitCount * STEPS_PER_BIT + STEPS_PER_SECOND,
      perSecond: STEPS_PER_SECOND + maxBitCount * STEPS_PER_BIT * SNAPSHOTS_PER_SECOND,
    },
    sentBytes: {
      burst: BURST_SNAPSHOTS * own + DELTA_BYTES_PER_SECOND,
      perSecond: DELTA_BYTES_PER_SECOND + own * SNAPSHOTS_PER_SECOND,
    },
  }
}
