import { MalformedFilterError, bytesOfWords, encodeFilter, wordsOfBody, type FilterRecord } from './filter-format.ts'
import { checkDemand } from './filter-sizing.ts'
import type { KeyHashList } from './key-hash-list.ts'
import type { KeyHash, KeyHashing } from './key-hash.ts'
import { FilterFullError, KeyNotHeldError, type ForgettingFilter } from './membership-filter.ts'
import { mix32 } from './murmur3.ts'
import { scaleTo } from './probing.ts'
import { SlotArray } from './slot-array.ts'

const SLOTS_PER_BUCKET = 4
// Fan et al., table 2: with four slots a bucket 95 % can be filled. Small filters do worse by chance.
const MAX_LOAD = 0.95
const SPARE_BUCKETS = 3
const MIN_FINGERPRINT_BITS = 4
const MAX_FINGERPRINT_BITS = 32
const MAX_SIZE_BITS = 2 ** 32
/** As in the paper. */
const MAX_RELOCATIONS = 500
const EMPTY = 0
const MAX_ATTEMPTS = 10
const ATTEMPT_GROWTH = 1.05

export interface CuckooSize {
  readonly bucketCount: number
  readonly fingerprintBits: number
}

/**
 * Fingerprints in buckets of four, each key's in one of two buckets of which one follows from the other and the
 * fingerprint alone (Fan, Andersen, Kaminsky, Mitzenmacher: Cuckoo Filter, 2014). A key added n times has n slots of the
 * eight that its fingerprint can be in, or of four where its two buckets are one.
 *
 * A key's fingerprint is 1 + floor(h2 (2^p - 1) / 2^32), of p bits; its first bucket floor(h0 buckets / 2^32). Of a bucket b
 * and a fingerprint the other bucket is (floor(fmix32(fingerprint) buckets / 2^32) - b) mod buckets: the paper's exclusive
 * or would need a power of two.
 *
 * As bytes: parameters buckets, p, the state that chooses victims; the body is slot i, of p bits, as bits i p and up, in the
 * bit order of a Bloom filter's; slots 4 b to 4 b + 3 are bucket b; 0 is an empty one.
 */
export class CuckooFilter implements ForgettingFilter {
  static readonly KIND_CODE = 5
  readonly hashing: KeyHashing
  readonly bucketCount: number
  readonly fingerprintBits: number
  readonly #slots: SlotArray
  // What a relocation took out, to be put back when there is no way.
  readonly #movedFrom = new Float64Array(MAX_RELOCATIONS)
  readonly #moved = new Uint32Array(MAX_RELOCATIONS)
  #chooser = 1
  #entryCount = 0

  /**
   * An empty filter.
   * @throws {RangeError} an impossible size
   */
  constructor(size: CuckooSize, hashing: KeyHashing) {
    const problem = sizeProblem(size)
    if (problem !== undefined) throw new RangeError(problem)
    this.hashing = hashing
    this.bucketCount = size.bucketCount
    this.fingerprintBits = size.fingerprintBits
    this.#slots = new SlotArray(size.bucketCount * SLOTS_PER_BUCKET, size.fingerprintBits)
  }

  /**
   * Of these keys. Small filters of short fingerprints now and then find no place for the last ones: then it begins anew
   * with a few more buckets.
   * @throws {FilterFullError} a key is there more often than its two buckets have slots: eight times, mostly
   */
  static build(keys: KeyHashList, falseHitRate: number, hashing: KeyHashing): CuckooFilter {
    const { fingerprintBits, bucketCount: leastBuckets } = cuckooSizeFor(keys.length, falseHitRate)
    let bucketCount = leastBuckets
    for (let attempt = 1; ; attempt++) {
      const filter = new CuckooFilter({ bucketCount, fingerprintBits }, hashing)
      try {
        for (let i = 0; i < keys.length; i++) filter.add(keys.at(i))
        return filter
      } catch (error) {
        if (!(error instanceof FilterFullError) || attempt === MAX_ATTEMPTS) throw error
        bucketCount = Math.ceil(bucketCount * ATTEMPT_GROWTH)
      }
    }
  }

