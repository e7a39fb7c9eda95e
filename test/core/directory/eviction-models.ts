import type { Slot } from '../../../src/core/directory/eviction-policy.ts'

// The dull forms of the eviction policies: arrays, searched from end to end.

export interface EvictionModel {
  admitted(slot: Slot): void
  hit(slot: Slot): void
  removed(slot: Slot): void
  victim(): Slot
}

export class DullLru implements EvictionModel {
  /** The one asked for last at the end. */
  #order: Slot[] = []

  admitted(slot: Slot): void {
    this.#order.push(slot)
  }

  hit(slot: Slot): void {
    this.removed(slot)
    this.admitted(slot)
  }

  removed(slot: Slot): void {
    this.#order = this.#order.filter((other) => other !== slot)
  }

  victim(): Slot {
    return this.#order[0]!
  }
}

export class DullSieve implements EvictionModel {
  /** The newest at the end. */
  #order: Slot[] = []
  readonly #visited = new Set<Slot>()
  /** Where the hand stands in `#order`. */
  #hand = 0

  admitted(slot: Slot): void {
    // The hand has gone past the newest and starts at the oldest again, even if a newer one arrives meanwhile.
    this.#order.push(slot)
  }

  hit(slot: Slot): void {
    this.#visited.add(slot)
  }

  removed(slot: Slot): void {
    const index = this.#order.indexOf(slot)
    this.#order.splice(index, 1)
    this.#visited.delete(slot)
    if (index < this.#hand) this.#hand--
    else if (index === this.#hand && index === this.#order.length) this.#hand = 0
  }

  victim(): Slot {
    while (this.#visited.delete(this.#order[this.#hand]!)) this.#hand = (this.#hand + 1) % this.#order.length
    return this.#order[this.#hand]!
  }
}
