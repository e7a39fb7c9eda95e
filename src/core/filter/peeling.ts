import type { SlotArray } from './slot-array.ts'

/** An equation: the numbers of three different slots, and what their values must give when they are xored. */
export const EQUATION_WORDS = 4
const SLOTS_OF_EQUATION = 3

/**
 * Fills the slots so that every equation holds: takes away, again and again, an equation that alone needs some slot,
 * then goes back from the last one taken and gives each its slot the value that is lacking. Time and memory are linear:
 * 12 bytes a slot and 4 an equation.
 *
 * @param equations `EQUATION_WORDS` words each
 * @param slots all 0; values are cut to their width
 * @returns false when some equations share all their slots with others; the slots then are still 0
 * @see Graf, Lemire: Xor Filters: Faster and Smaller Than Bloom and Cuckoo Filters (2020), "Construction"
 */
export function solveByPeeling(equations: Uint32Array, slots: SlotArray): boolean {
  const equationCount = equations.length / EQUATION_WORDS
  const { slotCount } = slots
  // For each slot, how many equations still need it, and their numbers xored: once one is left, that is its number.
  const needs = new Uint32Array(2 * slotCount)
  for (let e = 0; e < equationCount; e++) {
    for (let k = 0; k < SLOTS_OF_EQUATION; k++) {
      const at = 2 * equations[EQUATION_WORDS * e + k]!
      needs[at]!++
      needs[at + 1]! ^= e
    }
  }
  // Slots that one equation needs. Numbers of needs only fall, so that a slot enters once at most.
  const queue = new Uint32Array(slotCount)
  let queued = 0
  for (let slot = 0; slot < slotCount; slot++) if (needs[2 * slot] === 1) queue[queued++] = slot

  // What has been taken away: equation peeled[i] for slot queue[i], which overwrites what the queue has done with.
  const peeled = new Uint32Array(equationCount)
  let peeledCount = 0
  for (let head = 0; head < queued; head++) {
    const slot = queue[head]!
    if (needs[2 * slot] !== 1) continue
    const e = needs[2 * slot + 1]!
    peeled[peeledCount] = e
    queue[peeledCount++] = slot
    for (let k = 0; k < SLOTS_OF_EQUATION; k++) {
      const at = 2 * equations[EQUATION_WORDS * e + k]!
      needs[at + 1]! ^= e
      if (--needs[at]! === 1) queue[queued++] = at / 2
    }
  }
  if (peeledCount < equationCount) return false

  for (let i = peeledCount - 1; i >= 0; i--) {
    const at = EQUATION_WORDS * peeled[i]!
    // Its own slot still is 0.
    const held = slots.get(equations[at]!) ^ slots.get(equations[at + 1]!) ^ slots.get(equations[at + 2]!)
    slots.set(queue[i]!, held ^ equations[at + 3]!)
  }
  return true
}
