import assert from 'node:assert'
import { decodeDigestMessage } from '../../../src/core/digest/digest-codec.ts'
import { GapDecoder, encodeGaps } from '../../../src/core/digest/gap-code.ts'
import { Replica } from '../../../src/core/digest/replica.ts'
import { encodeSnapshot } from '../../../src/core/digest/snapshot-encoder.ts'
import type { StateHead } from '../../../src/core/digest/state-head.ts'
import { BitArray } from '../../../src/core/filter/bit-array.ts'
import { checksumOf } from '../../../src/core/filter/bit-checksum.ts'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import { randomPositions, seededRandom } from '../../core/filter/test-keys.ts'
import { countedFinding, findingOf, type Finding } from '../finding.ts'
import type { Harness } from '../harness.ts'
import type { Measurement } from '../measurement.ts'
import { fillAtRandom } from './random-words.ts'

const GAP_BIT_COUNT = 2 ** 24
/** For each timing so many positions at least, in as many passes as that takes. */
const POSITIONS_TIMED = 400_000
const SLICE_POSITIONS = 1024
const WORK_PER_STEP = 20_000

/** log2 of the number of ways to choose `count` of `bitCount` positions. */
function entropyOfChoice(count: number, bitCount: number): number {
  let bits = 0
  for (let i = 0; i < count; i++) bits += Math.log2((bitCount - i) / (i + 1))
  return bits
}

function decodeAll(code: Uint8Array, count: number, slice: Uint32Array): number {
  const decoder = new GapDecoder(code, count, GAP_BIT_COUNT)
  while (decoder.left > 0) decoder.next(slice, slice.length)
  return slice[0]!
}

async function gapFindings(harness: Harness, count: number): Promise<Finding[]> {
  const positions = randomPositions(seededRandom(count), count, GAP_BIT_COUNT)
  const code = encodeGaps(positions)
  const entropyBytes = entropyOfChoice(count, GAP_BIT_COUNT) / 8
  const name = (what: string): string => `gap code of ${count} positions below 2^24: ${what}`
  const passes = Math.ceil(POSITIONS_TIMED / count)
  const slice = new Uint32Array(SLICE_POSITIONS)
  const comparison = await harness.compare([
    harness.timed('encode', passes * code.length, () => {
      let bytes = 0
      for (let pass = 0; pass < passes; pass++) bytes += encodeGaps(positions).length
      return bytes
    }),
    harness.timed('decode', passes * code.length, () => {
      let sum = 0
      for (let pass = 0; pass < passes; pass++) sum += decodeAll(code, count, slice)
      return sum
    }),
  ])
  return [
    countedFinding(name('size'), code.length, 'bytes', {
      reference: 'entropy',
      ratio: code.length / entropyBytes,
      // What gap-code.ts says of it.
      goal: { of: 'ratio', is: 'at most', limit: 1.05 },
    }),
    findingOf(comparison, 'encode', { name: name('encode, for each byte of code') }),
    findingOf(comparison, 'decode', { name: name('decode, for each byte of code') }),
  ]
}

async function snapshotFindings(harness: Harness, bitCount: number, density: number): Promise<Finding[]> {
  const bits = new BitArray(bitCount)
  fillAtRandom(bits.words, Math.round(density * 2 ** 16), 16, 3)
  const setBitCount = bits.countSet()
  const { hi, lo } = checksumOf(bits)
  const state: StateHead = {
    name: { incarnation: 1, generation: 1, sequence: 0 },
    geometry: { ...geometryFor(1), bitCount },
    setBitCount,
    entryCount: setBitCount,
    oldestChangeAgeMs: 0,
    checksumHi: hi,
    checksumLo: lo,
  }
  const frame = encodeSnapshot(state, bits)
  const p = setBitCount / bitCount
  const entropyBytes = (bitCount / 8) * -(p * Math.log2(p) + (1 - p) * Math.log2(1 - p))

  const follow = (): Replica => {
    const replica = new Replica({ maxBitCount: bitCount })
    replica.receive(decodeDigestMessage(frame, { maxBitCount: bitCount }))
    for (let more = true; more;) more = replica.work(WORK_PER_STEP)
    return replica
  }
  assert.deepEqual(follow().state?.setBitCount, setBitCount, 'the snapshot is proved')
  const comparison = await harness.compare([
    harness.timed('encode', bitCount / 8, () => encodeSnapshot(state, bits).length),
    harness.timed('decode', bitCount / 8, () => follow().state?.setBitCount ?? 0),
  ])
  const name = (what: string): string => `snapshot of 2^${Math.log2(bitCount)} bits, density ${density}: ${what}`
  return [
    countedFinding(name('size'), frame.length, 'bytes', { reference: 'entropy', ratio: frame.length / entropyBytes }),
    findingOf(comparison, 'encode', { name: name('encode, for each byte of the digest') }),
    findingOf(comparison, 'decode', { name: name('decode and prove, for each byte of the digest') }),
  ]
}

/** What goes over the wire against its entropy: log2 of m over n for positions, m H(p) for a snapshot. */
export const WIRE_CODES: readonly Measurement[] = [
  {
    name: 'gap code',
    async run({ harness }) {
      const findings: Finding[] = []
      for (const count of [100, 1_000, 10_000]) findings.push(...(await gapFindings(harness, count)))
      return findings
    },
  },
  {
    name: 'snapshots',
    async run({ harness, quick, progress }) {
      const findings: Finding[] = []
      for (const density of [0.05, 0.22, 0.4, 0.5]) {
        progress(`density ${density}`)
        findings.push(...(await snapshotFindings(harness, quick ? 2 ** 16 : 2 ** 21, density)))
      }
      return findings
    },
  },
]
