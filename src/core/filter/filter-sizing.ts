import { MAX_BIT_COUNT, MAX_PROBE_COUNT } from './filter-geometry.ts'

const NEGLIGIBLE = 1e-200

/** m and k of a Bloom filter. */
export interface BloomSize {
  readonly bitCount: number
  readonly probeCount: number
}

/**
 * (1 - (1 - 1/m)^kn)^k: how likely a key is to be claimed that is none of the n (Summary Cache; the proceedings
 * print the exponent of its approximation without the minus sign).
 */
export function expectedFalseHitRate(size: BloomSize, entryCount: number): number {
  const { bitCount, probeCount } = size
  // Of one bit the logarithm is -Infinity, and 0 times that no number; so below, where the bit is set.
  if (entryCount === 0) return 0
  // By log1p and expm1: the plain form loses up to nine digits where m is large and n small.
  return (-Math.expm1(probeCount * entryCount * Math.log1p(-1 / bitCount))) ** probeCount
}

/** The same for a filter as it is: all k probes must meet set bits. */
export function falseHitRateAtFill(size: BloomSize, setBitCount: number): number {
  return (setBitCount / size.bitCount) ** size.probeCount
}

/**
 * ln(1 - X/m) / (k ln(1 - 1/m)): the number of entries that would set so many bits. Infinity when all are set.
 * @see Broder, Mitzenmacher: Network Applications of Bloom Filters (2004), with ln(1 - 1/m) for its -1/m
 */
export function entriesFromFill(size: BloomSize, setBitCount: number): number {
  const { bitCount, probeCount } = size
  if (setBitCount === 0) return 0
  if (setBitCount === bitCount) return Infinity
  return Math.log1p(-setBitCount / bitCount) / (probeCount * Math.log1p(-1 / bitCount))
}

/** The number of probes, 1 to 16, that gives so many entries in m bits the lowest rate; the smallest of equals. */
export function bestProbeCount(bitCount: number, entryCount: number): number {
  let best = 1
  for (let probeCount = 2; probeCount <= MAX_PROBE_COUNT; probeCount++) {
    const isBetter =
      expectedFalseHitRate({ bitCount, probeCount }, entryCount) <
      expectedFalseHitRate({ bitCount, probeCount: best }, entryCount)
    if (isBetter) best = probeCount
  }
  return best
}

/**
 * The fewest bits, and their best number of probes, that keep the rate at or below `falseHitRate`.
 * @throws {RangeError} no filter does
 */
export function bloomSizeFor(entryCount: number, falseHitRate: number): BloomSize {
  checkDemand(entryCount, falseHitRate)
  const bitCount = leastFrom(
    1,
    MAX_BIT_COUNT,
    (m) => expectedFalseHitRate({ bitCount: m, probeCount: bestProbeCount(m, entryCount) }, entryCount) <= falseHitRate,
  )
  if (bitCount === undefined) throw new RangeError(`no filter of ${MAX_BIT_COUNT} bits or less does`)
  return { bitCount, probeCount: bestProbeCount(bitCount, entryCount) }
}

/**
 * The most entries that a filter takes at a rate of `falseHitRate` or less.
 * @throws {RangeError} a rate that is not above 0, or above 1 - 1e-9
 */
export function entriesAtFalseHitRate(size: BloomSize, falseHitRate: number): number {
  const { bitCount, probeCount } = size
  // Nearer to 1 the formula is flat for as many entries as doubles cannot tell apart.
  if (!(falseHitRate > 0 && falseHitRate <= 1 - 1e-9)) throw new RangeError(`a false hit rate of ${falseHitRate}`)
  // The formula solved for n, then corrected for rounding.
  const share = falseHitRate ** (1 / probeCount)
  let entries = Math.floor(Math.log1p(-share) / (probeCount * Math.log1p(-1 / bitCount)))
  while (entries > 0 && expectedFalseHitRate(size, entries) > falseHitRate) entries--
  while (expectedFalseHitRate(size, entries + 1) <= falseHitRate) entries++
  return entries
}

/**
 * The chance that k independent probes all meet set bits where `throws` probes set bits among `bitCount`: the mean
 * of (X/m)^k over the number X of bits set, exact, where `expectedFalseHitRate` takes the power of the mean. It
 * matters in small arrays; a step for each bit and throw.
 *
 * @returns the chance after 0, k, 2k, ... `throws` probes
 * @see Bose et al.: On the false-positive rate of Bloom filters (2008)
 */
export function exactFalseHitRates(bitCount: number, probeCount: number, entryCount: number): Float64Array {
  // shares[x]: how likely exactly x bits are set.
  const shares = new Float64Array(bitCount + 1)
  shares[0] = 1
  const claimed = Float64Array.from(shares, (_, x) => (x / bitCount) ** probeCount)
  const rates = new Float64Array(entryCount + 1)
  // So few bits are still set by chance. Below, shares would fade through denormal numbers, slow ones.
  let least = 0
  for (let entries = 1; entries <= entryCount; entries++) {
    for (let i = 0; i < probeCount; i++) {
      // No more bits are set than probes were made.
      for (let x = Math.min(bitCount, (entries - 1) * probeCount + i + 1); x > least; x--) {
        shares[x] = (shares[x]! * x + shares[x - 1]! * (bitCount - x + 1)) / bitCount
      }
      shares[least]! *= least / bitCount
      while (shares[least]! < NEGLIGIBLE) shares[least++] = 0
    }
    let rate = 0
    for (let x = least; x <= bitCount; x++) rate += shares[x]! * claimed[x]!
    rates[entries] = rate
  }
  return rates
}

/** @throws {RangeError} */
export function checkDemand(entryCount: number, falseHitRate: number): void {
  if (!(Number.isSafeInteger(entryCount) && entryCount >= 0)) throw new RangeError(`a filter for ${entryCount} entries`)
  if (!(falseHitRate > 0 && falseHitRate < 1)) throw new RangeError(`a false hit rate of ${falseHitRate}`)
}

/** The least from `least` to `most` for which `isEnough` holds, which then must hold for all that are more. */
export function leastFrom(least: number, most: number, isEnough: (count: number) => boolean): number | undefined {
  if (most < least) return undefined
  let tooFew = least - 1
  let enough = least
  while (!isEnough(enough)) {
    if (enough === most) return undefined
    tooFew = enough
    enough = Math.min(most, enough * 2)
  }
  while (enough - tooFew > 1) {
    const middle = Math.floor((tooFew + enough) / 2)
    if (isEnough(middle)) enough = middle
    else tooFew = middle
  }
  return enough
}
