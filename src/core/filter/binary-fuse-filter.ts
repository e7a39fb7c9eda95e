import { MalformedFilterError, bytesOfWords, encodeFilter, wordsOfBody, type FilterRecord } from './filter-format.ts'
import { checkDemand } from './filter-sizing.ts'
import type { KeyHashList } from './key-hash-list.ts'
import type { KeyHash, KeyHashing } from './key-hash.ts'
import type { Filter } from './membership-filter.ts'
import { mix32 } from './murmur3.ts'
import { EQUATION_WORDS, solveByPeeling } from './peeling.ts'
import { scaleTo } from './probing.ts'
import { seedSum, seedWords } from './seeded-words.ts'
import { SlotArray } from './slot-array.ts'
import { HASH_WORDS, MAX_FINGERPRINT_BITS, MAX_SLOT_COUNT, fingerprintBitsFor, firstSuccess } from './static-build.ts'

/** Neighbouring segments, one slot in each. */
const ARITY = 3
const MAX_SEGMENT_LENGTH = 2 ** 18
const MAX_BITS = 2 ** 32

export interface BinaryFuseSize {
  readonly fingerprintBits: number
  /** A power of two. */
  readonly segmentLength: number
  /** 0 where there are no keys. */
  readonly segmentCount: number
}

/**
 * An xor filter whose keys have their three slots in neighbouring segments of a long row, which lets the row be filled
 * to 8/9 from its ends inwards, and makes both build and lookup more local: 1.125 slots a key where there are many, and
 * a false hit rate of 2^-bits (Graf, Lemire: Binary Fuse Filters: Fast and Smaller Than Xor Filters, 2022).
 *
 * With w0 to w3 as in seeded-words.ts and S segments of L slots, a key's slots are p = floor(w0 (S - 2) L / 2^32),
 * p + L with the low log2(L) bits of w1 xored to it, and p + 2 L with those of w2; its fingerprint is the low bits
 * of w3. Without keys there are no segments, and nothing is claimed.
 *
 * As bytes: parameters fingerprint bits, L, S, seed; the body holds the fingerprints one after another, slot i from bit
 * i * bits on.
 */
export class BinaryFuseFilter implements Filter {
  static readonly KIND_CODE = 7
  readonly hashing: KeyHashing
  /** Distinct keys. */
  readonly entryCount: number
  readonly fingerprintBits: number
  readonly segmentLength: number
  readonly segmentCount: number
  /** The number of the attempt that succeeded, from 0. */
  readonly seed: number
  readonly #startCount: number
  readonly #slots: SlotArray
  readonly #seeds: Int32Array
  readonly #mask: number

  private constructor(size: BinaryFuseSize, seed: number, hashing: KeyHashing, entryCount: number, slots: SlotArray) {
    this.hashing = hashing
    this.entryCount = entryCount
    this.fingerprintBits = size.fingerprintBits
    this.segmentLength = size.segmentLength
    this.segmentCount = size.segmentCount
    this.seed = seed
    this.#startCount = startCountOf(size)
    this.#slots = slots
    this.#seeds = seedWords(seed)
    this.#mask = -1 >>> (32 - size.fingerprintBits)
  }

  /**
   * Keys may repeat. Beside the list it takes 16 bytes a key for the equations, and what peeling needs.
   * @throws {RangeError} no fingerprint, or no number of slots, does
   * @throws {FilterBuildError} no seed did
   */
  static build(keys: KeyHashList, falseHitRate: number, hashing: KeyHashing): BinaryFuseFilter {
    return firstSuccess('binary fuse', keys.words, (words, seed) => {
      return BinaryFuseFilter.attempt(words, binaryFuseSizeFor(words.length / HASH_WORDS, falseHitRate), seed, hashing)
    })
  }

  /**
   * Of distinct keys with one seed.
   * @param words of their hashes, h0 to h3
   * @returns undefined when the equations have no order to solve them in
   */
  static attempt(
    words: Uint32Array,
    size: BinaryFuseSize,
    seed: number,
    hashing: KeyHashing,
  ): BinaryFuseFilter | undefined {
    const equations = equationsBySegment(words, size, seedWords(seed))
    const slots = new SlotArray(size.segmentCount * size.segmentLength, size.fingerprintBits)
    if (!solveByPeeling(equations, slots)) return undefined
    return new BinaryFuseFilter(size, seed, hashing, words.length / HASH_WORDS, slots)
  }

  /** @throws {MalformedFilterError} */
  static load(record: FilterRecord): BinaryFuseFilter {
    const [fingerprintBits, segmentLength, segmentCount, seed] = record.parameters
    const size = { fingerprintBits, segmentLength, segmentCount }
    const problem = sizeProblem(size)
    if (problem !== undefined) throw new MalformedFilterError(problem)
    const { entryCount } = record
    const slotCount = segmentCount * segmentLength
    // Each equation has a slot of its own.
    if ((entryCount === 0) !== (slotCount === 0) || entryCount > slotCount) {
      throw new MalformedFilterError(`${slotCount} slots for ${entryCount} entries`)
    }
    const words = wordsOfBody(record.body, slotCount * fingerprintBits)
    return new BinaryFuseFilter(
      size,
      seed,
      record.hashing,
      entryCount,
      new SlotArray(slotCount, fingerprintBits, words),
    )
  }

  get sizeInBits(): number {
    return this.segmentCount * this.segmentLength * this.fingerprintBits
  }

  get expectedFalseHitRate(): number {
    return this.entryCount === 0 ? 0 : 2 ** -this.fingerprintBits
  }

  /** What the slots hold tells nothing. */
  get estimatedFalseHitRate(): number {
    return this.expectedFalseHitRate
  }

