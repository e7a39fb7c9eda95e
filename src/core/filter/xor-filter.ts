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

const BLOCK_COUNT = 3
const MAX_BITS = 2 ** 32

export interface XorSize {
  readonly fingerprintBits: number
  /** Slots in each of the three blocks. 0 where there are no keys. */
  readonly blockLength: number
}

/**
 * A filter of keys that are all known at once: each has a slot in each of three blocks, and the three fingerprints there
 * give the key's own when they are xored. A stranger's are as good as random: its false hit rate is 2^-bits, however
 * many keys there are, for 1.23 slots a key (Graf, Lemire: Xor Filters: Faster and Smaller Than Bloom and Cuckoo
 * Filters, 2020).
 *
 * With w0 to w3 as in seeded-words.ts and blocks of L slots, a key's slots are floor(w0 L / 2^32),
 * L + floor(w1 L / 2^32) and 2 L + floor(w2 L / 2^32), its fingerprint the low bits of w3. Without keys there are no
 * slots, and nothing is claimed.
 *
 * As bytes: parameters fingerprint bits, L, seed; the body holds the fingerprints one after another, slot i from bit
 * i * bits on.
 */
export class XorFilter implements Filter {
  static readonly KIND_CODE = 6
  readonly hashing: KeyHashing
  /** Distinct keys. */
  readonly entryCount: number
  readonly fingerprintBits: number
  readonly blockLength: number
  /** The number of the attempt that succeeded, from 0. */
  readonly seed: number
  readonly #slots: SlotArray
  readonly #seeds: Int32Array
  readonly #mask: number

  private constructor(size: XorSize, seed: number, hashing: KeyHashing, entryCount: number, slots: SlotArray) {
    this.hashing = hashing
    this.entryCount = entryCount
    this.fingerprintBits = size.fingerprintBits
    this.blockLength = size.blockLength
    this.seed = seed
    this.#slots = slots
    this.#seeds = seedWords(seed)
    this.#mask = -1 >>> (32 - size.fingerprintBits)
  }

  /**
   * Keys may repeat. Beside the list it takes 16 bytes a key for the equations, and what peeling needs.
   * @throws {RangeError} no fingerprint, or no number of slots, does
   * @throws {FilterBuildError} no seed did
   */
  static build(keys: KeyHashList, falseHitRate: number, hashing: KeyHashing): XorFilter {
    return firstSuccess('xor', keys.words, (words, seed) => {
      return XorFilter.attempt(words, xorSizeFor(words.length / HASH_WORDS, falseHitRate), seed, hashing)
    })
  }

  /**
   * Of distinct keys with one seed.
   * @param words of their hashes, h0 to h3
   * @returns undefined when the equations have no order to solve them in
   */
  static attempt(words: Uint32Array, size: XorSize, seed: number, hashing: KeyHashing): XorFilter | undefined {
    const { blockLength } = size
    const seeds = seedWords(seed)
    // Four words of a key become four of its equation.
    const equations = new Uint32Array(words.length)
    for (let at = 0; at < words.length; at += EQUATION_WORDS) {
      const h0 = words[at]! | 0
      const h1 = words[at + 1]! | 0
      const h2 = words[at + 2]! | 0
      const h3 = words[at + 3]! | 0
      const t = seedSum(h0, h1, h2, h3, seeds)
      equations[at] = scaleTo(mix32((h0 + t) ^ seeds[0]!), blockLength)
      equations[at + 1] = blockLength + scaleTo(mix32((h1 + t) ^ seeds[1]!), blockLength)
      equations[at + 2] = 2 * blockLength + scaleTo(mix32((h2 + t) ^ seeds[2]!), blockLength)
      equations[at + 3] = mix32((h3 + t) ^ seeds[3]!)
    }
    const slots = new SlotArray(BLOCK_COUNT * blockLength, size.fingerprintBits)
    if (!solveByPeeling(equations, slots)) return undefined
    return new XorFilter(size, seed, hashing, words.length / HASH_WORDS, slots)
  }

  /** @throws {MalformedFilterError} */
  static load(record: FilterRecord): XorFilter {
    const [fingerprintBits, blockLength, seed, unused] = record.parameters
    const { entryCount } = record
    const problem = sizeProblem({ fingerprintBits, blockLength }) ?? (unused === 0 ? undefined : 'a fourth parameter')
    if (problem !== undefined) throw new MalformedFilterError(problem)
    const slotCount = BLOCK_COUNT * blockLength
    // Each equation has a slot of its own.
    if ((entryCount === 0) !== (slotCount === 0) || entryCount > slotCount) {
      throw new MalformedFilterError(`${slotCount} slots for ${entryCount} entries`)
    }
    const words = wordsOfBody(record.body, slotCount * fingerprintBits)
    const slots = new SlotArray(slotCount, fingerprintBits, words)
    return new XorFilter({ fingerprintBits, blockLength }, seed, record.hashing, entryCount, slots)
  }

  get sizeInBits(): number {
    return BLOCK_COUNT * this.blockLength * this.fingerprintBits
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
    const { blockLength } = this
    const seeds = this.#seeds
    const slots = this.#slots
    const h0 = key.h0 | 0
    const h1 = key.h1 | 0
    const h2 = key.h2 | 0
    const h3 = key.h3 | 0
    const t = seedSum(h0, h1, h2, h3, seeds)
    const found =
      slots.get(scaleTo(mix32((h0 + t) ^ seeds[0]!), blockLength)) ^
      slots.get(blockLength + scaleTo(mix32((h1 + t) ^ seeds[1]!), blockLength)) ^
      slots.get(2 * blockLength + scaleTo(mix32((h2 + t) ^ seeds[2]!), blockLength))
    return ((found ^ mix32((h3 + t) ^ seeds[3]!)) & this.#mask) === 0
  }

  serialise(): Uint8Array<ArrayBuffer> {
    return encodeFilter({
      kindCode: XorFilter.KIND_CODE,
      hashing: this.hashing,
      entryCount: this.entryCount,
      parameters: [this.fingerprintBits, this.blockLength, this.seed, 0],
      body: bytesOfWords(this.#slots.words, Math.ceil(this.sizeInBits / 8)),
    })
  }
}

/**
 * ceil(log2(1/f)) bits for each of 1.23 n + 32 slots, rounded up to three equal blocks.
 * @throws {RangeError} no fingerprint, or no number of slots, does
 */
export function xorSizeFor(entryCount: number, falseHitRate: number): XorSize {
  checkDemand(entryCount, falseHitRate)
  const size = {
    fingerprintBits: fingerprintBitsFor(falseHitRate),
    blockLength: entryCount === 0 ? 0 : Math.ceil((1.23 * entryCount + 32) / BLOCK_COUNT),
  }
  const problem = sizeProblem(size)
  if (problem !== undefined) throw new RangeError(problem)
  return size
}

function sizeProblem(size: XorSize): string | undefined {
  const { fingerprintBits, blockLength } = size
  if (!(fingerprintBits >= 1 && fingerprintBits <= MAX_FINGERPRINT_BITS))
    return `fingerprints of ${fingerprintBits} bits`
  const slotCount = BLOCK_COUNT * blockLength
  if (slotCount > MAX_SLOT_COUNT || slotCount * fingerprintBits > MAX_BITS) {
    return `${slotCount} slots of ${fingerprintBits} bits`
  }
  return undefined
}
