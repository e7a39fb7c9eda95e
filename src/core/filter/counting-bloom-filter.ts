import { BitArray } from './bit-array.ts'
import { BloomFilter } from './bloom-filter.ts'
import { CounterArray } from './counter-array.ts'
import { MalformedFilterError, bytesOfWords, encodeFilter, wordsOfBody, type FilterRecord } from './filter-format.ts'
import { MAX_PROBE_COUNT, geometryProblem, sameGeometry, type FilterGeometry } from './filter-geometry.ts'
import { bloomSizeFor, entriesFromFill, expectedFalseHitRate, falseHitRateAtFill } from './filter-sizing.ts'
import type { KeyHash, KeyHashing } from './key-hash.ts'
import { KeyNotHeldError, type ForgettingFilter, type UnitingFilter } from './membership-filter.ts'
import type { PositionSink } from './position-list.ts'
import { probePositions } from './probing.ts'

/**
 * A Bloom filter that can forget: a 4-bit counter for each bit, which is set while its counter is not 0
 * (Summary Cache, "Bloom filters"). A key added n times is held until it was removed n times.
 *
 * As bytes: parameters m, k, the number of counters that are not 0; the body is counter i as the low (i even) or high
 * (i odd) half of byte i >> 1.
 */
export class CountingBloomFilter implements ForgettingFilter, UnitingFilter {
  static readonly KIND_CODE = 2
  readonly geometry: FilterGeometry
  /** Read only to others. */
  readonly counters: CounterArray
  readonly #positions = new Uint32Array(MAX_PROBE_COUNT)
  #setBitCount = 0
  #entryCount = 0

  /**
   * An empty filter.
   * @param counters taken as they are, and to be cleared before the first key where they are not
   * @throws {RangeError} an impossible geometry
   */
  constructor(geometry: FilterGeometry, counters: CounterArray = new CounterArray(geometry.bitCount)) {
    const problem = geometryProblem(geometry)
    if (problem !== undefined) throw new RangeError(problem)
    this.geometry = geometry
    this.counters = counters
  }

  /** The smallest that holds so many keys at that false hit rate. */
  static withCapacity(entryCount: number, falseHitRate: number, hashing: KeyHashing): CountingBloomFilter {
    return new CountingBloomFilter({ ...hashing, ...bloomSizeFor(entryCount, falseHitRate) })
  }

  /** @throws {MalformedFilterError} */
  static load(record: FilterRecord): CountingBloomFilter {
    const [bitCount, probeCount, setBitCount, unused] = record.parameters
    const geometry = { ...record.hashing, bitCount, probeCount }
    const problem = geometryProblem(geometry) ?? (unused === 0 ? undefined : 'a fourth parameter')
    if (problem !== undefined) throw new MalformedFilterError(problem)
    const counters = new CounterArray(bitCount, wordsOfBody(record.body, bitCount * 4))
    const filter = new CountingBloomFilter(geometry, counters)
    const { nonZero, sum, full } = counters.totals()
    if (nonZero !== setBitCount) {
      throw new MalformedFilterError(`${nonZero} counters are not 0, where its head says ${setBitCount}`)
    }
    // Each entry counts in one to k counters; what has stuck tells nothing.
    const { entryCount } = record
    if (sum - full > entryCount * probeCount || (full === 0 && sum < entryCount)) {
      throw new MalformedFilterError(`counters of ${sum} in all for ${entryCount} entries`)
    }
    filter.#setBitCount = setBitCount
    filter.#entryCount = entryCount
    return filter
  }

  get hashing(): KeyHashing {
    return this.geometry
  }

  get setBitCount(): number {
    return this.#setBitCount
  }

  /** Additions less removals. */
  get entryCount(): number {
    return this.#entryCount
  }

  get sizeInBits(): number {
    return 4 * this.geometry.bitCount
  }

  get expectedFalseHitRate(): number {
    return expectedFalseHitRate(this.geometry, this.#entryCount)
  }

  get estimatedFalseHitRate(): number {
    return falseHitRateAtFill(this.geometry, this.#setBitCount)
  }

  /** Of distinct keys. Infinity when no counter is 0. */
  get estimatedEntryCount(): number {
    return entriesFromFill(this.geometry, this.#setBitCount)
  }

  isSet(bitIndex: number): boolean {
    return this.counters.get(bitIndex) !== 0
  }

  /** Bits 32 `wordIndex` and up, the first one least significant; signed. */
  word(wordIndex: number): number {
    return this.counters.nonZeroWord(wordIndex)
  }

  /** @param risen gets the positions that this set */
  add(key: KeyHash, risen?: PositionSink): void {
    const count = this.#probe(key)
    for (let i = 0; i < count; i++) {
      const position = this.#positions[i]!
      if (this.counters.increment(position) !== 1) continue
      this.#setBitCount++
      risen?.push(position)
    }
    this.#entryCount++
  }

  /** @param fallen gets the positions that this cleared */
  remove(key: KeyHash, fallen?: PositionSink): void {
    const count = this.#probe(key)
    for (let i = 0; i < count; i++) if (!this.isSet(this.#positions[i]!)) throw new KeyNotHeldError()
    if (this.#entryCount === 0) throw new KeyNotHeldError()
    for (let i = 0; i < count; i++) {
      const position = this.#positions[i]!
      if (this.counters.decrement(position) !== 0) continue
      this.#setBitCount--
      fallen?.push(position)
    }
    this.#entryCount--
  }

  mayContain(key: KeyHash): boolean {
    const { probeCount } = this.geometry
    const positions = this.#positions
    probePositions(key, this.geometry, positions)
    for (let i = 0; i < probeCount; i++) if (!this.isSet(positions[i]!)) return false
    return true
  }

  /** Counters add up, and stick at 15: afterwards what was added to either can be removed. */
  unionWith(other: CountingBloomFilter): void {
    if (!sameGeometry(other.geometry, this.geometry)) throw new RangeError('the filters differ in geometry')
    this.counters.addFrom(other.counters)
    this.#setBitCount = this.counters.totals().nonZero
    this.#entryCount += other.#entryCount
  }

  /** Its bits alone, as a filter of their own: that can be intersected, folded and sent. */
  toBloomFilter(): BloomFilter {
    const bits = new BitArray(this.geometry.bitCount)
    for (let i = 0; i < bits.bitCount; i++) if (this.isSet(i)) bits.set(i)
    return BloomFilter.ofBits(this.geometry, bits, this.#entryCount)
  }

  serialise(): Uint8Array<ArrayBuffer> {
    const { bitCount, probeCount } = this.geometry
    return encodeFilter({
      kindCode: CountingBloomFilter.KIND_CODE,
      hashing: this.geometry,
      entryCount: this.#entryCount,
      parameters: [bitCount, probeCount, this.#setBitCount, 0],
      body: bytesOfWords(this.counters.words, Math.ceil(bitCount / 2)),
    })
  }

  // Probes of one key that coincide count once, here as there, so that removal undoes addition exactly.
  #probe(key: KeyHash): number {
    const positions = this.#positions
    probePositions(key, this.geometry, positions)
    let kept = 0
    for (let i = 0; i < this.geometry.probeCount; i++) {
      const position = positions[i]!
      let earlier = 0
      while (earlier < kept && positions[earlier] !== position) earlier++
      if (earlier === kept) positions[kept++] = position
    }
    return kept
  }
}
