import { KeyHashList } from '../../../src/core/filter/key-hash-list.ts'
import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { seededRandom } from './test-keys.ts'

/** w0 to w3 of a key that has the slots of the key of these, and by all likelihood another fingerprint. */
export type Twin = (words: readonly bigint[]) => readonly bigint[]

/** Distinct keys without end, the same for the same seed. */
export function keyStream(seed: number): () => KeyHash {
  const random = seededRandom(seed)
  const word = (): number => Math.floor(random() * 2 ** 32)
  return () => ({ h0: word(), h1: word(), h2: word(), h3: word() })
}

export function listOf(keys: Iterable<KeyHash>): KeyHashList {
  const list = new KeyHashList()
  for (const key of keys) list.push(key)
  return list
}

export function take(stream: () => KeyHash, count: number): KeyHash[] {
  return Array.from({ length: count }, stream)
}

/** w0 to w3 as seeded-words.ts has them. */
export function seededWordsModel(key: KeyHash, seed: number): bigint[] {
  const u32 = (n: bigint): bigint => BigInt.asUintN(32, n)
  const s = [0n, 1n, 2n, 3n].map((i) => fmix32(4n * BigInt(seed) + i + 1n))
  const h = [key.h0, key.h1, key.h2, key.h3].map(BigInt)
  const t = h.reduce((sum, word, i) => sum + word * (s[i]! | 1n), 0n)
  return h.map((word, i) => fmix32(u32(word + t) ^ s[i]!))
}

/** Keys that no filter with one of the first so many seeds can hold: two for each seed, which need the same slots. */
export function keysDefeating(seedCount: number, twin: Twin): KeyHash[] {
  const stream = keyStream(16)
  return Array.from({ length: seedCount }, (_, seed) => {
    const { h0, h1, h2, h3 } = stream()
    const words = [h0, h1, h2, h3].map(BigInt)
    return [keyOfWords(words, seed), keyOfWords(twin(words), seed)]
  }).flat()
}

/** The key that has these words with that seed. */
function keyOfWords(words: readonly bigint[], seed: number): KeyHash {
  const u32 = (n: bigint): bigint => BigInt.asUintN(32, n)
  const s = [0n, 1n, 2n, 3n].map((i) => fmix32(4n * BigInt(seed) + i + 1n))
  // x_i = h_i + t, and t is the sum of the h_i (s_i | 1), so that t (1 + sum of the s_i | 1) is that of the x_i (s_i | 1).
  const x = words.map((word, i) => unfmix32(word) ^ s[i]!)
  const factors = s.map((word) => word | 1n)
  const weighted = x.reduce((sum, word, i) => sum + word * factors[i]!, 0n)
  const t = weighted * inverse(factors.reduce((sum, factor) => sum + factor, 1n))
  const [h0, h1, h2, h3] = x.map((word) => Number(u32(word - t))) as [number, number, number, number]
  return { h0, h1, h2, h3 }
}

/** Of an odd number modulo 2^32. */
function inverse(odd: bigint): bigint {
  let guess = odd
  // Each step doubles the number of bits that are right, from 3.
  for (let i = 0; i < 4; i++) guess = BigInt.asUintN(32, guess * (2n - odd * guess))
  return guess
}

function unfmix32(n: bigint): bigint {
  let h = n ^ (n >> 16n)
  h = BigInt.asUintN(32, h * inverse(0xc2b2ae35n))
  h ^= (h >> 13n) ^ (h >> 26n)
  h = BigInt.asUintN(32, h * inverse(0x85ebca6bn))
  return h ^ (h >> 16n)
}

export function fmix32(n: bigint): bigint {
  const u32 = (value: bigint): bigint => BigInt.asUintN(32, value)
  let h = u32(n)
  h = u32((h ^ (h >> 16n)) * 0x85ebca6bn)
  h = u32((h ^ (h >> 13n)) * 0xc2b2ae35n)
  return h ^ (h >> 16n)
}
