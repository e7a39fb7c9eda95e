import type { FilterGeometry } from './filter-geometry.ts'
import type { KeyHash } from './key-hash.ts'

// Hash scheme 1: MurmurHash3 x86_128 (Appleby, public domain), seed 0. Math.imul over the bytes where they lie costs
// half of what a call into WebAssembly with a copy does, and an eighth of MD5.

const C1 = 0x239b961b
const C2 = 0xab0e9789
const C3 = 0x38b34ae5
const C4 = 0xa1e38b93

/**
 * The 128 bits that stand for a key in filters and in the directory. Allocates nothing.
 *
 * @param bytes the key is the first `length` of them, and bytes it is: text encodings must not enter
 * @param out four words: h0 to h3 of a KeyHash
 */
export function hashKey(bytes: Uint8Array, length: number, out: Uint32Array): void {
  let h1 = 0
  let h2 = 0
  let h3 = 0
  let h4 = 0
  const bodyEnd = length - (length % 16)
  for (let i = 0; i < bodyEnd; i += 16) {
    h1 ^= Math.imul(rotate(Math.imul(word(bytes, i), C1), 15), C2)
    h1 = (Math.imul(rotate(h1, 19) + h2, 5) + 0x561ccd1b) | 0
    h2 ^= Math.imul(rotate(Math.imul(word(bytes, i + 4), C2), 16), C3)
    h2 = (Math.imul(rotate(h2, 17) + h3, 5) + 0x0bcaa747) | 0
    h3 ^= Math.imul(rotate(Math.imul(word(bytes, i + 8), C3), 17), C4)
    h3 = (Math.imul(rotate(h3, 15) + h4, 5) + 0x96cd1c35) | 0
    h4 ^= Math.imul(rotate(Math.imul(word(bytes, i + 12), C4), 18), C1)
    h4 = (Math.imul(rotate(h4, 13) + h1, 5) + 0x32ac3b17) | 0
  }

  // A word without bytes is 0 and mixes to 0, so the tail needs no cases.
  h1 ^= Math.imul(rotate(Math.imul(lastWord(bytes, bodyEnd, length), C1), 15), C2)
  h2 ^= Math.imul(rotate(Math.imul(lastWord(bytes, bodyEnd + 4, length), C2), 16), C3)
  h3 ^= Math.imul(rotate(Math.imul(lastWord(bytes, bodyEnd + 8, length), C3), 17), C4)
  h4 ^= Math.imul(rotate(Math.imul(lastWord(bytes, bodyEnd + 12, length), C4), 18), C1)

  h1 ^= length
  h2 ^= length
  h3 ^= length
  h4 ^= length
  h1 = (h1 + h2 + h3 + h4) | 0
  h2 = (h2 + h1) | 0
  h3 = (h3 + h1) | 0
  h4 = (h4 + h1) | 0
  h1 = mix(h1)
  h2 = mix(h2)
  h3 = mix(h3)
  h4 = mix(h4)
  h1 = (h1 + h2 + h3 + h4) | 0
  out[0] = h1
  out[1] = h2 + h1
  out[2] = h3 + h1
  out[3] = h4 + h1
}

/**
 * The first `probeCount` probes of a key before they are cut to a filter's size: `& (bitCount - 1)` gives the
 * position, so that one run serves filters of every size.
 *
 * Enhanced double hashing (Dillinger, Manolios 2004): h0 + i s + (i^3 - i)/6 modulo m, with s = h1 made odd and m a
 * power of two. Faults of simpler ways that it leaves out: a step of 0, which probes one bit k times; a step that
 * shares a factor with m, which visits few positions; and the arithmetic progressions of plain double hashing, where
 * two keys that meet in two probes, or run through the same ones backwards, meet in nearly all. No remainder by
 * an m that is not a power of two, hence no favoured positions. Two probes of one key still coincide now and then.
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
  const mask = geometry.bitCount - 1
  probeSequence(key, geometry.probeCount, out)
  for (let i = 0; i < geometry.probeCount; i++) out[i]! &= mask
}

function word(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
}

function lastWord(bytes: Uint8Array, from: number, end: number): number {
  let value = 0
  for (let i = Math.min(from + 4, end) - 1; i >= from; i--) value = (value << 8) | bytes[i]!
  return value
}

function rotate(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by))
}

function mix(value: number): number {
  let h = value
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
