// What others may import as 'summary-cache/filters': it needs nothing but the language, in Node as in a browser.
// The one file that only names others: a package's door has to.
export type { KeyHash, KeyHashing } from './core/filter/key-hash.ts'
export { HASH_SCHEMES, MD5, MURMUR3, SIPHASH } from './core/filter/hash-schemes.ts'
export { KeyHasher } from './core/filter/key-hasher.ts'
export { KeyHashList } from './core/filter/key-hash-list.ts'
export {
  MAX_BIT_COUNT,
  MAX_PROBE_COUNT,
  geometryFor,
  geometryProblem,
  sameGeometry,
  type FilterGeometry,
} from './core/filter/filter-geometry.ts'
export { probePositions } from './core/filter/probing.ts'
export {
  bestProbeCount,
  bloomSizeFor,
  entriesAtFalseHitRate,
  entriesFromFill,
  exactFalseHitRates,
  expectedFalseHitRate,
  falseHitRateAtFill,
  type BloomSize,
} from './core/filter/filter-sizing.ts'
export {
  FilterBuildError,
  FilterFullError,
  KeyNotHeldError,
  type Filter,
  type FoldingFilter,
  type ForgettingFilter,
  type GrowingFilter,
  type IntersectingFilter,
  type MembershipFilter,
  type UnitingFilter,
} from './core/filter/membership-filter.ts'
export { MalformedFilterError } from './core/filter/filter-format.ts'
export { FilterMemory } from './core/filter/wasm/filter-memory.ts'
export { BitArray } from './core/filter/bit-array.ts'
export { BloomFilter } from './core/filter/bloom-filter.ts'
export { CountingBloomFilter } from './core/filter/counting-bloom-filter.ts'
export {
  BlockedBloomFilter,
  blockedBloomSizeFor,
  blockedFalseHitRate,
  type BlockedBloomSize,
} from './core/filter/blocked-bloom-filter.ts'
export { ScalableBloomFilter } from './core/filter/scalable-bloom-filter.ts'
export { CuckooFilter, cuckooFalseHitRate, cuckooSizeFor, type CuckooSize } from './core/filter/cuckoo-filter.ts'
export { XorFilter, xorSizeFor, type XorSize } from './core/filter/xor-filter.ts'
export { BinaryFuseFilter, binaryFuseSizeFor, type BinaryFuseSize } from './core/filter/binary-fuse-filter.ts'
export { RibbonFilter, ribbonSizeFor, type RibbonSize } from './core/filter/ribbon-filter.ts'
export { FILTER_KINDS, loadFilter, type FilterKind, type FilterPlan } from './core/filter/filter-kinds.ts'
