import assert from 'node:assert'
import type { EvictionPolicy, Slot } from './eviction-policy.ts'
import { NO_SLOT, SlotList } from './slot-list.ts'

/** Gives up what was not asked for the longest: the policy of the Summary Cache paper's simulations. */
export class Lru implements EvictionPolicy {
  readonly #byRecency = new SlotList()

  admitted(slot: Slot): void {
    this.#byRecency.pushFront(slot)
  }

  hit(slot: Slot): void {
    this.#byRecency.remove(slot)
    this.#byRecency.pushFront(slot)
  }

  removed(slot: Slot): void {
    this.#byRecency.remove(slot)
  }

  victim(): Slot {
    const victim = this.#byRecency.back
    assert(victim !== NO_SLOT, 'no residents to choose from')
    return victim
  }
}
