import { BitArray } from './bit-array.ts'
import { MalformedFilterError, bytesOfWords, encodeFilter, wordsOfBody, type FilterRecord } from './filter-format.ts'
import { MAX_PROBE_COUNT, geometryProblem, sameGeometry, type FilterGeometry } from './filter-geometry.ts'
import { bloomSizeFor, entriesFromFill, expectedFalseHitRate, falseHitRateAtFill } from './filter-sizing.ts'
import { MD5 } from './hash-schemes.ts'
import type { KeyHashList } from './key-hash-list.ts'
import type { KeyHash, KeyHashing } from './key-hash.ts'
import type { FoldingFilter, GrowingFilter, IntersectingFilter, UnitingFilter } from './membership-filter.ts'
import { bitsClaim, isPowerOfTwo, setBitsOf } from './probing.ts'

/**
 * Bloom's filter (1970): m bits, of which each key sets k.
 *
 * As bytes: parameters m, k, the number of set bits; the body is bit b as bit b & 7 of byte b >> 3.
 */
export class BloomFilter implements GrowingFilter, UnitingFilter, IntersectingFilter, FoldingFilter {
  static readonly KIND_CODE = 1
  readonly geometry: FilterGeometry
  readonly bits: BitArray
  readonly #positions = new Uint32Array(MAX_PROBE_COUNT)
  readonly #hash = { h0: 0, h1: 0, h2: 0, h3: 0 }
  #setBitCount = 0
  #entryCount = 0

  /**
   * An empty filter.
   * @param bits zeroed, where they shall lie in memory of the caller's
   * @throws {RangeError} an impossible geometry, or bits of another number
   */
  constructor(geometry: FilterGeometry, bits: BitArray = new BitArray(geometry.bitCount)) {
    const problem = geometryProblem(geometry)
    if (problem !== undefined) throw new RangeError(problem)
    if (bits.bitCount !== geometry.bitCount) throw new RangeError(`${bits.bitCount} bits for ${geometry.bitCount}`)
    this.geometry = geometry
    this.bits = bits
  }

  /** The smallest that holds so many keys at that false hit rate. */
  static withCapacity(entryCount: number, falseHitRate: number, hashing: KeyHashing): BloomFilter {
    return new BloomFilter({ ...hashing, ...bloomSizeFor(entryCount, falseHitRate) })
  }

  /**
   * Of bits that others have set; they are taken, not copied.
   * @param entryCount how many keys set them
   */
  static ofBits(geometry: FilterGeometry, bits: BitArray, entryCount: number): BloomFilter {
    const filter = new BloomFilter(geometry, bits)
    filter.#setBitCount = bits.countSet()
    filter.#entryCount = entryCount
    return filter
  }

  /** @throws {MalformedFilterError} */
  static load(record: FilterRecord): BloomFilter {
    const [bitCount, probeCount, setBitCount, unused] = record.parameters
    const geometry = { ...record.hashing, bitCount, probeCount }
    const problem = geometryProblem(geometry) ?? (unused === 0 ? undefined : 'a fourth parameter')
    if (problem !== undefined) throw new MalformedFilterError(problem)
    const { entryCount } = record
    if ((entryCount === 0) !== (setBitCount === 0) || setBitCount > entryCount * probeCount) {
      throw new MalformedFilterError(`${setBitCount} set bits of ${entryCount} entries`)
    }
    const bits = new BitArray(bitCount, wordsOfBody(record.body, bitCount))
    const filter = BloomFilter.ofBits(geometry, bits, entryCount)
    if (filter.#setBitCount !== setBitCount) {
      throw new MalformedFilterError(`${filter.#setBitCount} set bits, where its head says ${setBitCount}`)
    }
    return filter
  }

  get hashing(): KeyHashing {
    return this.geometry
  }

  get entryCount(): number {
    return this.#entryCount
  }

  get setBitCount(): number {
    return this.#setBitCount
  }

  get sizeInBits(): number {
    return this.geometry.bitCount
  }

  get expectedFalseHitRate(): number {
    return expectedFalseHitRate(this.geometry, this.#entryCount)
  }

  get estimatedFalseHitRate(): number {
    return falseHitRateAtFill(this.geometry, this.#setBitCount)
  }

  /** Infinity when every bit is set. */
  get estimatedEntryCount(): number {
    return entriesFromFill(this.geometry, this.#setBitCount)
  }

  mayContain(key: KeyHash): boolean {
    return bitsClaim(this.bits, this.geometry, key)
  }

  add(key: KeyHash): void {
    this.#setBitCount += setBitsOf(this.bits, this.geometry, key, this.#positions)
    this.#entryCount++
  }

  /**
   * Looks many keys up. Where the filter is larger than the caches this is quicker than one by one: the loads for the next
   * key begin while those for the last one are on their way.
   *
   * @param out gets 1 for each key that may be contained and 0 for the others; as long as `keys` at least
   * @returns how many may be
   */
  mayContainEach(keys: KeyHashList, out: Uint8Array): number {
    const { words } = keys
    const hash = this.#hash
    // Signed: larger numbers would not stay integers in an object.
    let count = 0
    for (let i = 0, at = 0; i < keys.length; i++, at += 4) {
      hash.h0 = words[at]! | 0
      hash.h1 = words[at + 1]! | 0
      hash.h2 = words[at + 2]! | 0
      hash.h3 = words[at + 3]! | 0
      const claimed = bitsClaim(this.bits, this.geometry, hash) ? 1 : 0
      out[i] = claimed
      count += claimed
    }
    return count
  }

  unionWith(other: BloomFilter): void {
    this.#checkGeometry(other)
    this.bits.orFrom(other.bits)
    this.#setBitCount = this.bits.countSet()
    this.#entryCount += other.#entryCount
  }

  intersectWith(other: BloomFilter): void {
    this.#checkGeometry(other)
    this.bits.andFrom(other.bits)
    this.#setBitCount = this.bits.countSet()
    const most = Math.min(this.#entryCount, other.#entryCount, Math.round(this.estimatedEntryCount))
    this.#entryCount = Math.max(Math.ceil(this.#setBitCount / this.geometry.probeCount), most)
  }

  foldedToHalf(): BloomFilter {
    const { bitCount, hashScheme } = this.geometry
    if (bitCount % 2 !== 0) throw new RangeError(`${bitCount} bits cannot be halved`)
    const half = bitCount / 2
    const bits = new BitArray(half)
    // Where positions are remainders the halves meet, where they are scaled the neighbours do.
    const takesRemainder = hashScheme === MD5 || isPowerOfTwo(bitCount)
    this.bits.pushSet({ push: (position) => bits.set(takesRemainder ? position % half : position >>> 1) })
    return BloomFilter.ofBits({ ...this.geometry, bitCount: half }, bits, this.#entryCount)
  }

  serialise(): Uint8Array<ArrayBuffer> {
    const { bitCount, probeCount } = this.geometry
    return encodeFilter({
      kindCode: BloomFilter.KIND_CODE,
      hashing: this.geometry,
      entryCount: this.#entryCount,
      parameters: [bitCount, probeCount, this.#setBitCount, 0],
      body: bytesOfWords(this.bits.words, Math.ceil(bitCount / 8)),
    })
  }

  #checkGeometry(other: BloomFilter): void {
    if (!sameGeometry(other.geometry, this.geometry)) throw new RangeError('the filters differ in geometry')
  }
}
