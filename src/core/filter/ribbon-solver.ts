/** Coefficients of an equation: it reaches so many slots from its first. */
export const RIBBON_WIDTH = 128
const ROW_WORDS = RIBBON_WIDTH / 32

/**
 * Equations over slots of r bits, each the xor of some among 128 neighbouring slots, brought to echelon form one by one
 * as they come: no slot is the first of two rows (Dillinger, Walzer: Ribbon filter: practically smaller than Bloom and
 * Xor, 2021, "on-the-fly" construction). 20 bytes a slot.
 */
export class RibbonSolver {
  readonly #slotCount: number
  readonly #resultBits: number
  readonly #mask: number
  /** Of the row that begins at a slot, bit 0 of its first word standing for that slot; 0 where none does. */
  readonly #rows: Uint32Array
  readonly #results: Uint32Array
  #redundantCount = 0

  constructor(slotCount: number, resultBits: number) {
    this.#slotCount = slotCount
    this.#resultBits = resultBits
    this.#mask = -1 >>> (32 - resultBits)
    this.#rows = new Uint32Array(ROW_WORDS * slotCount)
    this.#results = new Uint32Array(slotCount)
  }

  /** Equations that followed from those before: repeated ones, and few others. */
  get redundantCount(): number {
    return this.#redundantCount
  }

  /**
   * @param start the slot of bit 0 of a0, which must be set; no set bit may lie behind the last slot
   * @param result low bits count
   * @returns false when it contradicts those before
   */
  add(start: number, a0: number, a1: number, a2: number, a3: number, result: number): boolean {
    const rows = this.#rows
    const results = this.#results
    let slot = start
    let c0 = a0
    let c1 = a1
    let c2 = a2
    let c3 = a3
    let rest = result & this.#mask
    for (;;) {
      const at = ROW_WORDS * slot
      if (rows[at] === 0) {
        rows[at] = c0
        rows[at + 1] = c1
        rows[at + 2] = c2
        rows[at + 3] = c3
        results[slot] = rest
        return true
      }
      // Both have their lowest bit at this slot: it cancels, and the next one is brought to bit 0.
      c0 ^= rows[at]!
      c1 ^= rows[at + 1]!
      c2 ^= rows[at + 2]!
      c3 ^= rows[at + 3]!
      rest ^= results[slot]!
      while (c0 === 0) {
        if ((c1 | c2 | c3) === 0) {
          this.#redundantCount++
          return rest === 0
        }
        c0 = c1
        c1 = c2
        c2 = c3
        c3 = 0
        slot += 32
      }
      const shift = 31 - Math.clz32(c0 & -c0)
      slot += shift
      // In two steps to the left, since a shift by 32 would be one by 0.
      c0 = (c0 >>> shift) | ((c1 << 1) << (31 - shift))
      c1 = (c1 >>> shift) | ((c2 << 1) << (31 - shift))
      c2 = (c2 >>> shift) | ((c3 << 1) << (31 - shift))
      c3 >>>= shift
    }
  }

  /**
   * Slots that fulfil all equations: word b r + j holds bit j of slots 32 b to 32 b + 31, lowest first. Slots that no
   * row begins at are 0.
   */
  solution(): Uint32Array {
    const rows = this.#rows
    const results = this.#results
    const resultBits = this.#resultBits
    const words = new Uint32Array((this.#slotCount / 32) * resultBits)
    for (let j = 0; j < resultBits; j++) {
      // Bit j of this slot and the 127 behind it.
      let z0 = 0
      let z1 = 0
      let z2 = 0
      let z3 = 0
      for (let slot = this.#slotCount - 1; slot >= 0; slot--) {
        z3 = (z3 << 1) | (z2 >>> 31)
        z2 = (z2 << 1) | (z1 >>> 31)
        z1 = (z1 << 1) | (z0 >>> 31)
        z0 <<= 1
        const at = ROW_WORDS * slot
        const behind = (rows[at]! & z0) ^ (rows[at + 1]! & z1) ^ (rows[at + 2]! & z2) ^ (rows[at + 3]! & z3)
        z0 |= (parity(behind) ^ (results[slot]! >>> j)) & 1
        if ((slot & 31) === 0) words[(slot >>> 5) * resultBits + j] = z0
      }
    }
    return words
  }
}

/** In bit 0; those above hold anything. */
export function parity(word: number): number {
  let x = word ^ (word >>> 16)
  x ^= x >>> 8
  x ^= x >>> 4
  // Bit n of the constant is the parity of n.
  return 0x6996 >>> (x & 15)
}
