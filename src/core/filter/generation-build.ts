import { BitArray } from './bit-array.ts'
import type { ClaimSource } from './claim-source.ts'
import type { CounterArray } from './counter-array.ts'
import { CountingBloomFilter } from './counting-bloom-filter.ts'
import type { FilterGeometry } from './filter-geometry.ts'
import type { KeyHash } from './key-hash.ts'
import { PositionList } from './position-list.ts'

/** How a summary differed from its directory, in bits: both should be 0 for ever. */
export interface SummaryDrift {
  /** Bits that claimed keys need and that were not set: false misses. */
  readonly missing: number
  /** Bits that no claimed key needs and that were set; counters that stuck at 15 leave some. */
  readonly surplus: number
}

/** A new filter that is filled from the directory, in place of the one in use. */
export interface Refill {
  readonly geometry: FilterGeometry
  readonly source: ClaimSource
}

/** Memory of generations that are over, written over where it has the size that is needed. */
export interface SpareMemory {
  readonly bits: BitArray | undefined
  readonly counters: CounterArray | undefined
}

// In the time of one step, some tens of nanoseconds each: counters are cleared by pages first, which takes as long as
// hundreds of counters where their memory is fresh.
const STEPS_PER_PAGE = 512
const PAGE_WORDS = 1024
const SLOTS_AT_ONCE = 16
const STEPS_PER_CLAIM = 8
const WORDS_PER_STEP = 4
const WORDS_AT_ONCE = 256

/**
 * The bits of the next generation, put together in slices while the directory goes on changing (PROTOCOL rules 3 and
 * 5): those of the filter in use, or of a new one that is filled from the directory first. What changes meanwhile
 * reaches the new filter for slots that have been passed, and the bits for words that have.
 */
export class GenerationBuild {
  /** What the summary counts in once the generation is fixed. */
  readonly filter: CountingBloomFilter
  /** Its bits, once `work` has returned false; they follow every change until then and after. */
  readonly bits: BitArray
  readonly #present: CountingBloomFilter
  readonly #source: ClaimSource | undefined
  readonly #flipped = new PositionList()
  #clearedPages = 0
  #passedSlots = 0
  #passedWords = 0
  #missing = 0
  #surplus = 0

  constructor(present: CountingBloomFilter, refill: Refill | undefined, spare: SpareMemory) {
    this.#present = present
    this.#source = refill?.source
    this.filter = refill === undefined ? present : emptyFilter(refill.geometry, spare.counters)
    const { bitCount } = this.filter.geometry
    this.bits = spare.bits?.bitCount === bitCount ? spare.bits : new BitArray(bitCount)
    // A filter that is counted in already has nothing to be filled with.
    if (refill === undefined) this.#passedSlots = Infinity
  }

  get isRefill(): boolean {
    return this.#source !== undefined
  }

  /** Between the filter that was in use and the directory; undefined where the new one has another size or is the same. */
  get drift(): SummaryDrift | undefined {
    return this.#isCompared ? { missing: this.#missing, surplus: this.#surplus } : undefined
  }

  /** Goes on by about `maxSteps`; false once all is there. */
  work(maxSteps: number): boolean {
    let left = maxSteps
    while (left > 0 && this.#passedWords < this.bits.words.length) {
      if (this.#passedSlots === Infinity) left -= this.#collect()
      else if (this.#clearedPages * PAGE_WORDS < this.filter.counters.words.length) left -= this.#clear()
      else left -= this.#fill(this.#source!)
    }
    return this.#passedWords < this.bits.words.length
  }

  /** @param flipped what the filter in use has made of it */
  added(key: KeyHash, slot: number, flipped: PositionList): void {
    if (!this.isRefill) this.#flip(flipped, true)
    else if (slot < this.#passedSlots) this.#add(key)
  }

  removed(key: KeyHash, slot: number, flipped: PositionList): void {
    if (!this.isRefill) this.#flip(flipped, false)
    else if (slot < this.#passedSlots) this.#remove(key)
  }

  /** The claim has gone on to another slot. */
  moved(key: KeyHash, fromSlot: number, toSlot: number): void {
    if (!this.isRefill) return
    const wasPassed = fromSlot < this.#passedSlots
    const isPassed = toSlot < this.#passedSlots
    if (wasPassed && !isPassed) this.#remove(key)
    else if (!wasPassed && isPassed) this.#add(key)
  }

  get #isCompared(): boolean {
    return this.isRefill && this.filter.geometry.bitCount === this.#present.geometry.bitCount
  }

  #clear(): number {
    const from = this.#clearedPages * PAGE_WORDS
    this.filter.counters.words.fill(0, from, from + PAGE_WORDS)
    this.#clearedPages++
    return STEPS_PER_PAGE
  }

  #fill(source: ClaimSource): number {
    const from = this.#passedSlots
    const to = Math.min(source.slotCount, from + SLOTS_AT_ONCE)
    let claims = 0
    source.forEachClaim(from, to, (key) => {
      this.filter.add(key)
      claims++
    })
    this.#passedSlots = to >= source.slotCount ? Infinity : to
    return to - from + claims * STEPS_PER_CLAIM + 1
  }

  #collect(): number {
    const from = this.#passedWords
    const to = Math.min(this.bits.words.length, from + WORDS_AT_ONCE)
    for (let i = from; i < to; i++) {
      const word = this.filter.word(i)
      this.bits.words[i] = word
      if (this.#isCompared) {
        const old = this.#present.word(i)
        if (old !== word) {
          this.#missing += onesIn(word & ~old)
          this.#surplus += onesIn(old & ~word)
        }
      }
    }
    this.#passedWords = to
    return Math.ceil((to - from) / WORDS_PER_STEP)
  }

  #add(key: KeyHash): void {
    this.#flipped.clear()
    this.filter.add(key, this.#flipped)
    this.#flip(this.#flipped, true)
  }

  #remove(key: KeyHash): void {
    this.#flipped.clear()
    this.filter.remove(key, this.#flipped)
    this.#flip(this.#flipped, false)
  }

  #flip(flipped: PositionList, rises: boolean): void {
    for (let i = 0; i < flipped.length; i++) {
      const position = flipped.at(i)
      if (position >>> 5 >= this.#passedWords) continue
      if (rises) this.bits.set(position)
      else this.bits.clear(position)
    }
  }
}

/** Its counters are cleared before the first key is added. */
function emptyFilter(geometry: FilterGeometry, spare: CounterArray | undefined): CountingBloomFilter {
  return new CountingBloomFilter(geometry, spare?.counterCount === geometry.bitCount ? spare : undefined)
}

function onesIn(word: number): number {
  let count = 0
  for (let rest = word; rest !== 0; rest &= rest - 1) count++
  return count
}
