import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { maxFrameBytes } from '../../../src/core/digest/digest-codec.ts'
import type { DigestMessage, SnapshotMessage } from '../../../src/core/digest/digest-message.ts'
import { Replica } from '../../../src/core/digest/replica.ts'
import { SnapshotEncoder, encodeSnapshot, snapshotFrameBytes } from '../../../src/core/digest/snapshot-encoder.ts'
import { BitArray } from '../../../src/core/filter/bit-array.ts'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import { MalformedMessageError } from '../../../src/core/protocol/malformed-message-error.ts'
import { randomPositions, seededRandom } from '../filter/test-keys.ts'
import { bitsAt, bitsOf, decoded, finish, limits, stateOf } from './test-publisher.ts'

const name = { incarnation: 1_760_000_000_123, generation: 3, sequence: 9 }
const FIXED_BYTES = 50
const CODE_HEADER_BYTES = 22

function frameOf(bits: BitArray): Uint8Array {
  return encodeSnapshot(stateOf(name, { ...geometryFor(1), bitCount: bits.bitCount }, bits), bits)
}

function codingOf(frame: Uint8Array): SnapshotMessage['coding'] | undefined {
  const message = decoded(frame)
  return message.kind === 'snapshot' ? message.coding : undefined
}

function followed(message: DigestMessage): Replica {
  const replica = new Replica(limits)
  replica.receive(message)
  finish(replica)
  return replica
}

function randomBits(seed: number, bitCount: number, density: number): BitArray {
  const random = seededRandom(seed)
  const bits = new BitArray(bitCount)
  for (let i = 0; i < bitCount; i++) if (random() < density) bits.set(i)
  return bits
}

function entropyBytes(bits: BitArray): number {
  const p = bits.countSet() / bits.bitCount
  return (bits.bitCount / 8) * -(p * Math.log2(p) + (1 - p) * Math.log2(1 - p))
}

describe('a snapshot', () => {
  const random = seededRandom(4)

  test.each([0, 1, 40, 100, 250, 400, 512, 700, 880, 910])('with %d of 1024 bits set comes back', (count) => {
    const bits = bitsAt(1024, randomPositions(random, count, 1024))
    expect(bitsOf(followed(decoded(frameOf(bits))))?.equals(bits)).toBe(true)
  })

  test('of any bits comes back in any of its forms', () => {
    const codings = new Set<string | undefined>()
    const density = fc.constantFrom(0, 0.001, 0.02, 0.1, 0.22, 0.4, 0.5, 0.7, 0.85, 0.89)
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 6, max: 13 }), density, (seed, log, p) => {
        const bits = randomBits(seed, 2 ** log, p)
        if (bits.countSet() > 0.9 * bits.bitCount) return
        const frame = frameOf(bits)
        codings.add(codingOf(frame))
        expect(bitsOf(followed(decoded(frame)))?.equals(bits)).toBe(true)
      }),
    )
    expect(codings).toEqual(new Set(['coded', 'gaps', 'raw']))
  })

  test.each([
    [3000, 'gaps'],
    [15_000, 'coded'],
    [33_000, 'raw'],
    [50_000, 'coded'],
  ] as const)('with %d of 65536 bits set is smallest as %s, and as large as expected', (count, coding) => {
    const bits = bitsAt(2 ** 16, randomPositions(random, count, 2 ** 16))
    const frame = frameOf(bits)
    expect(codingOf(frame)).toBe(coding)
    expect(Math.abs(snapshotFrameBytes(bits) / frame.length - 1)).toBeLessThan(0.01)
    expect(snapshotFrameBytes(bits, count)).toBe(snapshotFrameBytes(bits))
  })

  const densities = [0.002, 0.005, 0.01, 0.02, 0.04, 0.06, 0.07, 0.08, 0.1, 0.15, 0.22, 0.3, 0.4, 0.45, 0.48, 0.49, 0.5]
  const grid = [...densities, 0.52, 0.55, 0.6, 0.7, 0.8, 0.9, 0.93, 0.95, 0.96, 0.97, 0.98]

  // Mitzenmacher, Compressed Bloom Filters (PODC 2001): m H(p) bits
  test('costs at most 1.03 times the entropy of its bits at any density, and about what was expected', () => {
    for (const [seed, density] of grid.entries()) {
      const bits = randomBits(seed, 2 ** (seed % 7 === 0 ? 19 : 16), density)
      const { length } = frameOf(bits)
      expect(length, `density ${density}`).toBeLessThanOrEqual(
        1.03 * entropyBytes(bits) + FIXED_BYTES + CODE_HEADER_BYTES,
      )
      expect(Math.abs(snapshotFrameBytes(bits) / length - 1), `density ${density}`).toBeLessThan(0.02)
    }
  })

  test('is never longer than its raw bits, nor than the largest frame that a reader allows', () => {
    for (let density = 0.45; density < 0.55; density += 0.005) {
      const bits = randomBits(1, 2 ** 14, density)
      expect(frameOf(bits).length).toBeLessThanOrEqual(FIXED_BYTES + 2 ** 11)
      expect(frameOf(bits).length).toBeLessThanOrEqual(maxFrameBytes({ maxBitCount: 2 ** 14 }))
    }
    // A code would save half a thousandth, and could in theory turn out a thousandth longer than it is told.
    expect(codingOf(frameOf(randomBits(1, 2 ** 20, 0.485)))).toBe('raw')
  })

  test('is the same when it is encoded a few words at a time', () => {
    for (const count of [0, 50, 500, 900]) {
      const bits = bitsAt(1024, randomPositions(random, count, 1024))
      for (const words of [1, 5]) {
        const encoder = new SnapshotEncoder(stateOf(name, { ...geometryFor(1), bitCount: 1024 }, bits), bits)
        expect(() => encoder.frame).toThrow('not encoded yet')
        for (let more = true; more;) more = encoder.work(words)
        expect(encoder.work(words)).toBe(false)
        expect(encoder.frame).toEqual(frameOf(bits))
      }
    }
  })
})

