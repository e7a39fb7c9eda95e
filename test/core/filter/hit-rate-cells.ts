import { BlockedBloomFilter, blockedFalseHitRate } from '../../../src/core/filter/blocked-bloom-filter.ts'
import { BinaryFuseFilter } from '../../../src/core/filter/binary-fuse-filter.ts'
import { BloomFilter } from '../../../src/core/filter/bloom-filter.ts'
import { CountingBloomFilter } from '../../../src/core/filter/counting-bloom-filter.ts'
import { CuckooFilter, cuckooFalseHitRate, cuckooSizeFor } from '../../../src/core/filter/cuckoo-filter.ts'
import { expectedFalseHitRate, type BloomSize } from '../../../src/core/filter/filter-sizing.ts'
import { MURMUR3 } from '../../../src/core/filter/hash-schemes.ts'
import { KeyHashList } from '../../../src/core/filter/key-hash-list.ts'
import type { KeyHashing } from '../../../src/core/filter/key-hash.ts'
import type { Filter, GrowingFilter } from '../../../src/core/filter/membership-filter.ts'
import { RibbonFilter } from '../../../src/core/filter/ribbon-filter.ts'
import { ScalableBloomFilter, scalableSliceSize } from '../../../src/core/filter/scalable-bloom-filter.ts'
import { XorFilter } from '../../../src/core/filter/xor-filter.ts'
import type { KeySource } from './key-sources.ts'

export const hashing: KeyHashing = { hashScheme: MURMUR3, keyId: 0, keyRules: 0 }

/** A filter of a certain size with so many keys, whose false hit rate is to be measured. */
export interface RateCell {
  readonly name: string
  readonly entryCount: number
  /** By formula. */
  readonly expected: number
  /** Standard deviation of one filter's own rate, where it has small parts that matter; by formula. */
  readonly scatter?: number
  /** Of keys 0 to `entryCount` - 1 of the source. */
  build(source: KeySource): Filter
}

export type BitKind = 'bloom' | 'counting' | 'blocked'
export type FingerprintKind = 'cuckoo' | 'xor' | 'binary-fuse' | 'ribbon'

const LOADS = [5, 8, 12, 16, 24, 32]
const PROBE_COUNTS = [1, 2, 4, 6, 8, 11, 16]

function filled(filter: GrowingFilter, source: KeySource, entryCount: number): Filter {
  for (let n = 0; n < entryCount; n++) filter.add(source.at(n))
  return filter
}

function listed(source: KeySource, entryCount: number): KeyHashList {
  const list = new KeyHashList(entryCount)
  for (let n = 0; n < entryCount; n++) list.push(source.at(n))
  return list
}

/** A Bloom filter of some kind, of m bits or, where they come in blocks of 512, as many as are nearest. */
export function bitCell(kind: BitKind, bitCount: number, probeCount: number, entryCount: number): RateCell {
  const geometry = { ...hashing, bitCount, probeCount }
  const size = { blockCount: Math.max(1, Math.round(bitCount / 512)), probeCount }
  const empty = {
    bloom: () => new BloomFilter(geometry),
    counting: () => new CountingBloomFilter(geometry),
    blocked: () => new BlockedBloomFilter(size, hashing),
  }[kind]
  return {
    name: `${kind}, m = ${bitCount}, k = ${probeCount}, ${entryCount} keys`,
    entryCount,
    expected: kind === 'blocked' ? blockedFalseHitRate(size, entryCount) : expectedFalseHitRate(geometry, entryCount),
    build: (source) => filled(empty(), source, entryCount),
  }
}

/** Sizes by load and number of probes: powers of two, and others, of which keys take about `entryCount`. */
export function bitCells(kind: BitKind, entryCount: number): RateCell[] {
  return LOADS.flatMap((load) => {
    const power = 2 ** Math.round(Math.log2(load * entryCount))
    return PROBE_COUNTS.flatMap((probeCount) => [
      bitCell(kind, power, probeCount, Math.floor(power / load)),
      bitCell(kind, load * entryCount + 1, probeCount, entryCount),
    ])
  })
}

