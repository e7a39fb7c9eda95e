/** Where an entry sits: a small integer, used again once its entry has gone. Policies keep arrays over slots. */
export type Slot = number

/**
 * Which entry to give up when room is needed. Knows slots and sizes, never keys, heads or time.
 * A slot is a resident from `admitted` to `removed`; the directory never tells of any other.
 */
export interface EvictionPolicy {
  /** `slot` is a resident from now on; `bytes` is its size when admitted. */
  admitted(slot: Slot, bytes: number): void
  /** A resident was asked for. */
  hit(slot: Slot): void
  /** No longer a resident, evicted or not. */
  removed(slot: Slot): void
  /**
   * The resident to evict next. It stays one until `removed` says otherwise, and is named again until then
   * unless hit meanwhile.
   * @throws {AssertionError} there are no residents: a bug of the caller
   */
  victim(): Slot
}
