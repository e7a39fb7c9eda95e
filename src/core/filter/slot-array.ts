const MAX_SLOT_BITS = 32

/** Equally wide slots of 1 to 32 bits, packed one after another into 32-bit words: fingerprints, mostly. */
export class SlotArray {
  readonly slotCount: number
  readonly slotBits: number
  /** Slot i begins at bit i * slotBits; bit b is bit b & 31 of word b >>> 5. What lies behind the last slot is 0. */
  readonly words: Uint32Array
  readonly #mask: number

  /**
   * @param words taken as they are; new, empty ones when not given
   * @throws {RangeError} another number of words, or more than 2^32 bits
   */
  constructor(slotCount: number, slotBits: number, words?: Uint32Array) {
    const wordCount = SlotArray.wordCount(slotCount, slotBits)
    if (words !== undefined && words.length !== wordCount) {
      throw new RangeError(`${slotCount} slots of ${slotBits} bits do not fill ${words.length} words`)
    }
    this.slotCount = slotCount
    this.slotBits = slotBits
    this.words = words ?? new Uint32Array(wordCount)
    this.#mask = slotBits === MAX_SLOT_BITS ? -1 : (1 << slotBits) - 1
  }

  static wordCount(slotCount: number, slotBits: number): number {
    if (!(slotBits >= 1 && slotBits <= MAX_SLOT_BITS && slotCount * slotBits <= 2 ** 32)) {
      throw new RangeError(`${slotCount} slots of ${slotBits} bits`)
    }
    return Math.ceil((slotCount * slotBits) / 32)
  }

  /** Unsigned. */
  get(index: number): number {
    const bit = index * this.slotBits
    const word = bit >>> 5
    const shift = bit & 31
    let value = this.words[word]! >>> shift
    if (shift + this.slotBits > 32) value |= this.words[word + 1]! << (32 - shift)
    return (value & this.#mask) >>> 0
  }

  set(index: number, value: number): void {
    const bit = index * this.slotBits
    const word = bit >>> 5
    const shift = bit & 31
    const kept = value & this.#mask
    this.words[word] = (this.words[word]! & ~(this.#mask << shift)) | (kept << shift)
    if (shift + this.slotBits > 32) {
      const over = 32 - shift
      this.words[word + 1] = (this.words[word + 1]! & ~(this.#mask >>> over)) | (kept >>> over)
    }
  }
}
