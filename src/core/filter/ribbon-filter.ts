import { MalformedFilterError, bytesOfWords, encodeFilter, wordsOfBody, type FilterRecord } from './filter-format.ts'
import { checkDemand } from './filter-sizing.ts'
import type { KeyHashList } from './key-hash-list.ts'
import type { KeyHash, KeyHashing } from './key-hash.ts'
import type { Filter } from './membership-filter.ts'
import { mix32 } from './murmur3.ts'
import { scaleTo } from './probing.ts'
import { RIBBON_WIDTH, RibbonSolver, parity } from './ribbon-solver.ts'
import { seedSum, seedWords } from './seeded-words.ts'
import { HASH_WORDS, MAX_FINGERPRINT_BITS, MAX_SLOT_COUNT, fingerprintBitsFor, firstSuccess } from './static-build.ts'

/** Slots come in blocks, a word for each result bit. */
const BLOCK_SLOTS = 32
/** Of 128 coefficients that begin anywhere in a block, the last fall in the fourth block behind it. */
const LEAST_SLOTS = RIBBON_WIDTH + BLOCK_SLOTS
const MAX_BITS = 2 ** 32
const ATTEMPTS_PER_SIZE = 4
const GROWTH = 0.02

export interface RibbonSize {
  readonly resultBits: number
  /** A multiple of 32; 0 where there are no keys. */
  readonly slotCount: number
}

/**
 * A filter of keys that are all known at once, in little more memory than any can do with: each key is an equation, the
 * xor of some of 128 neighbouring slots, whose result is its fingerprint; the slots are what solves them all. A
 * stranger's result agrees by chance: its false hit rate is 2^-r, for some 1.06 r bits a key (Dillinger, Walzer:
 * Ribbon filter: practically smaller than Bloom and Xor, 2021; width 128).
 *
 * With w0 to w3 as in seeded-words.ts and m slots, a key's first slot is floor(w0 (m - 128) / 2^32); its coefficients,
 * for this slot and the next, are the bits of w1 | 1, w2, w3 and fmix32(w0 + w2), the lowest first; its result is the
 * low r bits of fmix32(w1 + w3), sums modulo 2^32. Without keys there are no slots, and nothing is claimed.
 *
 * As bytes: parameters r, m, seed; word b r + j of the body holds bit j of slots 32 b to 32 b + 31, the lowest first.
 */
export class RibbonFilter implements Filter {
  static readonly KIND_CODE = 8
  readonly hashing: KeyHashing
  /** Distinct keys. */
  readonly entryCount: number
  readonly resultBits: number
  readonly slotCount: number
  /** The number of the attempt that succeeded, from 0. */
  readonly seed: number
  readonly #words: Uint32Array
  readonly #seeds: Int32Array

  private constructor(size: RibbonSize, seed: number, hashing: KeyHashing, entryCount: number, words: Uint32Array) {
    this.hashing = hashing
    this.entryCount = entryCount
    this.resultBits = size.resultBits
    this.slotCount = size.slotCount
    this.seed = seed
    this.#words = words
    this.#seeds = seedWords(seed)
  }

  /**
   * Keys may repeat. Beside the list it takes 20 bytes a slot.
   * @throws {RangeError} no number of result bits, or none of slots, does
   * @throws {FilterBuildError} no seed did
   */
  static build(keys: KeyHashList, falseHitRate: number, hashing: KeyHashing): RibbonFilter {
    return firstSuccess('ribbon', keys.words, (words, seed, mayRepeat) => {
      const size = ribbonSizeFor(words.length / HASH_WORDS, falseHitRate, seed)
      return RibbonFilter.attempt(words, size, seed, hashing, mayRepeat)
    })
  }

  /**
   * With one seed.
   * @param words of their hashes, h0 to h3
   * @param mayRepeat fail also when an equation follows from others, as it does where keys repeat
   * @returns undefined when the equations contradict each other
   */
  static attempt(
    words: Uint32Array,
    size: RibbonSize,
    seed: number,
    hashing: KeyHashing,
    mayRepeat = false,
  ): RibbonFilter | undefined {
    const startCount = size.slotCount - RIBBON_WIDTH
    const seeds = seedWords(seed)
    const solver = new RibbonSolver(size.slotCount, size.resultBits)
    for (let at = 0; at < words.length; at += HASH_WORDS) {
      const h0 = words[at]! | 0
      const h1 = words[at + 1]! | 0
      const h2 = words[at + 2]! | 0
      const h3 = words[at + 3]! | 0
      const t = seedSum(h0, h1, h2, h3, seeds)
      const w0 = mix32((h0 + t) ^ seeds[0]!)
      const w1 = mix32((h1 + t) ^ seeds[1]!)
      const w2 = mix32((h2 + t) ^ seeds[2]!)
      const w3 = mix32((h3 + t) ^ seeds[3]!)
      const start = scaleTo(w0, startCount)
      if (!solver.add(start, w1 | 1, w2, w3, mix32(w0 + w2), mix32(w1 + w3))) return undefined
      if (mayRepeat && solver.redundantCount > 0) return undefined
    }
    return new RibbonFilter(size, seed, hashing, words.length / HASH_WORDS, solver.solution())
  }