describe('a coded snapshot from outside', () => {
  test('with any bit flipped in its code is refused, or fails the proof', () => {
    const frame = frameOf(bitsAt(1024, randomPositions(seededRandom(5), 900, 1024)))
    expect(codingOf(frame)).toBe('coded')
    const refusals = new Set<string | undefined>()
    for (let bit = 8 * FIXED_BYTES; bit < 8 * frame.length; bit++) {
      const flipped = frame.slice()
      flipped[bit >> 3]! ^= 1 << (bit & 7)
      let message: DigestMessage
      try {
        message = decoded(flipped)
      } catch (error) {
        if (!(error instanceof MalformedMessageError)) throw error
        continue
      }
      // Frequencies say what they sum to.
      expect(bit).toBeGreaterThanOrEqual(8 * (FIXED_BYTES + 18))
      const replica = followed(message)
      expect(replica.state).toBeUndefined()
      refusals.add(replica.lastRefusal)
    }
    expect(refusals).toEqual(new Set(['refused-malformed', 'refused-proof']))
  })

  test('of other bits fails the proof', () => {
    const bits = bitsAt(1024, randomPositions(seededRandom(5), 900, 1024))
    const others = bitsAt(1024, randomPositions(seededRandom(6), 900, 1024))
    const state = stateOf(name, { ...geometryFor(1), bitCount: 1024 }, bits)
    const replica = followed(decoded(encodeSnapshot(state, others)))
    expect(replica.state).toBeUndefined()
    expect(replica.lastRefusal).toBe('refused-proof')
  })

  test('is built a slice at a time, beside what is held', () => {
    const bits = randomBits(3, 2 ** 15, 0.25)
    const frame = frameOf(bits)
    expect(codingOf(frame)).toBe('coded')
    const replica = new Replica(limits)
    replica.receive(decoded(frame))
    let slices = 0
    for (; replica.work(60); slices++) expect(replica.bits).toBeUndefined()
    expect(slices).toBeGreaterThan(2 ** 15 / 32 / 60)
    expect(bitsOf(replica)?.equals(bits)).toBe(true)
  })
})
