import { encodeDelta, encodeHeartbeat } from '../core/digest/digest-codec.ts'
import { MAX_BIT_COUNT } from '../core/filter/filter-geometry.ts'
import type { DigestPublisher } from '../core/protocol/digest-publisher.ts'
import type { StateHead } from '../core/digest/state-head.ts'
import type { Lie } from './faults.ts'

/** More than may wait at a follower. */
const FLOOD_FRAMES = 80

/** What a proxy sends in the place of what it should say of its digest. */
export function liedFrames(lie: Lie, publisher: DigestPublisher): Uint8Array[] {
  const { name, summary } = publisher
  const { geometry, setBitCount, checksum } = summary
  const state: StateHead = {
    name,
    geometry,
    setBitCount,
    entryCount: summary.entryCount,
    oldestChangeAgeMs: 0,
    checksumHi: checksum.hi,
    checksumLo: checksum.lo,
  }
  switch (lie) {
    case 'checksum':
      return [encodeHeartbeat({ ...state, checksumLo: (checksum.lo ^ 1) >>> 0 })]
    case 'full':
      return [encodeHeartbeat({ ...state, setBitCount: geometry.bitCount })]
    case 'huge':
      return [encodeHeartbeat({ ...state, geometry: { ...geometry, bitCount: MAX_BIT_COUNT } })]
    case 'garbage':
      return [Uint8Array.of(0x53, 0x43, 0x44, 0x7f, 0, 0)]
    case 'ahead':
      return Array.from({ length: FLOOD_FRAMES }, (_, i) => {
        const sequence = name.sequence + 10 + 2 * i
        return encodeDelta(sequence - 1, { ...state, name: { ...name, sequence } }, new Uint32Array(0))
      })
  }
}
