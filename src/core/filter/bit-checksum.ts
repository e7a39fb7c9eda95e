import type { BitArray } from './bit-array.ts'
import type { PositionSink } from './position-list.ts'

/**
 * The checksum of a bit array (PROTOCOL, "Words"): the XOR of a mixed 64-bit value per set bit's index, in two words.
 *
 * hi = fmix32(index ^ 0x9e3779b9), the finalizer of MurmurHash3:
 *   h ^= h >>> 16; h *= 0x85ebca6b; h ^= h >>> 13; h *= 0xc2b2ae35; h ^= h >>> 16
 * lo = the like with other shifts and multipliers of index ^ 0xd1b54a33 (lowbias32, Wellons and Degski):
 *   h ^= h >>> 16; h *= 0x21f0aaad; h ^= h >>> 15; h *= 0x735a2d97; h ^= h >>> 15
 * all modulo 2^32.
 *
 * Both are bijections, and an index below 2^31 never meets the constant, whose top bit is set: a difference of one or
 * two bits always shows, others but for one in 2^64. It guards against faults, not forgers.
 */
export class BitChecksum implements PositionSink {
  #hi = 0
  #lo = 0

  get hi(): number {
    return this.#hi >>> 0
  }

  get lo(): number {
    return this.#lo >>> 0
  }

  /** Goes from the checksum with the bit to that without it, and back. */
  toggle(index: number): void {
    let h = index ^ 0x9e3779b9
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
    this.#hi ^= h ^ (h >>> 16)
    h = index ^ 0xd1b54a33
    h = Math.imul(h ^ (h >>> 16), 0x21f0aaad)
    h = Math.imul(h ^ (h >>> 15), 0x735a2d97)
    this.#lo ^= h ^ (h >>> 15)
  }

  /** `toggle`, for whoever hands out positions. */
  push(position: number): void {
    this.toggle(position)
  }

  /** Goes on from a checksum known before. */
  static from(hi: number, lo: number): BitChecksum {
    const checksum = new BitChecksum()
    checksum.#hi = hi
    checksum.#lo = lo
    return checksum
  }
}

/** Computed whole: one step for each set bit. */
export function checksumOf(bits: BitArray): { readonly hi: number; readonly lo: number } {
  const checksum = new BitChecksum()
  bits.pushSet(checksum)
  return { hi: checksum.hi, lo: checksum.lo }
}