  /** The smallest that so many keys fit into at that false hit rate, though with bad luck the last ones may not. */
  static withCapacity(entryCount: number, falseHitRate: number, hashing: KeyHashing): CuckooFilter {
    return new CuckooFilter(cuckooSizeFor(entryCount, falseHitRate), hashing)
  }

  /** @throws {MalformedFilterError} */
  static load(record: FilterRecord): CuckooFilter {
    const [bucketCount, fingerprintBits, chooser, unused] = record.parameters
    const problem = sizeProblem({ bucketCount, fingerprintBits })
    if (problem !== undefined) throw new MalformedFilterError(problem)
    if (chooser === 0) throw new MalformedFilterError('no state that chooses victims')
    if (unused !== 0) throw new MalformedFilterError('a fourth parameter')
    const words = wordsOfBody(record.body, bucketCount * SLOTS_PER_BUCKET * fingerprintBits)
    const filter = new CuckooFilter({ bucketCount, fingerprintBits }, record.hashing)
    filter.#slots.words.set(words)
    filter.#chooser = chooser
    filter.#entryCount = record.entryCount
    if (filter.estimatedEntryCount !== record.entryCount) {
      throw new MalformedFilterError(`${filter.estimatedEntryCount} slots in use for ${record.entryCount} entries`)
    }
    return filter
  }

  get entryCount(): number {
    return this.#entryCount
  }

  get sizeInBits(): number {
    return this.bucketCount * SLOTS_PER_BUCKET * this.fingerprintBits
  }