  /** @throws {MalformedFilterError} */
  static load(record: FilterRecord): RibbonFilter {
    const [resultBits, slotCount, seed, unused] = record.parameters
    const size = { resultBits, slotCount }
    const problem = sizeProblem(size) ?? (unused === 0 ? undefined : 'a fourth parameter')
    if (problem !== undefined) throw new MalformedFilterError(problem)
    const { entryCount } = record
    if ((entryCount === 0) !== (slotCount === 0) || entryCount > slotCount) {
      throw new MalformedFilterError(`${slotCount} slots for ${entryCount} entries`)
    }
    const words = wordsOfBody(record.body, slotCount * resultBits)
    return new RibbonFilter(size, seed, record.hashing, entryCount, words)
  }

  get sizeInBits(): number {
    return this.slotCount * this.resultBits
  }

  get expectedFalseHitRate(): number {
    return this.entryCount === 0 ? 0 : 2 ** -this.resultBits
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
    const { resultBits } = this
    const seeds = this.#seeds
    const words = this.#words
    const h0 = key.h0 | 0
    const h1 = key.h1 | 0
    const h2 = key.h2 | 0
    const h3 = key.h3 | 0
    const t = seedSum(h0, h1, h2, h3, seeds)
    const w0 = mix32((h0 + t) ^ seeds[0]!)
    const w1 = mix32((h1 + t) ^ seeds[1]!)
    const w2 = mix32((h2 + t) ^ seeds[2]!)
    const w3 = mix32((h3 + t) ^ seeds[3]!)
    const start = scaleTo(w0, this.slotCount - RIBBON_WIDTH)

    // The coefficients moved to where they fall in the words of five blocks. In two steps to the right, since a shift
    // by 32 would be one by 0.
    const shift = start & (BLOCK_SLOTS - 1)
    const rest = BLOCK_SLOTS - 1 - shift
    const first = w1 | 1
    const last = mix32(w0 + w2)
    const c0 = first << shift
    const c1 = (w2 << shift) | ((first >>> 1) >>> rest)
    const c2 = (w3 << shift) | ((w2 >>> 1) >>> rest)
    const c3 = (last << shift) | ((w3 >>> 1) >>> rest)
    const c4 = (last >>> 1) >>> rest

    let result = mix32(w1 + w3)
    let at = (start >>> 5) * resultBits
    const end = at + resultBits
    // Two result bits at once, in the halves of a word: three strangers in four then leave at the first branch.
    for (; at + 1 < end; at += 2) {
      const x = chosen(words, at, resultBits, c0, c1, c2, c3, c4)
      const y = chosen(words, at + 1, resultBits, c0, c1, c2, c3, c4)
      let folded = ((x ^ (x >>> 16)) & 0xffff) | ((y ^ (y << 16)) & 0xffff0000)
      folded ^= folded >>> 8
      folded ^= folded >>> 4
      folded ^= folded >>> 2
      folded ^= folded >>> 1
      if (((folded & 0x10001) ^ (result & 1) ^ ((result & 2) << 15)) !== 0) return false
      result >>>= 2
    }
    return at === end || ((parity(chosen(words, at, resultBits, c0, c1, c2, c3, c4)) ^ result) & 1) === 0
  }

  serialise(): Uint8Array<ArrayBuffer> {
    return encodeFilter({
      kindCode: RibbonFilter.KIND_CODE,
      hashing: this.hashing,
      entryCount: this.entryCount,
      parameters: [this.resultBits, this.slotCount, this.seed, 0],
      body: bytesOfWords(this.#words),
    })
  }
}

/**
 * ceil(log2(1/f)) bits for each of (0.9916 + 0.0038 log2 n) n + 16 slots, rounded up to whole blocks: one attempt in
 * about a thousand then fails, by experiment at this width. After each four that failed
 * there are 2 % more.
 *
 * @param attempt its number, from 0
 * @throws {RangeError} no number of result bits, or none of slots, does
 */
export function ribbonSizeFor(entryCount: number, falseHitRate: number, attempt = 0): RibbonSize {
  checkDemand(entryCount, falseHitRate)
  const least = (0.9916 + 0.0038 * Math.log2(Math.max(1, entryCount))) * entryCount + 16
  const grown = least * (1 + GROWTH * Math.floor(attempt / ATTEMPTS_PER_SIZE))
  const size = {
    resultBits: fingerprintBitsFor(falseHitRate),
    slotCount: entryCount === 0 ? 0 : Math.max(LEAST_SLOTS, Math.ceil(grown / BLOCK_SLOTS) * BLOCK_SLOTS),
  }
  const problem = sizeProblem(size)
  if (problem !== undefined) throw new RangeError(problem)
  return size
}

/** The coefficients of one key, and one bit of the slots that they stand for, in five blocks from word `at` on. */
function chosen(
  words: Uint32Array,
  at: number,
  blockWords: number,
  c0: number,
  c1: number,
  c2: number,
  c3: number,
  c4: number,
): number {
  return (
    (words[at]! & c0) ^
    (words[at + blockWords]! & c1) ^
    (words[at + 2 * blockWords]! & c2) ^
    (words[at + 3 * blockWords]! & c3) ^
    (words[at + 4 * blockWords]! & c4)
  )
}

function sizeProblem(size: RibbonSize): string | undefined {
  const { resultBits, slotCount } = size
  if (!(resultBits >= 1 && resultBits <= MAX_FINGERPRINT_BITS)) return `results of ${resultBits} bits`
  if (slotCount % BLOCK_SLOTS !== 0 || (slotCount !== 0 && slotCount < LEAST_SLOTS)) return `${slotCount} slots`
  if (slotCount > MAX_SLOT_COUNT || slotCount * resultBits > MAX_BITS) return `${slotCount} slots of ${resultBits} bits`
  return undefined
}
