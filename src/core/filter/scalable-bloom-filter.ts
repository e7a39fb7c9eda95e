import { BloomFilter } from './bloom-filter.ts'
import { MalformedFilterError, decodeFilter, encodeFilter, encodedBytes, type FilterRecord } from './filter-format.ts'
import { MAX_BIT_COUNT, sameGeometry } from './filter-geometry.ts'
import { bloomSizeFor, checkDemand, type BloomSize } from './filter-sizing.ts'
import type { KeyHash, KeyHashing } from './key-hash.ts'
import { FilterFullError, type GrowingFilter } from './membership-filter.ts'
import { MD5 } from './hash-schemes.ts'
import { mix32 } from './murmur3.ts'
import { seedSum, seedWords } from './seeded-words.ts'

const GROWTH = 2
/** 0.8 to 0.9 in the paper: each slice may err that much less than the one before. */
const TIGHTENING = 0.85
const MAX_SLICES = 32
const MAX_CAPACITY = 2 ** 31
/** The last 32-bit float below 1: higher rates would be rounded to 1, which is none. */
const MAX_RATE = 1 - 2 ** -24

/**
 * A Bloom filter for a number of keys that nobody knows: when a slice has got its share of keys, one of twice the share is
 * put beside it, with a lower rate, so that all of them together keep to the rate asked for (Almeida, Baquero, Preguiça,
 * Hutchison: Scalable Bloom Filters, 2007).
 *
 * Slice i (from 0) is a Bloom filter for n0 2^i keys at a rate of P (1 - 0.85) 0.85^i, of the fewest bits that do (filter-
 * sizing.ts). It is asked for the hash w0 to w3 that seeded-words.ts makes with seed i, so that a stranger that meets set
 * bits in one slice is as likely as any other to meet them in the next.
 *
 * As bytes: parameters slices, n0, the bits of P as a 32-bit float; the body is the slices, each a Bloom filter as bytes, from
 * slice 0 on.
 */
export class ScalableBloomFilter implements GrowingFilter {
  static readonly KIND_CODE = 4
  readonly hashing: KeyHashing
  readonly firstCapacity: number
  /** P: what all slices together keep to. A 32-bit float. */
  readonly falseHitRate: number
  readonly #slices: BloomFilter[] = []
  readonly #seeds: Int32Array[] = []
  readonly #seeded = new SeededHash()

  /**
   * An empty filter.
   * @param firstCapacity keys that the first slice takes; what is expected at least
   * @throws {RangeError} no filter does; MD5, whose hashes for more than four probes cannot be mixed anew
   */
  constructor(firstCapacity: number, falseHitRate: number, hashing: KeyHashing) {
    checkDemand(firstCapacity, falseHitRate)
    if (hashing.hashScheme === MD5) throw new RangeError('a scalable Bloom filter has no MD5 form')
    if (firstCapacity < 1 || firstCapacity > MAX_CAPACITY)
      throw new RangeError(`a first slice for ${firstCapacity} keys`)
    this.hashing = hashing
    this.firstCapacity = firstCapacity
    this.falseHitRate = Math.min(Math.fround(falseHitRate), MAX_RATE)
    const size = this.#sizeOf(0)
    if (size === undefined) throw new RangeError(`no filter of ${MAX_BIT_COUNT} bits or less does`)
    this.#push(new BloomFilter({ ...hashing, ...size }))
  }

  /** One that begins at so many keys. */
  static withCapacity(entryCount: number, falseHitRate: number, hashing: KeyHashing): ScalableBloomFilter {
    return new ScalableBloomFilter(Math.max(1, entryCount), falseHitRate, hashing)
  }

  /** @throws {MalformedFilterError} */
  static load(record: FilterRecord): ScalableBloomFilter {
    const [sliceCount, firstCapacity, rateBits, unused] = record.parameters
    const falseHitRate = new Float32Array(Uint32Array.of(rateBits).buffer)[0]!
    if (!(falseHitRate > 0 && falseHitRate < 1)) throw new MalformedFilterError(`a false hit rate of ${falseHitRate}`)
    if (sliceCount < 1 || sliceCount > MAX_SLICES) throw new MalformedFilterError(`${sliceCount} slices`)
    if (firstCapacity < 1 || firstCapacity > MAX_CAPACITY) {
      throw new MalformedFilterError(`a first slice for ${firstCapacity} keys`)
    }
    if (record.hashing.hashScheme === MD5) throw new MalformedFilterError('a scalable Bloom filter has no MD5 form')
    if (unused !== 0) throw new MalformedFilterError('a fourth parameter')
    const slices = slicesOf(record.body, sliceCount)
    // Nothing is made before the first slice's size is known to be that of the bytes at hand.
    const first = scalableSliceSize(firstCapacity, falseHitRate, 0)
    if (first === undefined || first.bitCount > 8 * slices[0]!.body.length) {
      throw new MalformedFilterError('slices that do not follow from its parameters')
    }
    const filter = new ScalableBloomFilter(firstCapacity, falseHitRate, record.hashing)
    filter.#slices.length = 0
    for (const [i, slice] of slices.entries()) {
      const bloom = BloomFilter.load(slice)
      const size = filter.#sizeOf(i)
      const capacity = firstCapacity * GROWTH ** i
      const isLast = i === sliceCount - 1
      const follows = size !== undefined && sameGeometry(bloom.geometry, { ...record.hashing, ...size })
      if (!follows || bloom.entryCount > capacity || (!isLast && bloom.entryCount < capacity)) {
        throw new MalformedFilterError('slices that do not follow from its parameters')
      }
      filter.#push(bloom)
    }
    if (filter.entryCount !== record.entryCount) {
      throw new MalformedFilterError(`${filter.entryCount} entries in slices, where its head says ${record.entryCount}`)
    }
    return filter
  }

