import type { BitArray } from './bit-array.ts'
import type { FilterGeometry } from './filter-geometry.ts'
import { MD5 } from './hash-schemes.ts'
import type { KeyHash } from './key-hash.ts'
import { mix32 } from './murmur3.ts'

/**
 * The first `probeCount` probes of a key before they are cut to a filter's size: `& (bitCount - 1)` gives the
 * position where that is a power of two, so that one run serves filters of every such size. Not for MD5.
 *
 * Enhanced double hashing (Dillinger, Manolios 2004): h0 + i s + (i^3 - i)/6 modulo 2^32, with s = h1 made odd. Faults
 * of simpler ways that it leaves out: a step of 0, which probes one bit k times; a step that shares a factor with m,
 * which visits few positions; and the arithmetic progressions of plain double hashing, where two keys that meet in
 * two probes, or run through the same ones backwards, meet in nearly all. Two probes of one key still coincide now
 * and then.
 */
export function probeSequence(key: KeyHash, probeCount: number, out: Uint32Array): void {
  let probe = key.h0
  let step = key.h1 | 1
  for (let i = 0; i < probeCount; i++) {
    out[i] = probe
    probe = (probe + step) | 0
    step = (step + i + 1) | 0
  }
}

/** The bit positions of a key in a filter, in probe order, repeats kept: the first `probeCount` words of `out`. */
export function probePositions(key: KeyHash, geometry: FilterGeometry, out: Uint32Array): void {
  const { bitCount, probeCount } = geometry
  if (geometry.hashScheme === MD5) {
    md5Positions(key, bitCount, probeCount, out)
    return
  }
  probeSequence(key, probeCount, out)
  if (isPowerOfTwo(bitCount)) for (let i = 0; i < probeCount; i++) out[i]! &= bitCount - 1
  else for (let i = 0; i < probeCount; i++) out[i] = scaled(out[i]!, bitCount)
}

/**
 * Does the filter claim the key?
 *
 * Every probe is made, whatever the first ones met: the loads overlap, and a branch that half of all lookups take is
 * dearer than they are.
 */
export function bitsClaim(bits: BitArray, geometry: FilterGeometry, key: KeyHash): boolean {
  const { bitCount, probeCount } = geometry
  if (geometry.hashScheme === MD5) return md5BitsClaim(bits, bitCount, probeCount, key)
  const { words } = bits
  let probe = key.h0
  let step = key.h1 | 1
  let all = 1
  if (isPowerOfTwo(bitCount)) {
    const mask = bitCount - 1
    for (let i = 0; i < probeCount; i++) {
      const position = probe & mask
      all &= words[position >>> 5]! >>> (position & 31)
      probe = (probe + step) | 0
      step = (step + i + 1) | 0
    }
  } else {
    for (let i = 0; i < probeCount; i++) {
      const position = scaled(probe, bitCount)
      all &= words[position >>> 5]! >>> (position & 31)
      probe = (probe + step) | 0
      step = (step + i + 1) | 0
    }
  }
  return all === 1
}

/** Sets the key's bits, and returns how many of them were 0. */
export function setBitsOf(bits: BitArray, geometry: FilterGeometry, key: KeyHash, scratch: Uint32Array): number {
  const { words } = bits
  probePositions(key, geometry, scratch)
  let risen = 0
  for (let i = 0; i < geometry.probeCount; i++) {
    const position = scratch[i]!
    const word = words[position >>> 5]!
    risen += 1 - ((word >>> (position & 31)) & 1)
    words[position >>> 5] = word | (1 << (position & 31))
  }
  return risen
}

/** The same with the key's probes at hand, `geometry.probeCount` of them at least; m must be a power of two. */
export function bitsClaimProbes(bits: BitArray, geometry: FilterGeometry, probes: Uint32Array): boolean {
  const mask = geometry.bitCount - 1
  for (let i = 0; i < geometry.probeCount; i++) if (!bits.get(probes[i]! & mask)) return false
  return true
}

export function isPowerOfTwo(count: number): boolean {
  return (count & (count - 1)) === 0
}

/**
 * A probe cut to a size that is no power of two: floor(mix(probe) m / 2^32), since a remainder would favour the low
 * positions. Mixed first, since the high bits alone of double hashing would be an arithmetic progression again.
 */
function scaled(probe: number, bitCount: number): number {
  return scaleTo(mix32(probe), bitCount)
}

/**
 * floor(word count / 2^32): a position below `count` from 32 uniform bits, exact for counts below 2^32. In halves, since
 * the product does not fit a double.
 */
export function scaleTo(word: number, count: number): number {
  const wordHigh = word >>> 16
  const wordLow = word & 0xffff
  const countHigh = count >>> 16
  const countLow = count & 0xffff
  const cross1 = Math.imul(wordHigh, countLow)
  const cross2 = Math.imul(wordLow, countHigh)
  const low = Math.imul(wordLow, countLow) >>> 16
  const carry = (low + (cross1 & 0xffff) + (cross2 & 0xffff)) >>> 16
  return (Math.imul(wordHigh, countHigh) + (cross1 >>> 16) + (cross2 >>> 16) + carry) >>> 0
}

/**
 * Summary Cache: "calculate the MD5 signature of the URL, divide the 128 bits into four 32-bit words, and take the modulus
 * of each 32-bit word by the table size"; with more probes, of the URL concatenated with itself, and so on.
 */
function md5Positions(key: KeyHash, bitCount: number, probeCount: number, out: Uint32Array): void {
  let words: KeyHash | undefined = key
  for (let i = 0; i < probeCount; i++) {
    if (i !== 0 && (i & 3) === 0) words = words.next
    if (words === undefined) throw new RangeError(`${probeCount} probes of an MD5 hashed for ${i}`)
    out[i] = (wordOf(words, i & 3) >>> 0) % bitCount
  }
}

function md5BitsClaim(bits: BitArray, bitCount: number, probeCount: number, key: KeyHash): boolean {
  let words: KeyHash | undefined = key
  for (let i = 0; i < probeCount; i++) {
    if (i !== 0 && (i & 3) === 0) words = words.next
    if (words === undefined) throw new RangeError(`${probeCount} probes of an MD5 hashed for ${i}`)
    if (!bits.get((wordOf(words, i & 3) >>> 0) % bitCount)) return false
  }
  return true
}

function wordOf(key: KeyHash, index: number): number {
  return index === 0 ? key.h0 : index === 1 ? key.h1 : index === 2 ? key.h2 : key.h3
}
