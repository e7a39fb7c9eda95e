/**
 * The 128 bits that stand for a key in filters and in the directory: four 32-bit words, as signed or as unsigned numbers.
 * Signed ones stay integers wherever they go; larger ones are boxed when a call is not inlined.
 * Whoever finds an entry by them still compares the key itself before believing it.
 */
export interface KeyHash {
  readonly h0: number
  readonly h1: number
  readonly h2: number
  readonly h3: number
  /** The 128 bits that follow these, in the one scheme that has them: MD5, for more than four probes. */
  readonly next?: KeyHash | undefined
}

/** How bytes become a KeyHash. What was hashed in different ways has nothing to say to each other. */
export interface KeyHashing {
  /** 1, 2 or 3: see `HASH_SCHEMES`. */
  readonly hashScheme: number
  /** Names the secret of a keyed scheme, from 1 on; 0: not keyed. */
  readonly keyId: number
  /** What the bytes are. 0: whatever the user says; 1: `GET`, a space, and the URL in Squid's normal form. */
  readonly keyRules: number
}
