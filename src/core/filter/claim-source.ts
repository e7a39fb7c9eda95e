import type { KeyHash } from './key-hash.ts'

/** A directory as a summary is rebuilt from it: each key that it claims stands in one of its slots. */
export interface ClaimSource {
  /** Slots in use are below it; it may grow. */
  readonly slotCount: number
  /** Hands on every claimed key that stands in slots `fromSlot` to `toSlot`, the latter not included. */
  forEachClaim(fromSlot: number, toSlot: number, visit: (key: KeyHash) => void): void
}
