import { checkDemand } from './filter-sizing.ts'
import { FilterBuildError } from './membership-filter.ts'
import { mix32 } from './murmur3.ts'

/** The kinds fail in one attempt of six at worst, mostly far less: so many in a row are no accident. */
export const MAX_ATTEMPTS = 100
export const MAX_FINGERPRINT_BITS = 32
/** Their numbers fit signed words, in which they are computed. */
export const MAX_SLOT_COUNT = 2 ** 31
/** Of a key in a `KeyHashList`. */
export const HASH_WORDS = 4

/**
 * ceil(log2(1 / f)): with so many bits, 1 to 32, a stranger's fingerprint agrees by chance with a rate of f or less.
 * @throws {RangeError} no fingerprint does
 */
export function fingerprintBitsFor(falseHitRate: number): number {
  checkDemand(0, falseHitRate)
  let bits = 1
  while (2 ** -bits > falseHitRate) bits++
  if (bits > MAX_FINGERPRINT_BITS) throw new RangeError(`no fingerprint for a false hit rate of ${falseHitRate}`)
  return bits
}

/**
 * What comes of the first attempt that succeeds, with the numbers 0, 1, 2, ... for seeds. Keys are taken once: only
 * after the first failure is it looked whether some are repeated, and if so, it begins anew without them.
 *
 * @param words of the hashes, h0 to h3
 * @param attempt returns undefined when it fails, as it must at its first call (`mayRepeat`) when keys repeat
 * @throws {FilterBuildError} after `MAX_ATTEMPTS` failures
 */
export function firstSuccess<T>(
  kind: string,
  words: Uint32Array,
  attempt: (words: Uint32Array, seed: number, mayRepeat: boolean) => T | undefined,
): T {
  const first = attempt(words, 0, true)
  if (first !== undefined) return first
  const distinct = distinctHashes(words)
  for (let seed = distinct === words ? 1 : 0; seed < MAX_ATTEMPTS; seed++) {
    const result = attempt(distinct, seed, false)
    if (result !== undefined) return result
  }
  throw new FilterBuildError(kind, distinct.length / HASH_WORDS, MAX_ATTEMPTS)
}

/** Each hash once, in order of first appearance; `words` itself when none repeats. */
export function distinctHashes(words: Uint32Array): Uint32Array {
  const count = words.length / HASH_WORDS
  // Numbers of hashes, from 1; open addressing, half full at most.
  const table = new Uint32Array(2 ** Math.ceil(Math.log2(2 * count + 1)))
  const mask = table.length - 1
  const repeats = new Uint8Array(count)
  let distinctCount = 0
  for (let i = 0; i < count; i++) {
    const at = HASH_WORDS * i
    const [h0, h1, h2, h3] = [words[at]!, words[at + 1]!, words[at + 2]!, words[at + 3]!]
    let place = mix32(mix32(mix32(mix32(h0) ^ h1) ^ h2) ^ h3) & mask
    for (; table[place] !== 0; place = (place + 1) & mask) {
      const other = HASH_WORDS * (table[place]! - 1)
      const isSame =
        words[other] === h0 && words[other + 1] === h1 && words[other + 2] === h2 && words[other + 3] === h3
      if (!isSame) continue
      repeats[i] = 1
      break
    }
    if (repeats[i] === 1) continue
    table[place] = i + 1
    distinctCount++
  }
  if (distinctCount === count) return words
  const distinct = new Uint32Array(HASH_WORDS * distinctCount)
  let kept = 0
  for (let i = 0; i < count; i++) {
    if (repeats[i] === 1) continue
    const at = HASH_WORDS * i
    for (let k = 0; k < HASH_WORDS; k++) distinct[kept++] = words[at + k]!
  }
  return distinct
}
