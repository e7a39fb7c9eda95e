import { BitArray } from './bit-array.ts'
import { MalformedFilterError, bytesOfWords, encodeFilter, wordsOfBody, type FilterRecord } from './filter-format.ts'
import { MAX_BIT_COUNT, MAX_PROBE_COUNT, sameHashing } from './filter-geometry.ts'
import { bloomSizeFor, checkDemand, entriesFromFill, exactFalseHitRates, leastFrom } from './filter-sizing.ts'
import type { KeyHash, KeyHashing } from './key-hash.ts'
import type { FoldingFilter, GrowingFilter, IntersectingFilter, UnitingFilter } from './membership-filter.ts'
import { mix32 } from './murmur3.ts'
import { scaleTo } from './probing.ts'

/** A cache line. */
export const BLOCK_BITS = 512
const BLOCK_WORDS = BLOCK_BITS / 32
const MAX_BLOCK_COUNT = MAX_BIT_COUNT / BLOCK_BITS
/** 9 bits choose among 512: three times in a word. */
const PROBES_PER_WORD = 3

export interface BlockedBloomSize {
  readonly blockCount: number
  readonly probeCount: number
}

/**
 * A Bloom filter whose keys have all their bits in one block of 512: one cache miss for a lookup, and more false hits
 * than the plain one, since some blocks get more keys than others (Putze, Sanders, Singler: Cache-, Hash- and
 * Space-Efficient Bloom Filters, 2007).
 *
 * A key's block is floor(h0 blocks / 2^32). Its positions in there are bits 23-31, 14-22 and 5-13 of h1, then of
 * fmix32(h2 + c), fmix32(h3 + 2 c) and fmix32(h1 + g c) for g = 3, 4, 5, with c = 0x9e3779b9 and sums modulo 2^32. Mixed,
 * since MurmurHash3 gives a key of 4 bytes or less three equal words, h1 to h3, and probes would be made twice.
 *
 * As bytes: parameters blocks, k, the number of set bits; the body as a Bloom filter's.
 */
export class BlockedBloomFilter implements GrowingFilter, UnitingFilter, IntersectingFilter, FoldingFilter {
  static readonly KIND_CODE = 3
  readonly hashing: KeyHashing
  readonly blockCount: number
  readonly probeCount: number
  readonly bits: BitArray
  readonly #positions = new Uint32Array(MAX_PROBE_COUNT)
  #setBitCount = 0
  #entryCount = 0

  /**
   * An empty filter.
   * @throws {RangeError} an impossible size
   */
  constructor(size: BlockedBloomSize, hashing: KeyHashing) {
    const problem = sizeProblem(size)
    if (problem !== undefined) throw new RangeError(problem)
    this.hashing = hashing
    this.blockCount = size.blockCount
    this.probeCount = size.probeCount
    this.bits = new BitArray(size.blockCount * BLOCK_BITS)
  }

  /** The smallest that holds so many keys at that false hit rate. */
  static withCapacity(entryCount: number, falseHitRate: number, hashing: KeyHashing): BlockedBloomFilter {
    return new BlockedBloomFilter(blockedBloomSizeFor(entryCount, falseHitRate), hashing)
  }

  /** @throws {MalformedFilterError} */
  static load(record: FilterRecord): BlockedBloomFilter {
    const [blockCount, probeCount, setBitCount, unused] = record.parameters
    const problem = sizeProblem({ blockCount, probeCount }) ?? (unused === 0 ? undefined : 'a fourth parameter')
    if (problem !== undefined) throw new MalformedFilterError(problem)
    const { entryCount } = record
    if ((entryCount === 0) !== (setBitCount === 0) || setBitCount > entryCount * probeCount) {
      throw new MalformedFilterError(`${setBitCount} set bits of ${entryCount} entries`)
    }
    const words = wordsOfBody(record.body, blockCount * BLOCK_BITS)
    const filter = new BlockedBloomFilter({ blockCount, probeCount }, record.hashing)
    filter.bits.words.set(words)
    filter.#setBitCount = filter.bits.countSet()
    if (filter.#setBitCount !== setBitCount) {
      throw new MalformedFilterError(`${filter.#setBitCount} set bits, where its head says ${setBitCount}`)
    }
    filter.#entryCount = entryCount
    return filter
  }

