import { UNKEYED } from '../../../src/core/filter/filter-geometry.ts'
import type { PeerTableOptions } from '../../../src/core/peers/peer-table.ts'
import { peerBudgets } from '../../../src/core/protocol/peer-budgets.ts'

/** Of a table for digests of so many bits at most, without keys. */
export function tableOptions(maxBitCount: number): PeerTableOptions {
  return { maxBitCount, hashing: UNKEYED, heartbeatMs: 5_000, budgets: peerBudgets(maxBitCount, maxBitCount) }
}
