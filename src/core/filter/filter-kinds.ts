import { BinaryFuseFilter, binaryFuseSizeFor } from './binary-fuse-filter.ts'
import { BLOCK_BITS, BlockedBloomFilter, blockedBloomSizeFor, blockedFalseHitRate } from './blocked-bloom-filter.ts'
import { BloomFilter } from './bloom-filter.ts'
import { CountingBloomFilter } from './counting-bloom-filter.ts'
import { CuckooFilter, cuckooFalseHitRate, cuckooSizeFor } from './cuckoo-filter.ts'
import { MalformedFilterError, decodeFilter, type FilterRecord } from './filter-format.ts'
import { bloomSizeFor, checkDemand, expectedFalseHitRate } from './filter-sizing.ts'
import type { KeyHashList } from './key-hash-list.ts'
import type { KeyHashing } from './key-hash.ts'
import type { Filter, GrowingFilter } from './membership-filter.ts'
import { RibbonFilter, ribbonSizeFor } from './ribbon-filter.ts'
import { ScalableBloomFilter, scalableSliceSize } from './scalable-bloom-filter.ts'
import { XorFilter, xorSizeFor } from './xor-filter.ts'

/** What a filter for a demand would be, before it is made. */
export interface FilterPlan {
  readonly sizeInBits: number
  /** With all keys in it. */
  readonly falseHitRate: number
  /** Its parameters, for people: `m = 11542, k = 8`. */
  readonly parameters: string
}

export interface FilterKind {
  readonly name: string
  /** What stands for it in the binary format. */
  readonly code: number
  /** Keys can be added and taken out one at a time; filters of two sets make one of both; one becomes half as large. */
  readonly can: { readonly add: boolean; readonly remove: boolean; readonly unite: boolean; readonly fold: boolean }
  /** @throws {RangeError} no filter of this kind does */
  plan(entryCount: number, falseHitRate: number): FilterPlan
  /**
   * The smallest for these keys at that rate.
   * @throws {RangeError} no filter of this kind does
   * @throws {FilterBuildError} it cannot be built of these keys
   * @throws {FilterFullError} the same where keys are added one at a time: a cuckoo filter has little room for repeats
   */
  build(keys: KeyHashList, falseHitRate: number, hashing: KeyHashing): Filter
  /** @throws {MalformedFilterError} */
  load(record: FilterRecord): Filter
}

function filled<F extends GrowingFilter>(filter: F, keys: KeyHashList): F {
  for (let i = 0; i < keys.length; i++) filter.add(keys.at(i))
  return filter
}

function slotPlan(slotCount: number, bits: number, parameters: string): FilterPlan {
  return { sizeInBits: slotCount * bits, falseHitRate: slotCount === 0 ? 0 : 2 ** -bits, parameters }
}

