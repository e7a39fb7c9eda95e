import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GapDecoder, encodeGaps, expectedGapBytes, gapBytes } from '../../../src/core/digest/gap-code.ts'
import { MalformedMessageError } from '../../../src/core/protocol/malformed-message-error.ts'
import { randomPositions, seededRandom } from '../filter/test-keys.ts'

function decodeAll(bytes: Uint8Array, count: number, bitCount: number, slice = 7): number[] {
  const decoder = new GapDecoder(bytes, count, bitCount)
  const out = new Uint32Array(slice)
  const positions: number[] = []
  for (;;) {
    const read = decoder.next(out, slice)
    if (read === 0) return positions
    positions.push(...out.subarray(0, read))
  }
}

/** The definition of the code, in characters. */
function dullCode(positions: readonly number[], parameter: number): number[] {
  let bits = ''
  let last = -1
  for (const position of positions) {
    const gap = position - last - 1
    bits += `${'1'.repeat(Math.floor(gap / 2 ** parameter))}0`
    for (let b = parameter - 1; b >= 0; b--) bits += Math.floor(gap / 2 ** b) % 2
    last = position
  }
  const bytes = bits.match(/.{1,8}/g) ?? []
  return [parameter, ...bytes.map((byte) => parseInt(byte.padEnd(8, '0'), 2))]
}

const anyPositions = fc
  .uniqueArray(fc.oneof(fc.nat(300), fc.nat(100_000)), { maxLength: 60 })
  .map((positions) => positions.sort((a, b) => a - b))

describe('positions in gap code', () => {
  test('come back as they were, whatever the slices', () => {
    fc.assert(
      fc.property(anyPositions, fc.integer({ min: 1, max: 70 }), (positions, slice) => {
        const bytes = encodeGaps(Uint32Array.from(positions))
        expect(decodeAll(bytes, positions.length, 100_001, slice)).toEqual(positions)
      }),
    )
  })

  test('are the bits that the definition says, with the parameter that makes them shortest', () => {
    fc.assert(
      fc.property(
        anyPositions.filter((positions) => positions.length > 0),
        (positions) => {
          const bytes = encodeGaps(Uint32Array.from(positions))
          expect([...bytes]).toEqual(dullCode(positions, bytes[0]!))
          // Parameters below 5 make strings of 100,000 characters here; they are no shorter than those tried.
          for (let r = 5; r < 20; r++) expect(bytes.length).toBeLessThanOrEqual(dullCode(positions, r).length)
          expect(gapBytes(Uint32Array.from(positions))).toBe(bytes.length)
        },
      ),
    )
  })

  test.each([
    [[], []],
    [[0], [0, 0b00000000]],
    [
      [0, 1, 2],
      [0, 0b00000000],
    ],
    [[3], [1, 0b10100000]],
    [[100], [6, 0b10100100]],
    [
      [5, 1000, 1003],
      [8, 0b00000010, 0b11110111, 0b00010000, 0b00001000],
    ],
  ])('%j are the bytes %j', (positions, bytes) => {
    expect([...encodeGaps(Uint32Array.from(positions))]).toEqual(bytes)
  })

  test('reach to the last bit of the largest array', () => {
    const last = 2 ** 31 - 1
    for (const positions of [[last], [0, last], [last - 1, last]]) {
      expect(decodeAll(encodeGaps(Uint32Array.from(positions)), positions.length, 2 ** 31)).toEqual(positions)
    }
  })

  // PROTOCOL rule 7
  test('cost at most 1.1 times their entropy, and what is expected of them', () => {
    const bitCount = 2 ** 17
    const random = seededRandom(7)
    for (let n = 0; n < 40; n++) {
      const density = 10 ** (-5 + (n / 39) * (5 + Math.log10(0.5)))
      const count = Math.max(1, Math.round(density * bitCount))
      const positions = randomPositions(random, count, bitCount)
      const p = count / bitCount
      const entropyBytes = (bitCount * (-p * Math.log2(p) - (1 - p) * Math.log2(1 - p))) / 8
      expect(gapBytes(positions)).toBeLessThanOrEqual(1.1 * entropyBytes + 4)
      const tolerance = 4 + 0.02 * entropyBytes + (3 * entropyBytes) / Math.sqrt(count) / 4
      expect(Math.abs(expectedGapBytes(count, bitCount) - gapBytes(positions))).toBeLessThan(tolerance)
    }
  })

  // Load factor 16: what a delta of so many positions adds to a digest of 65,536 and of 1,048,576 entries.
  test.each([100, 1000, 10_000])('%d of them among 2^20 or 2^24 cost at most 1.05 times their entropy', (count) => {
    for (const bitCount of [2 ** 20, 2 ** 24]) {
      let entropyBits = 0
      for (let i = 0; i < count; i++) entropyBits += Math.log2((bitCount - i) / (i + 1))
      for (let seed = 0; seed < 10; seed++) {
        const positions = randomPositions(seededRandom(seed), count, bitCount)
        expect(gapBytes(positions)).toBeLessThanOrEqual((1.05 * entropyBits) / 8)
      }
    }
  })

  test('must ascend', () => {
    expect(() => encodeGaps(Uint32Array.of(3, 3))).toThrow('strictly ascending')
    expect(() => gapBytes(Uint32Array.of(4, 3))).toThrow('strictly ascending')
  })
})

describe('a gap code from outside', () => {
  test.each([
    ['bytes without positions', [0], 0, 64],
    ['no bytes for', [], 1, 64],
    ['unknown parameter 31', [31, 0, 0, 0, 0], 1, 64],
    ['too short for 9 positions', [0, 0], 9, 64],
    ['65 positions below 64', [0, ...Array.from({ length: 9 }, () => 0)], 65, 64],
    ['a position outside the array', [0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0], 1, 64],
    ['a position outside the array', [6, 0b10000000], 1, 64],
    ['a position outside the array', [5, 0b01111110, 0b11111000], 2, 64],
    ['a position outside the array', [5, 0b10010000, 0b10111000], 2, 64],
    ['ends within a position', [0, 0xff], 1, 64],
    ['ends within a position', [5, 0b11100000], 1, 256],
    ['bytes behind the end', [0, 0, 0], 1, 64],
    ['padding that is not zero', [0, 0b00000001], 1, 64],
  ])('is refused: %s', (problem, bytes, count, bitCount) => {
    const decode = (): number[] => decodeAll(Uint8Array.from(bytes), count, bitCount)
    expect(decode).toThrow(MalformedMessageError)
    expect(decode).toThrow(problem)
  })

  test('gives ascending positions within the array or is refused, whatever its bytes', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 40 }),
        fc.nat(100),
        fc.integer({ min: 6, max: 31 }),
        (bytes, count, log) => {
          if (bytes.length > 0) bytes[0]! &= 31
          let positions: number[] = []
          try {
            positions = decodeAll(bytes, count, 2 ** log)
          } catch (error) {
            if (!(error instanceof MalformedMessageError)) throw error
            return
          }
          expect(positions).toHaveLength(count)
          expect(positions.every((position, i) => position > (positions[i - 1] ?? -1) && position < 2 ** log)).toBe(
            true,
          )
        },
      ),
      { numRuns: 2000 },
    )
  })
})
