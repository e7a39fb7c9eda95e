/** Work over whole arrays of words by something faster than a loop, for words in its own memory. */
export interface BulkBits {
  /** Can it work on these? */
  holds(words: Uint32Array): boolean
  /** target |= source, of equal length. */
  or(target: Uint32Array, source: Uint32Array): void
  /** target &= source, of equal length. */
  and(target: Uint32Array, source: Uint32Array): void
  countSet(words: Uint32Array): number
}
