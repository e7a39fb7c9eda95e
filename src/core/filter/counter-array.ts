// With an optimal load the chance that any of m counters reaches 16 is below 1.37e-15 m (Summary Cache, "Bloom
// filters"). A full counter sticks: never decrementing it costs at worst a false hit, while decrementing it could
// cost a false miss.
const COUNTER_MAX = 15

/** 4-bit counters, eight to a 32-bit word. One that has reached 15 stays there. */
export class CounterArray {
  readonly counterCount: number
  /** Counter i is bits 4 (i & 7) and up of word i >>> 3. */
  readonly words: Uint32Array

  /** @param words taken as they are; new ones, all 0, when not given */
  constructor(counterCount: number, words: Uint32Array = new Uint32Array(Math.ceil(counterCount / 8))) {
    if (words.length !== Math.ceil(counterCount / 8)) {
      throw new RangeError(`${counterCount} counters do not fill ${words.length} words`)
    }
    this.counterCount = counterCount
    this.words = words
  }

  get(index: number): number {
    return (this.words[index >>> 3]! >>> ((index & 7) * 4)) & COUNTER_MAX
  }

  /** Returns the value after. */
  increment(index: number): number {
    const value = this.get(index)
    if (value === COUNTER_MAX) return COUNTER_MAX
    this.words[index >>> 3]! += 1 << ((index & 7) * 4)
    return value + 1
  }

  /**
   * Returns the value after.
   * @throws {RangeError} it is 0: something was removed that had not been added, a bug of ours
   */
  decrement(index: number): number {
    const value = this.get(index)
    if (value === 0) throw new RangeError(`counter ${index} is 0 and cannot be decremented`)
    if (value === COUNTER_MAX) return COUNTER_MAX
    this.words[index >>> 3]! -= 1 << ((index & 7) * 4)
    return value - 1
  }

  /** Which of counters 32 `wordIndex` and up are not 0, the first one least significant; signed. */
  nonZeroWord(wordIndex: number): number {
    let bits = 0
    for (let i = 0; i < 4; i++) {
      let nibbles = this.words[wordIndex * 4 + i] ?? 0
      nibbles |= nibbles >>> 1
      nibbles = (nibbles | (nibbles >>> 2)) & 0x11111111
      nibbles = (nibbles | (nibbles >>> 3)) & 0x03030303
      nibbles = (nibbles | (nibbles >>> 6)) & 0x000f000f
      bits |= ((nibbles | (nibbles >>> 12)) & 0xff) << (8 * i)
    }
    return bits
  }

  /** Adds another's counters to these. */
  addFrom(other: CounterArray): void {
    if (other.counterCount !== this.counterCount) {
      throw new RangeError(`${other.counterCount} counters against ${this.counterCount}`)
    }
    for (let i = 0; i < this.words.length; i++) {
      const [a, b] = [this.words[i]!, other.words[i]!]
      let sum = 0
      for (let shift = 0; shift < 32; shift += 4) {
        sum |= Math.min(((a >>> shift) & COUNTER_MAX) + ((b >>> shift) & COUNTER_MAX), COUNTER_MAX) << shift
      }
      this.words[i] = sum
    }
  }

  /** How many are not 0, what they count in all, and how much of that is in counters that have stuck. */
  totals(): { readonly nonZero: number; readonly sum: number; readonly full: number } {
    let nonZero = 0
    let sum = 0
    let full = 0
    for (const word of this.words) {
      for (let rest = word; rest !== 0; rest >>>= 4) {
        const value = rest & COUNTER_MAX
        if (value === 0) continue
        nonZero++
        sum += value
        if (value === COUNTER_MAX) full += value
      }
    }
    return { nonZero, sum, full }
  }
}
