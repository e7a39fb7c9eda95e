import type { Slot } from './eviction-policy.ts'

/** No slot: before the front, behind the back, or of an empty list. */
export const NO_SLOT = -1

const FIRST_CAPACITY = 64

/** A doubly linked list over slots. Its arrays double as slots grow; every step costs the same. */
export class SlotList {
  #ahead = new Int32Array(FIRST_CAPACITY)
  #behind = new Int32Array(FIRST_CAPACITY)
  #front: Slot = NO_SLOT
  #back: Slot = NO_SLOT

  get back(): Slot {
    return this.#back
  }

  /** The neighbour towards the front. */
  ahead(slot: Slot): Slot {
    return this.#ahead[slot]!
  }

  /** `slot` must not be in the list. */
  pushFront(slot: Slot): void {
    if (slot >= this.#ahead.length) this.#grow(slot)
    this.#ahead[slot] = NO_SLOT
    this.#behind[slot] = this.#front
    if (this.#front === NO_SLOT) this.#back = slot
    else this.#ahead[this.#front] = slot
    this.#front = slot
  }

  /** `slot` must be in the list. */
  remove(slot: Slot): void {
    const ahead = this.#ahead[slot]!
    const behind = this.#behind[slot]!
    if (ahead === NO_SLOT) this.#front = behind
    else this.#behind[ahead] = behind
    if (behind === NO_SLOT) this.#back = ahead
    else this.#ahead[behind] = ahead
  }

  #grow(slot: Slot): void {
    const capacity = Math.max(slot + 1, this.#ahead.length * 2)
    this.#ahead = extended(this.#ahead, capacity)
    this.#behind = extended(this.#behind, capacity)
  }
}

function extended(old: Int32Array<ArrayBuffer>, capacity: number): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(capacity)
  grown.set(old)
  return grown
}
