import type { BitArray } from './bit-array.ts'
import type { FilterGeometry } from './filter-geometry.ts'
import type { KeyHash } from './key-hash.ts'

/** Does the digest claim the key? The probes of `probeSequence`, up to the first that meets a 0. */
export function bitsClaim(bits: BitArray, geometry: FilterGeometry, key: KeyHash): boolean {
  const mask = geometry.bitCount - 1
  let probe = key.h0
  let step = key.h1 | 1
  for (let i = 0; i < geometry.probeCount; i++) {
    if (!bits.get(probe & mask)) return false
    probe = (probe + step) | 0
    step = (step + i + 1) | 0
  }
  return true
}

/** The same with the key's probes at hand, `geometry.probeCount` of them at least. */
export function bitsClaimProbes(bits: BitArray, geometry: FilterGeometry, probes: Uint32Array): boolean {
  const mask = geometry.bitCount - 1
  for (let i = 0; i < geometry.probeCount; i++) if (!bits.get(probes[i]! & mask)) return false
  return true
}