  get entryCount(): number {
    return this.#entryCount
  }

  get setBitCount(): number {
    return this.#setBitCount
  }

  get sizeInBits(): number {
    return this.bits.bitCount
  }

  get expectedFalseHitRate(): number {
    return blockedFalseHitRate(this, this.#entryCount)
  }

  /** The mean over the blocks of what each one's fill gives. */
  get estimatedFalseHitRate(): number {
    let sum = 0
    for (let block = 0; block < this.blockCount; block++)
      sum += (this.#setInBlock(block) / BLOCK_BITS) ** this.probeCount
    return sum / this.blockCount
  }

  /** Infinity when every bit of a block is set. */
  get estimatedEntryCount(): number {
    const size = { bitCount: BLOCK_BITS, probeCount: this.probeCount }
    let sum = 0
    for (let block = 0; block < this.blockCount; block++) sum += entriesFromFill(size, this.#setInBlock(block))
    return sum
  }

  mayContain(key: KeyHash): boolean {
    const { words } = this.bits
    const { probeCount } = this
    const base = scaleTo(key.h0, this.blockCount) * BLOCK_WORDS
    let all = 1
    let probe = 0
    for (let group = 0; probe < probeCount; group++) {
      const word = wordOfGroup(key, group)
      const end = Math.min(probe + PROBES_PER_WORD, probeCount)
      for (let shift = 23; probe < end; probe++, shift -= 9) {
        const position = (word >>> shift) & (BLOCK_BITS - 1)
        all &= words[base + (position >>> 5)]! >>> (position & 31)
      }
    }
    return all === 1
  }

  add(key: KeyHash): void {
    this.#probe(key)
    for (let i = 0; i < this.probeCount; i++) if (this.bits.set(this.#positions[i]!)) this.#setBitCount++
    this.#entryCount++
  }

  unionWith(other: BlockedBloomFilter): void {
    this.#checkSize(other)
    this.bits.orFrom(other.bits)
    this.#setBitCount = this.bits.countSet()
    this.#entryCount += other.#entryCount
  }

  intersectWith(other: BlockedBloomFilter): void {
    this.#checkSize(other)
    this.bits.andFrom(other.bits)
    this.#setBitCount = this.bits.countSet()
    const most = Math.min(this.#entryCount, other.#entryCount, Math.round(this.estimatedEntryCount))
    this.#entryCount = Math.max(Math.ceil(this.#setBitCount / this.probeCount), most)
  }

  /** Each two neighbouring blocks become one. */
  foldedToHalf(): BlockedBloomFilter {
    const { blockCount, probeCount } = this
    if (blockCount % 2 !== 0) throw new RangeError(`${blockCount} blocks cannot be halved`)
    const folded = new BlockedBloomFilter({ blockCount: blockCount / 2, probeCount }, this.hashing)
    const { words } = this.bits
    for (let block = 0; block < blockCount; block++) {
      const [from, to] = [block * BLOCK_WORDS, (block >>> 1) * BLOCK_WORDS]
      for (let i = 0; i < BLOCK_WORDS; i++) folded.bits.words[to + i]! |= words[from + i]!
    }
    folded.#setBitCount = folded.bits.countSet()
    folded.#entryCount = this.#entryCount
    return folded
  }

  serialise(): Uint8Array<ArrayBuffer> {
    return encodeFilter({
      kindCode: BlockedBloomFilter.KIND_CODE,
      hashing: this.hashing,
      entryCount: this.#entryCount,
      parameters: [this.blockCount, this.probeCount, this.#setBitCount, 0],
      body: bytesOfWords(this.bits.words),
    })
  }

  #probe(key: KeyHash): void {
    const base = scaleTo(key.h0, this.blockCount) * BLOCK_BITS
    for (let i = 0; i < this.probeCount; i++) {
      const group = Math.floor(i / PROBES_PER_WORD)
      const shift = 23 - 9 * (i % PROBES_PER_WORD)
      this.#positions[i] = base + ((wordOfGroup(key, group) >>> shift) & (BLOCK_BITS - 1))
    }
  }

  #setInBlock(block: number): number {
    return this.bits.countSet(block * BLOCK_WORDS, (block + 1) * BLOCK_WORDS)
  }

  #checkSize(other: BlockedBloomFilter): void {
    const isSame = other.blockCount === this.blockCount && other.probeCount === this.probeCount
    if (!isSame || !sameHashing(other.hashing, this.hashing)) throw new RangeError('the filters differ in geometry')
  }
}

/**
 * How likely a stranger is claimed where `entryCount` keys are spread over the blocks by chance: the mean over a
 * binomial number of keys in its block of the exact rate of so many in 512 bits.
 */
export function blockedFalseHitRate(size: BlockedBloomSize, entryCount: number): number {
  return mixedRate(size.blockCount, entryCount, ratesInBlock(size.probeCount, entryCount / size.blockCount, entryCount))
}

/**
 * The fewest blocks, and their best number of probes, that keep the rate at or below `falseHitRate`.
 * @throws {RangeError} no filter does
 */
export function blockedBloomSizeFor(entryCount: number, falseHitRate: number): BlockedBloomSize {
  checkDemand(entryCount, falseHitRate)
  // Fewer bits than a plain filter needs are never enough.
  const least = Math.max(1, Math.floor(bloomSizeFor(entryCount, falseHitRate).bitCount / BLOCK_BITS))
  let best: BlockedBloomSize | undefined
  for (let probeCount = 1; probeCount <= MAX_PROBE_COUNT; probeCount++) {
    const rates = ratesInBlock(probeCount, entryCount / least, entryCount)
    const isEnough = (blockCount: number): boolean => mixedRate(blockCount, entryCount, rates) <= falseHitRate
    const blockCount = leastFrom(least, best === undefined ? MAX_BLOCK_COUNT : best.blockCount - 1, isEnough)
    if (blockCount !== undefined) best = { blockCount, probeCount }
  }
  if (best === undefined) throw new RangeError(`no blocked filter of ${MAX_BIT_COUNT} bits or less does`)
  return best
}

/** By number of keys in the block, up to one that no block gets, or in which all bits are as good as set. */
function ratesInBlock(probeCount: number, meanEntries: number, entryCount: number): Float64Array {
  const saturated = Math.ceil((BLOCK_BITS * 40) / probeCount)
  const most = Math.ceil(meanEntries + 12 * Math.sqrt(meanEntries) + 24)
  return exactFalseHitRates(BLOCK_BITS, probeCount, Math.min(entryCount, most, saturated))
}

function mixedRate(blockCount: number, entryCount: number, rates: Float64Array): number {
  if (blockCount === 1) return rates[Math.min(entryCount, rates.length - 1)]!
  // Binomial shares by their ratio, from the largest outwards, where rounding cannot lose them.
  const mode = Math.min(rates.length - 1, Math.floor((entryCount + 1) / blockCount))
  let total = 1
  let sum = rates[mode]!
  let share = 1
  for (let i = mode; i < Math.min(entryCount, rates.length - 1); i++) {
    share *= (entryCount - i) / ((i + 1) * (blockCount - 1))
    total += share
    sum += share * rates[i + 1]!
  }
  share = 1
  for (let i = mode; i > 0; i--) {
    share *= (i * (blockCount - 1)) / (entryCount - i + 1)
    total += share
    sum += share * rates[i - 1]!
  }
  return sum / total
}

function sizeProblem(size: BlockedBloomSize): string | undefined {
  const { blockCount, probeCount } = size
  if (!Number.isInteger(blockCount) || blockCount < 1 || blockCount > MAX_BLOCK_COUNT) {
    return `block count ${blockCount} out of range`
  }
  if (!Number.isInteger(probeCount) || probeCount < 1 || probeCount > MAX_PROBE_COUNT) {
    return `probe count ${probeCount} out of range`
  }
  return undefined
}

function wordOfGroup(key: KeyHash, group: number): number {
  if (group === 0) return key.h1
  const word = group === 1 ? key.h2 : group === 2 ? key.h3 : key.h1
  return mix32((word + Math.imul(group, 0x9e3779b9)) | 0)
}
