import type { FilterGeometry } from '../filter/filter-geometry.ts'
import type { DigestName } from './digest-name.ts'

/** What every message says of the state it leads to or proves: all of a published state but its bits. */
export interface StateHead {
  readonly name: DigestName
  readonly geometry: FilterGeometry
  readonly setBitCount: number
  readonly entryCount: number
  /** Age of the oldest change in it that had not been published before, at sending. */
  readonly oldestChangeAgeMs: number
  /** `BitChecksum` of the bits, which are proved by it. */
  readonly checksumHi: number
  readonly checksumLo: number
}

/** Do both stand for the same bits, as far as counts and checksum can tell? Names are not compared. */
export function sameProof(a: StateHead, b: StateHead): boolean {
  return a.setBitCount === b.setBitCount && a.checksumHi === b.checksumHi && a.checksumLo === b.checksumLo
}
