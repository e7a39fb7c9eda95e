import type { EvictionPolicy } from './eviction-policy.ts'
import { Lru } from './lru.ts'
import { Sieve } from './sieve.ts'

/** Every eviction policy by its name in the configuration and the API. Each call makes an empty one. */
export const evictionKinds = {
  sieve: () => new Sieve(),
  lru: () => new Lru(),
} as const satisfies Readonly<Record<string, () => EvictionPolicy>>

export type EvictionKind = keyof typeof evictionKinds

// One-hit wonders are most of a proxy's objects. SIEVE lets them go after one pass of the hand, where LRU carries
// each through its whole list, and a hit costs one byte written.
export const DEFAULT_EVICTION_KIND: EvictionKind = 'sieve'