  get expectedFalseHitRate(): number {
    return cuckooFalseHitRate(this, this.#entryCount)
  }

  get estimatedFalseHitRate(): number {
    return cuckooFalseHitRate(this, this.estimatedEntryCount)
  }

  /** Slots in use: exact. */
  get estimatedEntryCount(): number {
    let used = 0
    for (let slot = 0; slot < this.#slots.slotCount; slot++) if (this.#slots.get(slot) !== EMPTY) used++
    return used
  }

  mayContain(key: KeyHash): boolean {
    const fingerprint = this.#fingerprintOf(key)
    const bucket = scaleTo(key.h0, this.bucketCount)
    return this.#holds(bucket, fingerprint) || this.#holds(this.#otherBucket(bucket, fingerprint), fingerprint)
  }

  add(key: KeyHash): void {
    const fingerprint = this.#fingerprintOf(key)
    const bucket = scaleTo(key.h0, this.bucketCount)
    const other = this.#otherBucket(bucket, fingerprint)
    const chooser = this.#chooser
    const isPlaced =
      this.#replaceIn(bucket, EMPTY, fingerprint) ||
      this.#replaceIn(other, EMPTY, fingerprint) ||
      this.#relocate((this.#choose() & 1) === 0 ? bucket : other, fingerprint)
    if (!isPlaced) {
      this.#chooser = chooser
      throw new FilterFullError(this.#entryCount)
    }
    this.#entryCount++
  }

  remove(key: KeyHash): void {
    const fingerprint = this.#fingerprintOf(key)
    const bucket = scaleTo(key.h0, this.bucketCount)
    const isRemoved =
      this.#replaceIn(bucket, fingerprint, EMPTY) ||
      this.#replaceIn(this.#otherBucket(bucket, fingerprint), fingerprint, EMPTY)
    if (!isRemoved) throw new KeyNotHeldError()
    this.#entryCount--
  }

  serialise(): Uint8Array<ArrayBuffer> {
    return encodeFilter({
      kindCode: CuckooFilter.KIND_CODE,
      hashing: this.hashing,
      entryCount: this.#entryCount,
      parameters: [this.bucketCount, this.fingerprintBits, this.#chooser, 0],
      body: bytesOfWords(this.#slots.words, Math.ceil(this.sizeInBits / 8)),
    })
  }

  #fingerprintOf(key: KeyHash): number {
    return 1 + scaleTo(key.h2, 2 ** this.fingerprintBits - 1)
  }

  #otherBucket(bucket: number, fingerprint: number): number {
    const other = scaleTo(mix32(fingerprint), this.bucketCount) - bucket
    return other < 0 ? other + this.bucketCount : other
  }

  #holds(bucket: number, fingerprint: number): boolean {
    const slots = this.#slots
    const first = bucket * SLOTS_PER_BUCKET
    return (
      slots.get(first) === fingerprint ||
      slots.get(first + 1) === fingerprint ||
      slots.get(first + 2) === fingerprint ||
      slots.get(first + 3) === fingerprint
    )
  }

  /** Overwrites the first slot of the bucket that holds `old`; false when none does. */
  #replaceIn(bucket: number, old: number, replacement: number): boolean {
    const first = bucket * SLOTS_PER_BUCKET
    for (let slot = first; slot < first + SLOTS_PER_BUCKET; slot++) {
      if (this.#slots.get(slot) !== old) continue
      this.#slots.set(slot, replacement)
      return true
    }
    return false
  }

  /** Puts the fingerprint into a full bucket, and what it drives out into its other bucket, and so on. */
  #relocate(from: number, fingerprint: number): boolean {
    let bucket = from
    let homeless = fingerprint
    for (let moves = 0; moves < MAX_RELOCATIONS; moves++) {
      const slot = bucket * SLOTS_PER_BUCKET + (this.#choose() & (SLOTS_PER_BUCKET - 1))
      const victim = this.#slots.get(slot)
      this.#slots.set(slot, homeless)
      this.#movedFrom[moves] = slot
      this.#moved[moves] = victim
      homeless = victim
      bucket = this.#otherBucket(bucket, homeless)
      if (this.#replaceIn(bucket, EMPTY, homeless)) return true
    }
    for (let move = MAX_RELOCATIONS - 1; move >= 0; move--) this.#slots.set(this.#movedFrom[move]!, this.#moved[move]!)
    return false
  }

  /** Xorshift (Marsaglia 2003): victims need not be unforeseeable, only spread. */
  #choose(): number {
    let x = this.#chooser
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    this.#chooser = x >>> 0
    return x >>> 16
  }
}

/**
 * 1 - (1 - 2 / (b (2^p - 1)))^n for n keys in b buckets: a key is claimed for each of the n whose fingerprint is its own and
 * whose pair of buckets is.
 */
export function cuckooFalseHitRate(size: CuckooSize, entryCount: number): number {
  const pairs = (size.bucketCount * (2 ** size.fingerprintBits - 1)) / Math.min(2, size.bucketCount)
  return pairs <= 1 ? 1 : -Math.expm1(entryCount * Math.log1p(-1 / pairs))
}

/**
 * Buckets that so many keys fill to 95 %, and fingerprints that keep the rate at or below `falseHitRate`.
 * @throws {RangeError} no filter does
 */
export function cuckooSizeFor(entryCount: number, falseHitRate: number): CuckooSize {
  checkDemand(entryCount, falseHitRate)
  const bucketCount = Math.ceil(entryCount / (SLOTS_PER_BUCKET * MAX_LOAD)) + SPARE_BUCKETS
  for (let fingerprintBits = MIN_FINGERPRINT_BITS; fingerprintBits <= MAX_FINGERPRINT_BITS; fingerprintBits++) {
    const size = { bucketCount, fingerprintBits }
    if (sizeProblem(size) !== undefined) break
    if (cuckooFalseHitRate(size, entryCount) <= falseHitRate) return size
  }
  throw new RangeError(`no cuckoo filter of ${MAX_SIZE_BITS} bits or less does`)
}

function sizeProblem(size: CuckooSize): string | undefined {
  const { bucketCount, fingerprintBits } = size
  const isWidth = fingerprintBits >= MIN_FINGERPRINT_BITS && fingerprintBits <= MAX_FINGERPRINT_BITS
  if (!Number.isInteger(fingerprintBits) || !isWidth) return `fingerprints of ${fingerprintBits} bits`
  const isPossible = bucketCount >= 1 && bucketCount * SLOTS_PER_BUCKET * fingerprintBits <= MAX_SIZE_BITS
  return Number.isInteger(bucketCount) && isPossible ? undefined : `bucket count ${bucketCount} out of range`
}
