import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BitDifference, NetChanges, WholeState } from '../../../src/core/digest/bit-changes.ts'
import { ChangeEncoder } from '../../../src/core/digest/change-encoder.ts'
import { encodeDelta, encodeTurnover } from '../../../src/core/digest/digest-codec.ts'
import { BitArray } from '../../../src/core/filter/bit-array.ts'
import { checksumOf } from '../../../src/core/filter/bit-checksum.ts'
import type { BitsProof } from '../../../src/core/filter/summary.ts'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import { stateOf } from './test-publisher.ts'

const geometry = { ...geometryFor(1), bitCount: 2_048 }
const NOTHING: BitsProof = { setBitCount: 0, checksumHi: 0, checksumLo: 0 }
const positions = fc.uniqueArray(fc.nat(geometry.bitCount - 1), { maxLength: 300 })

function bitsAt(set: readonly number[]): BitArray {
  const bits = new BitArray(geometry.bitCount)
  for (const position of set) bits.set(position)
  return bits
}

function proofOf(bits: BitArray): BitsProof {
  const { hi, lo } = checksumOf(bits)
  return { setBitCount: bits.countSet(), checksumHi: hi, checksumLo: lo }
}

function ascending(set: Iterable<number>): Uint32Array {
  return Uint32Array.from(set).sort()
}

test('a turnover made in slices is the one made at once, of the size that was told before', () => {
  fc.assert(
    fc.property(positions, positions, fc.integer({ min: 1, max: 400 }), (before, after, slice) => {
      const [old, next] = [bitsAt(before), bitsAt(after)]
      const encoder = new ChangeEncoder(new BitDifference(old, next), proofOf(old))
      while (encoder.measure(slice)) continue
      expect(encoder.after).toEqual(proofOf(next))
      const from = { incarnation: 1, generation: 3, sequence: 8 }
      const state = stateOf({ incarnation: 1, generation: 4, sequence: 0 }, geometry, next)
      const dull = encodeTurnover(
        from,
        state,
        ascending(new Set(after).difference(new Set(before))),
        ascending(new Set(before).difference(new Set(after))),
      )
      expect(encoder.frameBytes(false)).toBe(dull.length)
      encoder.begin(from, state)
      while (encoder.write(slice)) continue
      expect(encoder.frame).toEqual(dull)
    }),
    { numRuns: 60 },
  )
})

test('a delta made in slices is the one made at once', () => {
  fc.assert(
    fc.property(positions, positions, (before, more) => {
      const old = bitsAt(before)
      const next = bitsAt([...before, ...more])
      const encoder = new ChangeEncoder(new BitDifference(old, next), proofOf(old))
      while (encoder.measure(64)) continue
      const state = stateOf({ incarnation: 1, generation: 3, sequence: 9 }, geometry, next)
      encoder.begin({ ...state.name, sequence: 4 }, state)
      while (encoder.write(64)) continue
      const dull = encodeDelta(4, state, ascending(new Set(more).difference(new Set(before))))
      expect(encoder.frame).toEqual(dull)
      expect(encoder.frameBytes(true)).toBe(dull.length)
    }),
    { numRuns: 40 },
  )
})

test('the checksum of a state is worked out whole, without one before it', () => {
  const bits = bitsAt([0, 31, 32, 2_047])
  const encoder = new ChangeEncoder(new WholeState(bits), NOTHING)
  while (encoder.measure(1)) continue
  expect(encoder.after).toEqual(proofOf(bits))
})

test('steps in a row come to what lies between the first state and the last', () => {
  fc.assert(
    fc.property(positions, fc.array(positions, { maxLength: 6 }), (first, flips) => {
      const net = new NetChanges(geometry.bitCount)
      const bits = bitsAt(first)
      for (const step of flips) {
        for (const position of step) {
          if (bits.set(position)) net.rose(position)
          else if (bits.clear(position)) net.fell(position)
        }
      }
      const [set, clear] = [[] as number[], [] as number[]]
      const sinks = [set, clear].map((list) => ({ push: (position: number) => void list.push(position) }))
      net.push(sinks[0]!, sinks[1]!, 0, net.wordCount)
      const last: number[] = []
      bits.pushSet({ push: (position) => void last.push(position) })
      expect(set).toEqual([...ascending(new Set(last).difference(new Set(first)))])
      expect(clear).toEqual([...ascending(new Set(first).difference(new Set(last)))])
    }),
    { numRuns: 60 },
  )
})
