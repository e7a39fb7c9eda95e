import { mix32 } from './murmur3.ts'

// The 128 bits of a key mixed anew for each seed, so that another attempt to build a filter is another trial. With
//   s_i = fmix32(4 seed + i + 1)                                                                     i = 0 to 3
//   t   = h0 (s0 | 1) + h1 (s1 | 1) + h2 (s2 | 1) + h3 (s3 | 1)
//   w_i = fmix32((h_i + t) ^ s_i)
// modulo 2^32, h0 to h3 become w0 to w3: one to one, since 1 plus the sum of the four odd factors is odd, so that
// uniform words stay uniform; and each w_i depends on every h_i, so that keys that agree in three words still part.

/** s0 to s3. */
export function seedWords(seed: number): Int32Array {
  return Int32Array.from({ length: 4 }, (_, i) => mix32(4 * seed + i + 1))
}

/**
 * t, from which the caller makes the words: four results in memory, or a call for each, cost a lookup as much time
 * again. For the same reason the words of a key are best given signed.
 */
export function seedSum(h0: number, h1: number, h2: number, h3: number, seeds: Int32Array): number {
  return (
    (Math.imul(h0, seeds[0]! | 1) +
      Math.imul(h1, seeds[1]! | 1) +
      Math.imul(h2, seeds[2]! | 1) +
      Math.imul(h3, seeds[3]! | 1)) |
    0
  )
}
