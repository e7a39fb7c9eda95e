/**
 * All that two filters must share before their bits mean the same thing (PROTOCOL: geometry).
 * Digests are merged and compared only when every field is equal.
 */
export interface FilterGeometry {
  /** 1: MurmurHash3 x86_128 of the key's bytes, probes by enhanced double hashing with an odd step. */
  readonly hashScheme: number
  /** 0: not keyed. */
  readonly keyId: number
  /** 1: `GET`, a space, and the URL in Squid's normal form. */
  readonly keyRules: number
  /** m; a power of two from 2^6 to 2^31. */
  readonly bitCount: number
  /** k; 1 to 16. */
  readonly probeCount: number
}

const MIN_BIT_COUNT = 2 ** 6
const MAX_BIT_COUNT = 2 ** 31
export const MAX_PROBE_COUNT = 16

/**
 * The geometry for a directory of about `expectedEntries` keys; m is the power of two at or above
 * `bitsPerEntry` for each of them, within the bounds of a geometry.
 *
 * @param bitsPerEntry 16 by default: with 4 probes one false hit in 418 lookups at most, where 8 gives one in 42
 *   (Summary Cache, "Bloom filters")
 * @param probeCount 4 by default: more would lower the rate and raise the bits that change at each admit
 */
export function geometryFor(expectedEntries: number, bitsPerEntry = 16, probeCount = 4): FilterGeometry {
  const leastBits = Math.max(MIN_BIT_COUNT, bitsPerEntry * expectedEntries)
  let bitCount = MIN_BIT_COUNT
  while (bitCount < leastBits && bitCount < MAX_BIT_COUNT) bitCount *= 2
  return { hashScheme: 1, keyId: 0, keyRules: 1, bitCount, probeCount }
}

/** May digests of both be merged? */
export function sameGeometry(a: FilterGeometry, b: FilterGeometry): boolean {
  return (
    a.hashScheme === b.hashScheme &&
    a.keyId === b.keyId &&
    a.keyRules === b.keyRules &&
    a.bitCount === b.bitCount &&
    a.probeCount === b.probeCount
  )
}

/** What is wrong with a geometry that came from outside; undefined when nothing is. */
export function geometryProblem(geometry: FilterGeometry): string | undefined {
  const { hashScheme, keyId, keyRules, bitCount, probeCount } = geometry
  if (hashScheme !== 1) return `unknown hash scheme ${hashScheme}`
  if (keyRules !== 1) return `unknown cache-key rules ${keyRules}`
  // A keyed digest's positions say nothing to whoever hashes without its key.
  if (keyId !== 0) return `unknown key ${keyId}`
  if (!(bitCount >= MIN_BIT_COUNT && bitCount <= MAX_BIT_COUNT)) return `bit count ${bitCount} out of range`
  if (!Number.isInteger(Math.log2(bitCount))) return `bit count ${bitCount} is no power of two`
  if (!Number.isInteger(probeCount) || probeCount < 1 || probeCount > MAX_PROBE_COUNT) {
    return `probe count ${probeCount} out of range`
  }
  return undefined
}

/**
 * (1 - (1 - 1/m)^kn)^k: how likely a key is to be claimed that is none of the n (Summary Cache; the proceedings
 * print the exponent of its approximation without the minus sign).
 */
export function expectedFalseHitRate(geometry: FilterGeometry, entryCount: number): number {
  const { bitCount, probeCount } = geometry
  // By log1p and expm1: the plain form loses up to nine digits where m is large and n small.
  return (-Math.expm1(probeCount * entryCount * Math.log1p(-1 / bitCount))) ** probeCount
}

/** The same for a filter as it is: all k probes must meet set bits. */
export function falseHitRateAtFill(geometry: FilterGeometry, setBitCount: number): number {
  return (setBitCount / geometry.bitCount) ** geometry.probeCount
}

/**
 * -(m/k) ln(1 - X/m): the number of entries that would set so many bits. Infinity when all are set.
 * @see Broder, Mitzenmacher: Network Applications of Bloom Filters (2004)
 */
export function entriesFromFill(geometry: FilterGeometry, setBitCount: number): number {
  const { bitCount, probeCount } = geometry
  return -(bitCount / probeCount) * Math.log1p(-setBitCount / bitCount)
}
