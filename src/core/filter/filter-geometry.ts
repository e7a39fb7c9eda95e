import { hashingProblem, MURMUR3, SIPHASH } from './hash-schemes.ts'
import type { KeyHashing } from './key-hash.ts'

/**
 * All that two Bloom filters must share before their bits mean the same thing (PROTOCOL: geometry).
 * They are merged and compared only when every field is equal.
 */
export interface FilterGeometry extends KeyHashing {
  /** m; 1 to 2^31. Digests take powers of two from 2^6. */
  readonly bitCount: number
  /** k; 1 to 16. */
  readonly probeCount: number
}

/** How digests hash that are not keyed: anyone can test a URL against one, and find URLs that collide. */
export const UNKEYED: KeyHashing = { hashScheme: MURMUR3, keyId: 0, keyRules: 1 }

const MIN_DIGEST_BIT_COUNT = 2 ** 6
export const MAX_BIT_COUNT = 2 ** 31
export const MAX_PROBE_COUNT = 16

/**
 * The geometry of a digest for a directory of about `expectedEntries` keys; m is the power of two at or above
 * `bitsPerEntry` for each of them, within the bounds of a digest.
 *
 * @param bitsPerEntry 16 by default: with 4 probes one false hit in 418 lookups at most, where 8 gives one in 42
 *   (Summary Cache, "Bloom filters")
 * @param probeCount 4 by default: more would lower the rate and raise the bits that change at each admit
 */
export function geometryFor(expectedEntries: number, bitsPerEntry = 16, probeCount = 4): FilterGeometry {
  const leastBits = Math.max(MIN_DIGEST_BIT_COUNT, bitsPerEntry * expectedEntries)
  let bitCount = MIN_DIGEST_BIT_COUNT
  while (bitCount < leastBits && bitCount < MAX_BIT_COUNT) bitCount *= 2
  return { ...UNKEYED, bitCount, probeCount }
}

/** May filters of both be merged? */
export function sameGeometry(a: FilterGeometry, b: FilterGeometry): boolean {
  return sameHashing(a, b) && a.bitCount === b.bitCount && a.probeCount === b.probeCount
}

/** Does a hash made for one mean the same to the other? */
export function sameHashing(a: KeyHashing, b: KeyHashing): boolean {
  return a.hashScheme === b.hashScheme && a.keyId === b.keyId && a.keyRules === b.keyRules
}

/** What is wrong with a geometry that came from outside; undefined when nothing is. */
export function geometryProblem(geometry: FilterGeometry): string | undefined {
  const { bitCount, probeCount } = geometry
  const problem = hashingProblem(geometry)
  if (problem !== undefined) return problem
  if (!Number.isInteger(bitCount) || bitCount < 1 || bitCount > MAX_BIT_COUNT)
    return `bit count ${bitCount} out of range`
  if (!Number.isInteger(probeCount) || probeCount < 1 || probeCount > MAX_PROBE_COUNT) {
    return `probe count ${probeCount} out of range`
  }
  return undefined
}

/**
 * The same for a digest of our protocol: its positions say nothing to whoever hashes otherwise.
 * @param hashing ours
 */
export function digestGeometryProblem(geometry: FilterGeometry, hashing: KeyHashing): string | undefined {
  const { hashScheme, keyId, keyRules, bitCount } = geometry
  if (hashScheme !== MURMUR3 && hashScheme !== SIPHASH) return `unknown hash scheme ${hashScheme}`
  if (keyRules !== hashing.keyRules) return `unknown cache-key rules ${keyRules}`
  if (keyId !== hashing.keyId || hashScheme !== hashing.hashScheme) {
    return `${keyName(geometry)}, where ours is ${keyName(hashing)}: set the same cluster.key on all`
  }
  if (!(bitCount >= MIN_DIGEST_BIT_COUNT && bitCount <= MAX_BIT_COUNT)) return `bit count ${bitCount} out of range`
  if (!Number.isInteger(Math.log2(bitCount))) return `bit count ${bitCount} is no power of two`
  return geometryProblem(geometry)
}

function keyName({ hashScheme, keyId }: KeyHashing): string {
  return hashScheme === SIPHASH ? `keyed with key ${keyId}` : keyId === 0 ? 'not keyed' : `unknown key ${keyId}`
}