/** Fingerprints of 4 to 12 bits. */
export function fingerprintCells(kind: FingerprintKind, entryCount: number): RateCell[] {
  return Array.from({ length: 9 }, (_, i) => {
    const bits = 4 + i
    const size = { bucketCount: cuckooSizeFor(entryCount, 0.9).bucketCount, fingerprintBits: bits }
    const build: RateCell['build'] = {
      cuckoo: (source: KeySource) => filled(new CuckooFilter(size, hashing), source, entryCount),
      xor: (source: KeySource) => XorFilter.build(listed(source, entryCount), 2 ** -bits, hashing),
      'binary-fuse': (source: KeySource) => BinaryFuseFilter.build(listed(source, entryCount), 2 ** -bits, hashing),
      ribbon: (source: KeySource) => RibbonFilter.build(listed(source, entryCount), 2 ** -bits, hashing),
    }[kind]
    const expected = kind === 'cuckoo' ? cuckooFalseHitRate(size, entryCount) : 2 ** -bits
    return { name: `${kind} of ${bits} bits, ${entryCount} keys`, entryCount, expected, build }
  })
}

/** Grown from a slice for 100 keys, and with all keys in the first. */
export function scalableCells(entryCount: number): RateCell[] {
  return [100, entryCount].flatMap((firstCapacity) =>
    [0.1, 0.03, 0.01, 0.003, 0.001].map((rate): RateCell => {
      const { expected, scatter } = scalableRate(firstCapacity, Math.fround(rate), entryCount)
      return {
        name: `scalable from ${firstCapacity} at ${rate}, ${entryCount} keys`,
        entryCount,
        expected,
        scatter,
        build: (source) => filled(new ScalableBloomFilter(firstCapacity, rate, hashing), source, entryCount),
      }
    }),
  )
}

/**
 * 1 - prod(1 - f_i) over slices for n0 2^i keys (Almeida et al.), of which the last may have fewer; and how far the first
 * ones, which are small, make one filter's rate differ from another's.
 */
function scalableRate(
  firstCapacity: number,
  falseHitRate: number,
  entryCount: number,
): { readonly expected: number; readonly scatter: number } {
  let unclaimed = 1
  let variance = 0
  let rest = entryCount
  for (let slice = 0; rest > 0; slice++) {
    const held = Math.min(rest, firstCapacity * 2 ** slice)
    const size = scalableSliceSize(firstCapacity, falseHitRate, slice)!
    const rate = expectedFalseHitRate(size, held)
    unclaimed *= 1 - rate
    variance += (rate * size.probeCount * fillScatter(size, held)) ** 2
    rest -= held
  }
  return { expected: 1 - unclaimed, scatter: Math.sqrt(variance) }
}

/** Standard deviation of the share of set bits, over its mean: of m bits after kn throws (Feller). */
function fillScatter({ bitCount, probeCount }: BloomSize, entryCount: number): number {
  const throws = probeCount * entryCount
  const unset = (1 - 1 / bitCount) ** throws
  const bothUnset = (1 - 2 / bitCount) ** throws
  const variance = unset / bitCount + (1 - 1 / bitCount) * bothUnset - unset ** 2
  return Math.sqrt(variance) / (1 - unset)
}

/** Every kind's cells at about so many keys. */
export function allCells(entryCount: number): RateCell[] {
  return [
    ...(['bloom', 'counting', 'blocked'] as const).flatMap((kind) => bitCells(kind, entryCount)),
    ...(['cuckoo', 'xor', 'binary-fuse', 'ribbon'] as const).flatMap((kind) => fingerprintCells(kind, entryCount)),
    ...scalableCells(entryCount),
  ]
}

// jvirkki/libbloom#2, FastFilter/fastfilter_cpp#32: rates that missed theory at some sizes only.
const FIELD_BIT_COUNTS = [65_536, 65_537, 1_048_576, 3_145_728, 3_063_102, 2_097_151, 2_097_152]

export function fieldCells(): RateCell[] {
  return FIELD_BIT_COUNTS.flatMap((bitCount) =>
    [8, 16].flatMap((load) =>
      (['bloom', 'counting', 'blocked'] as const).map((kind) =>
        bitCell(kind, bitCount, 4, Math.floor(bitCount / load)),
      ),
    ),
  )
}
