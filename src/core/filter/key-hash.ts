/**
 * The 128 bits that stand for a key in filters and in the directory: four unsigned 32-bit words.
 * Whoever finds an entry by them still compares the key itself before believing it.
 */
export interface KeyHash {
  readonly h0: number
  readonly h1: number
  readonly h2: number
  readonly h3: number
}
