import type { BitArray } from '../../../src/core/filter/bit-array.ts'
import { checksumOf } from '../../../src/core/filter/bit-checksum.ts'
import type { Summary } from '../../../src/core/filter/summary.ts'

/** Publishes the summary's next generation at once, and returns what it changes, ascending: found the dull way. */
export function turnOver(summary: Summary): { readonly set: Uint32Array; readonly clear: Uint32Array } {
  const before = positionsOf(summary.published)
  summary.beginGeneration()
  while (summary.buildGeneration(1)) continue
  const bits = summary.fixGeneration()
  const { hi, lo } = checksumOf(bits)
  summary.turnOver({ setBitCount: bits.countSet(), checksumHi: hi, checksumLo: lo })
  const after = positionsOf(bits)
  return {
    set: Uint32Array.from(after.difference(before)),
    clear: Uint32Array.from(before.difference(after)),
  }
}

function positionsOf(bits: BitArray): Set<number> {
  const positions = new Set<number>()
  bits.pushSet({ push: (position) => positions.add(position) })
  return positions
}
