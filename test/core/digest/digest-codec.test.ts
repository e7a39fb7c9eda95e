import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  decodeDigestMessage,
  encodeDelta,
  encodeGoodbye,
  encodeHeartbeat,
  encodeTurnover,
  encodeWant,
  maxFrameBytes,
} from '../../../src/core/digest/digest-codec.ts'
import type { CodedPositions, DigestMessage } from '../../../src/core/digest/digest-message.ts'
import type { DigestName } from '../../../src/core/digest/digest-name.ts'
import { GapDecoder } from '../../../src/core/digest/gap-code.ts'
import { Replica } from '../../../src/core/digest/replica.ts'
import { encodeSnapshot } from '../../../src/core/digest/snapshot-encoder.ts'
import type { StateHead } from '../../../src/core/digest/state-head.ts'
import { BitArray } from '../../../src/core/filter/bit-array.ts'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import { MalformedMessageError } from '../../../src/core/protocol/malformed-message-error.ts'
import { randomPositions, seededRandom } from '../filter/test-keys.ts'
import { bitsAt, bitsOf, decoded, finish, limits, stateOf } from './test-publisher.ts'

const geometry = { ...geometryFor(1), bitCount: 1024 }
const name: DigestName = { incarnation: 1_760_000_000_123, generation: 3, sequence: 9 }
const state: StateHead = {
  name,
  geometry,
  setBitCount: 200,
  entryCount: 70,
  oldestChangeAgeMs: 1500,
  checksumHi: 0xfedcba98,
  checksumLo: 0x01234567,
}