  get sliceCount(): number {
    return this.#slices.length
  }

  get entryCount(): number {
    return this.#slices.reduce((sum, slice) => sum + slice.entryCount, 0)
  }

  get sizeInBits(): number {
    return this.#slices.reduce((sum, slice) => sum + slice.sizeInBits, 0)
  }

  /** 1 - prod(1 - f_i) */
  get expectedFalseHitRate(): number {
    return 1 - this.#slices.reduce((product, slice) => product * (1 - slice.expectedFalseHitRate), 1)
  }

  get estimatedFalseHitRate(): number {
    return 1 - this.#slices.reduce((product, slice) => product * (1 - slice.estimatedFalseHitRate), 1)
  }

  get estimatedEntryCount(): number {
    return this.#slices.reduce((sum, slice) => sum + slice.estimatedEntryCount, 0)
  }

  /** The largest slice first: half of all keys and more are there. */
  mayContain(key: KeyHash): boolean {
    for (let i = this.#slices.length - 1; i >= 0; i--) {
      this.#seeded.mix(key, this.#seeds[i]!)
      if (this.#slices[i]!.mayContain(this.#seeded)) return true
    }
    return false
  }

  add(key: KeyHash): void {
    let last = this.#slices.length - 1
    if (this.#slices[last]!.entryCount >= this.firstCapacity * GROWTH ** last) {
      const size = this.#sizeOf(++last)
      if (size === undefined) throw new FilterFullError(this.entryCount)
      this.#push(new BloomFilter({ ...this.hashing, ...size }))
    }
    this.#seeded.mix(key, this.#seeds[last]!)
    this.#slices[last]!.add(this.#seeded)
  }

  serialise(): Uint8Array<ArrayBuffer> {
    const slices = this.#slices.map((slice) => slice.serialise())
    const body = new Uint8Array(slices.reduce((sum, slice) => sum + slice.length, 0))
    let at = 0
    for (const slice of slices) {
      body.set(slice, at)
      at += slice.length
    }
    return encodeFilter({
      kindCode: ScalableBloomFilter.KIND_CODE,
      hashing: this.hashing,
      entryCount: this.entryCount,
      parameters: [
        slices.length,
        this.firstCapacity,
        new Uint32Array(Float32Array.of(this.falseHitRate).buffer)[0]!,
        0,
      ],
      body,
    })
  }

  #sizeOf(slice: number): BloomSize | undefined {
    return scalableSliceSize(this.firstCapacity, this.falseHitRate, slice)
  }

  #push(slice: BloomFilter): void {
    this.#seeds[this.#slices.length] = seedWords(this.#slices.length)
    this.#slices.push(slice)
  }
}

/** The hash that a slice is asked for. */
class SeededHash implements KeyHash {
  h0 = 0
  h1 = 0
  h2 = 0
  h3 = 0

  mix(key: KeyHash, seeds: Int32Array): void {
    const h0 = key.h0 | 0
    const h1 = key.h1 | 0
    const h2 = key.h2 | 0
    const h3 = key.h3 | 0
    const t = seedSum(h0, h1, h2, h3, seeds)
    this.h0 = mix32((h0 + t) ^ seeds[0]!)
    this.h1 = mix32((h1 + t) ^ seeds[1]!)
    this.h2 = mix32((h2 + t) ^ seeds[2]!)
    this.h3 = mix32((h3 + t) ^ seeds[3]!)
  }
}

/** The size of a slice, from 0; undefined: there can be no such slice. */
export function scalableSliceSize(firstCapacity: number, falseHitRate: number, slice: number): BloomSize | undefined {
  const capacity = firstCapacity * GROWTH ** slice
  const rate = falseHitRate * (1 - TIGHTENING) * TIGHTENING ** slice
  // Fewer than one bit a key are never enough.
  if (slice >= MAX_SLICES || capacity > MAX_CAPACITY || capacity * -Math.log2(rate) > MAX_BIT_COUNT) return undefined
  try {
    return bloomSizeFor(capacity, rate)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function slicesOf(body: Uint8Array, count: number): FilterRecord[] {
  const slices: FilterRecord[] = []
  let at = 0
  for (let i = 0; i < count; i++) {
    const length = encodedBytes(body.subarray(at))
    if (length === undefined || length > body.length - at) throw new MalformedFilterError(`slice ${i} ends too early`)
    const slice = decodeFilter(body.subarray(at, at + length))
    if (slice.kindCode !== BloomFilter.KIND_CODE) throw new MalformedFilterError(`slice ${i} is no Bloom filter`)
    slices.push(slice)
    at += length
  }
  if (at !== body.length) throw new MalformedFilterError('bytes behind the last slice')
  return slices
}
