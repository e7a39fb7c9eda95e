import assert from 'node:assert'
import type { EvictionPolicy, Slot } from './eviction-policy.ts'
import { NO_SLOT, SlotList } from './slot-list.ts'

/**
 * SIEVE: residents stay in the order of their arrival, and a hand moves from the oldest to the newest, sparing
 * (once) those asked for since it last passed. A hit sets one byte and moves nothing.
 *
 * @see Zhang, Yang, Yue, Vigfusson, Rashmi: SIEVE is Simpler than LRU (NSDI 2024), Algorithm 1
 */
export class Sieve implements EvictionPolicy {
  readonly #byArrival = new SlotList()
  #visited = new Uint8Array(64)
  #hand: Slot = NO_SLOT

  admitted(slot: Slot): void {
    if (slot >= this.#visited.length) this.#grow(slot)
    this.#visited[slot] = 0
    this.#byArrival.pushFront(slot)
  }

  hit(slot: Slot): void {
    this.#visited[slot] = 1
  }

  removed(slot: Slot): void {
    if (this.#hand === slot) this.#hand = this.#byArrival.ahead(slot)
    this.#byArrival.remove(slot)
  }

  victim(): Slot {
    assert(this.#byArrival.back !== NO_SLOT, 'no residents to choose from')
    let slot = this.#hand === NO_SLOT ? this.#byArrival.back : this.#hand
    while (this.#visited[slot] === 1) {
      this.#visited[slot] = 0
      const ahead = this.#byArrival.ahead(slot)
      slot = ahead === NO_SLOT ? this.#byArrival.back : ahead
    }
    this.#hand = slot
    return slot
  }

  #grow(slot: Slot): void {
    const grown = new Uint8Array(Math.max(slot + 1, this.#visited.length * 2))
    grown.set(this.#visited)
    this.#visited = grown
  }
}