/** All kinds, from the plainest to those that must know their keys beforehand. */
export const FILTER_KINDS: readonly FilterKind[] = [
  {
    name: 'bloom',
    code: BloomFilter.KIND_CODE,
    can: { add: true, remove: false, unite: true, fold: true },
    plan(entryCount, falseHitRate) {
      const size = bloomSizeFor(entryCount, falseHitRate)
      return {
        sizeInBits: size.bitCount,
        falseHitRate: expectedFalseHitRate(size, entryCount),
        parameters: `m = ${size.bitCount}, k = ${size.probeCount}`,
      }
    },
    build: (keys, rate, hashing) => filled(BloomFilter.withCapacity(keys.length, rate, hashing), keys),
    load: (record) => BloomFilter.load(record),
  },
  {
    name: 'counting-bloom',
    code: CountingBloomFilter.KIND_CODE,
    can: { add: true, remove: true, unite: true, fold: false },
    plan(entryCount, falseHitRate) {
      const size = bloomSizeFor(entryCount, falseHitRate)
      return {
        sizeInBits: 4 * size.bitCount,
        falseHitRate: expectedFalseHitRate(size, entryCount),
        parameters: `m = ${size.bitCount} counters of 4 bits, k = ${size.probeCount}`,
      }
    },
    build: (keys, rate, hashing) => filled(CountingBloomFilter.withCapacity(keys.length, rate, hashing), keys),
    load: (record) => CountingBloomFilter.load(record),
  },
  {
    name: 'blocked-bloom',
    code: BlockedBloomFilter.KIND_CODE,
    can: { add: true, remove: false, unite: true, fold: true },
    plan(entryCount, falseHitRate) {
      const size = blockedBloomSizeFor(entryCount, falseHitRate)
      return {
        sizeInBits: size.blockCount * BLOCK_BITS,
        falseHitRate: blockedFalseHitRate(size, entryCount),
        parameters: `${size.blockCount} blocks of ${BLOCK_BITS} bits, k = ${size.probeCount}`,
      }
    },
    build: (keys, rate, hashing) => filled(BlockedBloomFilter.withCapacity(keys.length, rate, hashing), keys),
    load: (record) => BlockedBloomFilter.load(record),
  },
  {
    name: 'scalable-bloom',
    code: ScalableBloomFilter.KIND_CODE,
    can: { add: true, remove: false, unite: false, fold: false },
    plan(entryCount, falseHitRate) {
      checkDemand(entryCount, falseHitRate)
      const size = scalableSliceSize(Math.max(1, entryCount), Math.fround(falseHitRate), 0)
      if (size === undefined) throw new RangeError(`no scalable filter does for ${entryCount} entries`)
      return {
        sizeInBits: size.bitCount,
        falseHitRate: expectedFalseHitRate(size, entryCount),
        parameters: `first slice m = ${size.bitCount}, k = ${size.probeCount}; each next for twice as many keys`,
      }
    },
    build: (keys, rate, hashing) => filled(ScalableBloomFilter.withCapacity(keys.length, rate, hashing), keys),
    load: (record) => ScalableBloomFilter.load(record),
  },
  {
    name: 'cuckoo',
    code: CuckooFilter.KIND_CODE,
    can: { add: true, remove: true, unite: false, fold: false },
    plan(entryCount, falseHitRate) {
      const size = cuckooSizeFor(entryCount, falseHitRate)
      return {
        sizeInBits: size.bucketCount * 4 * size.fingerprintBits,
        falseHitRate: cuckooFalseHitRate(size, entryCount),
        parameters: `${size.bucketCount} buckets of 4 fingerprints of ${size.fingerprintBits} bits`,
      }
    },
    build: (keys, rate, hashing) => CuckooFilter.build(keys, rate, hashing),
    load: (record) => CuckooFilter.load(record),
  },
  {
    name: 'xor',
    code: XorFilter.KIND_CODE,
    can: { add: false, remove: false, unite: false, fold: false },
    plan(entryCount, falseHitRate) {
      const { fingerprintBits, blockLength } = xorSizeFor(entryCount, falseHitRate)
      const parameters = `3 blocks of ${blockLength} fingerprints of ${fingerprintBits} bits`
      return slotPlan(3 * blockLength, fingerprintBits, parameters)
    },
    build: (keys, rate, hashing) => XorFilter.build(keys, rate, hashing),
    load: (record) => XorFilter.load(record),
  },
  {
    name: 'binary-fuse',
    code: BinaryFuseFilter.KIND_CODE,
    can: { add: false, remove: false, unite: false, fold: false },
    plan(entryCount, falseHitRate) {
      const { fingerprintBits, segmentLength, segmentCount } = binaryFuseSizeFor(entryCount, falseHitRate)
      const parameters = `${segmentCount} segments of ${segmentLength} fingerprints of ${fingerprintBits} bits`
      return slotPlan(segmentCount * segmentLength, fingerprintBits, parameters)
    },
    build: (keys, rate, hashing) => BinaryFuseFilter.build(keys, rate, hashing),
    load: (record) => BinaryFuseFilter.load(record),
  },
  {
    name: 'ribbon',
    code: RibbonFilter.KIND_CODE,
    can: { add: false, remove: false, unite: false, fold: false },
    plan(entryCount, falseHitRate) {
      const { resultBits, slotCount } = ribbonSizeFor(entryCount, falseHitRate)
      return slotPlan(slotCount, resultBits, `${slotCount} slots of ${resultBits} bits, 128 wide`)
    },
    build: (keys, rate, hashing) => RibbonFilter.build(keys, rate, hashing),
    load: (record) => RibbonFilter.load(record),
  },
]

/**
 * Reads any filter of the binary format.
 * @throws {MalformedFilterError} naming what is wrong or unknown; nothing larger than the bytes was allocated before
 */
export function loadFilter(bytes: Uint8Array): Filter {
  const record = decodeFilter(bytes)
  const kind = FILTER_KINDS.find(({ code }) => code === record.kindCode)
  if (kind === undefined) throw new MalformedFilterError(`unknown kind ${record.kindCode}`)
  return kind.load(record)
}