  get estimatedEntryCount(): number {
    return this.entryCount
  }

  mayContain(key: KeyHash): boolean {
    if (this.entryCount === 0) return false
    const { segmentLength } = this
    const seeds = this.#seeds
    const slots = this.#slots
    const h0 = key.h0 | 0
    const h1 = key.h1 | 0
    const h2 = key.h2 | 0
    const h3 = key.h3 | 0
    const t = seedSum(h0, h1, h2, h3, seeds)
    const start = scaleTo(mix32((h0 + t) ^ seeds[0]!), this.#startCount)
    const found =
      slots.get(start) ^
      slots.get((start + segmentLength) ^ (mix32((h1 + t) ^ seeds[1]!) & (segmentLength - 1))) ^
      slots.get((start + 2 * segmentLength) ^ (mix32((h2 + t) ^ seeds[2]!) & (segmentLength - 1)))
    return ((found ^ mix32((h3 + t) ^ seeds[3]!)) & this.#mask) === 0
  }

  serialise(): Uint8Array<ArrayBuffer> {
    return encodeFilter({
      kindCode: BinaryFuseFilter.KIND_CODE,
      hashing: this.hashing,
      entryCount: this.entryCount,
      parameters: [this.fingerprintBits, this.segmentLength, this.segmentCount, this.seed],
      body: bytesOfWords(this.#slots.words, Math.ceil(this.sizeInBits / 8)),
    })
  }
}

/**
 * Segments of 2^floor(ln n / ln 3.33 + 2.25) slots, 2^18 at most, and so many of them that the row is
 * max(1.125, 0.875 + 0.25 ln 10^6 / ln n) n slots long or little more: the paper's values, found by experiment.
 * @throws {RangeError} no fingerprint, or no number of slots, does
 */
export function binaryFuseSizeFor(entryCount: number, falseHitRate: number): BinaryFuseSize {
  checkDemand(entryCount, falseHitRate)
  const fingerprintBits = fingerprintBitsFor(falseHitRate)
  // The logarithm of 1 would be divided by.
  const n = Math.max(2, entryCount)
  const segmentLength = Math.min(MAX_SEGMENT_LENGTH, 2 ** Math.floor(Math.log(n) / Math.log(3.33) + 2.25))
  const slotCount = Math.round(n * Math.max(1.125, 0.875 + (0.25 * Math.log(1e6)) / Math.log(n)))
  const segmentCount = entryCount === 0 ? 0 : Math.max(ARITY, Math.ceil(slotCount / segmentLength))
  const size = { fingerprintBits, segmentLength, segmentCount }
  const problem = sizeProblem(size)
  if (problem !== undefined) throw new RangeError(problem)
  return size
}

/** By segment of their first slot: then peeling goes through memory nearly in order, in half the time. */
function equationsBySegment(words: Uint32Array, size: BinaryFuseSize, seeds: Int32Array): Uint32Array {
  const { segmentLength, segmentCount } = size
  const startCount = startCountOf(size)
  const segmentShift = 31 - Math.clz32(segmentLength)
  // ends[i]: equations of segments below i, and while they are filled in, where the next of segment i goes.
  const ends = new Uint32Array(segmentCount + 1)
  for (let at = 0; at < words.length; at += EQUATION_WORDS) {
    const h0 = words[at]!
    const t = seedSum(h0, words[at + 1]!, words[at + 2]!, words[at + 3]!, seeds)
    ends[(scaleTo(mix32((h0 + t) ^ seeds[0]!), startCount) >>> segmentShift) + 1]!++
  }
  for (let i = 1; i < ends.length; i++) ends[i]! += ends[i - 1]!
  const equations = new Uint32Array(words.length)
  for (let at = 0; at < words.length; at += EQUATION_WORDS) {
    const h0 = words[at]! | 0
    const h1 = words[at + 1]! | 0
    const h2 = words[at + 2]! | 0
    const h3 = words[at + 3]! | 0
    const t = seedSum(h0, h1, h2, h3, seeds)
    const start = scaleTo(mix32((h0 + t) ^ seeds[0]!), startCount)
    const to = EQUATION_WORDS * ends[start >>> segmentShift]!++
    equations[to] = start
    equations[to + 1] = (start + segmentLength) ^ (mix32((h1 + t) ^ seeds[1]!) & (segmentLength - 1))
    equations[to + 2] = (start + 2 * segmentLength) ^ (mix32((h2 + t) ^ seeds[2]!) & (segmentLength - 1))
    equations[to + 3] = mix32((h3 + t) ^ seeds[3]!)
  }
  return equations
}

/** Slots that may be a key's first: those of all segments but the last two. */
function startCountOf(size: BinaryFuseSize): number {
  return Math.max(0, size.segmentCount - (ARITY - 1)) * size.segmentLength
}

function sizeProblem(size: BinaryFuseSize): string | undefined {
  const { fingerprintBits, segmentLength, segmentCount } = size
  if (!(fingerprintBits >= 1 && fingerprintBits <= MAX_FINGERPRINT_BITS))
    return `fingerprints of ${fingerprintBits} bits`
  if (segmentLength < 1 || segmentLength > MAX_SEGMENT_LENGTH || (segmentLength & (segmentLength - 1)) !== 0) {
    return `segments of ${segmentLength} slots`
  }
  if (segmentCount !== 0 && segmentCount < ARITY) return `${segmentCount} segments`
  const slotCount = segmentCount * segmentLength
  if (slotCount > MAX_SLOT_COUNT || slotCount * fingerprintBits > MAX_BITS) {
    return `${slotCount} slots of ${fingerprintBits} bits`
  }
  return undefined
}