function read({ bytes, count }: CodedPositions, bitCount = geometry.bitCount): number[] {
  const out = new Uint32Array(count)
  new GapDecoder(bytes, count, bitCount).next(out, count)
  return [...out]
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

describe('digest frames', () => {
  test('of every kind say what they were made of', () => {
    expect(decoded(encodeWant(undefined))).toEqual({ kind: 'want', have: undefined })
    expect(decoded(encodeWant(name))).toEqual({ kind: 'want', have: name })
    expect(decoded(encodeHeartbeat(state))).toEqual({ kind: 'heartbeat', state })
    expect(decoded(encodeGoodbye(name))).toEqual({ kind: 'goodbye', name })

    const delta = decoded(encodeDelta(4, state, Uint32Array.of(0, 5, 1023)))
    expect(delta).toMatchObject({ kind: 'delta', fromSequence: 4, state, setBits: { count: 3 } })
    expect(delta.kind === 'delta' && read(delta.setBits)).toEqual([0, 5, 1023])

    const from = { ...name, generation: 2, sequence: 77 }
    const turnover = decoded(encodeTurnover(from, state, Uint32Array.of(7), Uint32Array.of(1, 2, 900)))
    expect(turnover).toMatchObject({ kind: 'turnover', from, state })
    expect(turnover.kind === 'turnover' && read(turnover.setBits)).toEqual([7])
    expect(turnover.kind === 'turnover' && read(turnover.clearBits)).toEqual([1, 2, 900])
  })

  test('have the bytes that the format gives them', () => {
    expect(hexOf(encodeWant(undefined))).toBe('534344010100')
    expect(hexOf(encodeGoodbye(name))).toBe('53434401060000000199c82cc07b0000000300000009')
    const fields = [
      '534344010300', // header
      '00000199c82cc07b0000000300000009', // name
      '0101040a00000000', // geometry
      '000000c800000046000005dcfedcba9801234567', // counts, age, checksum
      '0000000800000001', // from sequence, count
      '01a0', // gap code
    ]
    expect(hexOf(encodeDelta(8, state, Uint32Array.of(3)))).toBe(fields.join(''))
  })

  test('of an empty digest are read, and match nothing', () => {
    const empty = new BitArray(1024)
    const replica = new Replica(limits)
    expect(replica.receive(decoded(encodeSnapshot(stateOf(name, geometry, empty), empty)))).toBe('building')
    finish(replica)
    expect(replica.bits?.countSet()).toBe(0)
  })

  test('are no longer than the largest that a reader allows', () => {
    const all = Uint32Array.from({ length: 1024 }, (_, i) => i)
    const even = all.filter((position) => position % 2 === 0)
    const full = { ...state, setBitCount: 1024 }
    const longest = maxFrameBytes({ maxBitCount: 1024 })
    for (const positions of [all, even]) {
      expect(encodeDelta(0, full, positions).length).toBeLessThanOrEqual(longest)
      expect(encodeSnapshot(state, bitsAt(1024, positions)).length).toBeLessThanOrEqual(longest)
    }
  })
})

describe('a frame from outside', () => {
  const heartbeat = encodeHeartbeat(state)
  const delta = encodeDelta(4, state, Uint32Array.of(0, 5, 1023))
  const turnover = encodeTurnover({ ...name, generation: 2 }, state, Uint32Array.of(7), Uint32Array.of(1, 2))
  const rawBits = bitsAt(1024, randomPositions(seededRandom(5), 500, 1024))
  const raw = encodeSnapshot(stateOf(name, geometry, rawBits), rawBits)
  const gapBits = bitsAt(1024, [1, 500, 900])
  const gaps = encodeSnapshot(stateOf(name, geometry, gapBits), gapBits)
  const codedBits = bitsAt(1024, randomPositions(seededRandom(6), 900, 1024))
  const coded = encodeSnapshot(stateOf(name, geometry, codedBits), codedBits)
  const want = encodeWant(name)
  const goodbye = encodeGoodbye(name)

  function changed(frame: Uint8Array, at: number, ...bytes: number[]): Uint8Array {
    const copy = frame.slice()
    copy.set(bytes, at)
    return copy
  }

  test.each([
    ['ends too early', new Uint8Array(0)],
    ['no digest frame', changed(heartbeat, 2, 0x45)],
    ['unknown format 2', changed(heartbeat, 3, 2)],
    ['unknown type 0', changed(heartbeat, 4, 0)],
    ['unknown type 7', changed(heartbeat, 4, 7)],
    ['unknown flags 1', changed(heartbeat, 5, 1)],
    ['unknown flags 4', changed(want, 5, 4)],
    ['an end without a beginning', changed(want, 5, 2)],
    ['ends too early', changed(want, 5, 3)],
    ['nothing is wanted', encodeWant(name, name.sequence)],
    ['unknown flags 129', changed(gaps, 5, 129)],
    ['unknown flags 3', changed(coded, 5, 3)],
    ['unknown flags 4', changed(coded, 5, 4)],
    ['incarnation out of range', changed(goodbye, 6, 0x00, 0x20)],
    ['unknown hash scheme 2', changed(heartbeat, 22, 2)],
    ['unknown cache-key rules 9', changed(heartbeat, 23, 9)],
    ['probe count 0 out of range', changed(heartbeat, 24, 0)],
    ['probe count 17 out of range', changed(heartbeat, 24, 17)],
    ['bit count 1 out of range', changed(heartbeat, 25, 0)],
    ['bit count 4294967296 out of range', changed(heartbeat, 25, 32)],
    ['bit count', changed(heartbeat, 25, 255)],
    ['2097152 bits where 1048576 are allowed', changed(heartbeat, 25, 21)],
    ['unknown key 5', changed(heartbeat, 29, 5)],
    ['more set bits than bits', changed(heartbeat, 30, 0, 0, 4, 1)],
    ['bytes behind the end', Uint8Array.of(...heartbeat, 0)],
    ['bytes behind the end', Uint8Array.of(...raw, 0)],
    ['bytes behind the end', Uint8Array.of(...want, 0)],
    ['ends too early', raw.subarray(0, raw.length - 1)],
    ['ends too early', coded.subarray(0, 50 + 21)],
    ['frequencies that sum to', changed(coded, 50, 0xff)],
    ['out of range', changed(coded, coded.length - 4, 0xff)],
    ['a delta that does not lead on', changed(delta, 50, 0, 0, 0, 9)],
    ['more positions than set bits', changed(delta, 54, 0xff, 0xff, 0xff, 0xff)],
    ['too short for 200 positions', changed(delta, 54, 0, 0, 0, 200)],
    ['a turnover that does not lead on', changed(turnover, 50, 0, 0, 0, 3)],
    ['more positions than set bits', changed(turnover, 58, 0, 0, 0, 201)],
    ['more positions than clear bits', changed(turnover, 62, 0, 0, 3, 57)],
    ['ends too early', changed(turnover, 66, 0xff, 0xff, 0xff, 0xff)],
  ])('is refused by name: %s', (problem, frame) => {
    expect(() => decoded(frame)).toThrow(MalformedMessageError)
    expect(() => decoded(frame)).toThrow(problem)
  })

  test('is read or refused, never anything else, however it was cut or mutated', () => {
    const frames = [heartbeat, delta, turnover, raw, gaps, coded, want, goodbye]
    const mutation = fc.record({
      frame: fc.constantFrom(...frames),
      end: fc.nat(200),
      cut: fc.boolean(),
      patches: fc.array(fc.tuple(fc.nat(220), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }),
    })
    fc.assert(
      fc.property(mutation, ({ frame, end, cut, patches }) => {
        const bytes = frame.slice(0, cut ? end : frame.length)
        for (const [at, value] of patches) if (at < bytes.length && at > 3) bytes[at] = value
        let message: DigestMessage
        try {
          message = decodeDigestMessage(bytes, limits)
        } catch (error) {
          if (!(error instanceof MalformedMessageError)) throw error
          return
        }
        // What passes does no harm where it is used, either.
        const replica = new Replica(limits)
        for (const known of [decoded(raw), message]) {
          replica.receive(known)
          finish(replica)
        }
        const held = replica.state
        const bits = bitsOf(replica)
        if (held === undefined || bits === undefined) return
        expect(stateOf(held.name, held.geometry, bits)).toMatchObject({
          setBitCount: held.setBitCount,
          checksumHi: held.checksumHi,
          checksumLo: held.checksumLo,
        })
      }),
      { numRuns: 3000 },
    )
  })
})
