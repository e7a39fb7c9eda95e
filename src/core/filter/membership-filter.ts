import type { KeyHash } from './key-hash.ts'

/** Reading is all that a peer's digest needs. False hits happen, false misses never. */
export interface MembershipFilter {
  mayContain(key: KeyHash): boolean
}
