import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { costBits, frequenciesFor } from '../../../src/core/digest/byte-frequencies.ts'
import { RansDecoder, RansSizer, RansWriter, checkRansCode } from '../../../src/core/digest/rans-code.ts'
import { MalformedMessageError } from '../../../src/core/protocol/malformed-message-error.ts'
import { seededRandom } from '../filter/test-keys.ts'

const HEADER_BYTES = 22

function wordsOf(bytes: Uint8Array): Uint32Array {
  const words = new Uint32Array(Math.ceil(bytes.length / 4))
  for (const [i, byte] of bytes.entries()) words[i >> 2]! |= byte << (8 * (i & 3))
  return words
}

function sizeOf(bytes: Uint8Array, slice = bytes.length): RansSizer {
  const words = wordsOf(bytes)
  const size = new RansSizer()
  for (let at = 0; at < bytes.length; at += slice) size.count(words, at, Math.min(bytes.length, at + slice))
  return size
}

function encode(bytes: Uint8Array, slice = bytes.length): Uint8Array {
  const words = wordsOf(bytes)
  const size = sizeOf(bytes, slice)
  const out = new Uint8Array(size.maxBytes)
  const writer = new RansWriter(size, out, 0)
  for (let end = bytes.length; end > 0; end -= slice) writer.write(words, Math.max(0, end - slice), end)
  return out.subarray(0, writer.finish())
}

function decode(code: Uint8Array, byteCount: number, slice = 7): Uint8Array {
  const decoder = new RansDecoder(code, byteCount)
  const out = new Uint8Array(slice)
  const bytes: number[] = []
  for (;;) {
    const read = decoder.next(out, slice)
    bytes.push(...out.subarray(0, read))
    expect(decoder.left).toBe(byteCount - bytes.length)
    if (read === 0) return Uint8Array.from(bytes)
  }
}

const onesIn = (byte: number): number => byte.toString(2).replaceAll('0', '').length
const ORDER = Array.from({ length: 256 }, (_, byte) => byte).sort((a, b) => onesIn(a) - onesIn(b) || a - b)

/** The definition of the code (Duda 2009), with these frequencies, in bigints. */
function dullCode(bytes: Uint8Array, frequencies: Uint16Array): number[] {
  const frequency = (byte: number): bigint => BigInt(frequencies[onesIn(byte)]!)
  const start = (byte: number): bigint =>
    ORDER.slice(0, ORDER.indexOf(byte)).reduce((sum, before) => sum + frequency(before), 0n)
  const code = [...frequencies].flatMap((f) => [f >> 8, f & 255])
  let x = 2n ** 23n
  for (const byte of bytes.toReversed()) {
    const f = frequency(byte)
    for (; x >= (2n ** 31n / 2n ** 16n) * f; x /= 256n) code.push(Number(x % 256n))
    x = (x / f) * 2n ** 16n + start(byte) + (x % f)
  }
  return [...code, ...[24n, 16n, 8n, 0n].map((shift) => Number((x >> shift) & 255n))]
}

function randomBytes(seed: number, byteCount: number, density: number): Uint8Array {
  const random = seededRandom(seed)
  const bytes = new Uint8Array(byteCount)
  for (let i = 0; i < 8 * byteCount; i++) if (random() < density) bytes[i >> 3]! |= 1 << (i & 7)
  return bytes
}

const entropyBits = (p: number): number => (p === 0 || p === 1 ? 0 : -p * Math.log2(p) - (1 - p) * Math.log2(1 - p))

const anyDensity = fc.constantFrom(0, 0.001, 0.01, 0.1, 0.22, 0.5, 0.78, 0.9, 0.99, 0.999, 1)
const anyBytes = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 300 }),
  fc.tuple(fc.nat(), fc.integer({ min: 1, max: 300 }), anyDensity).map((args) => randomBytes(...args)),
  fc.tuple(fc.nat(299), fc.nat(2399)).map(([count, bit]) => {
    const bytes = new Uint8Array(count + 1)
    bytes[(bit >> 3) % bytes.length] = 1 << (bit & 7)
    return bytes
  }),
)

describe('bytes in rANS code', () => {
  test('come back as they were, whatever the slices', () => {
    fc.assert(
      fc.property(anyBytes, fc.integer({ min: 1, max: 70 }), (bytes, slice) => {
        const code = encode(bytes, slice)
        expect(code).toEqual(encode(bytes))
        expect(decode(code, bytes.length, slice)).toEqual(bytes)
      }),
    )
  })

  test('are the bytes that the definition says', () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        expect([...encode(bytes)]).toEqual(dullCode(bytes, sizeOf(bytes).frequencies))
      }),
    )
  })

  test.each([0, 1, 0x80, 0xf0, 0x7f, 0xff])('all of one value, %d, cost no more than its class', (byte) => {
    const bytes = new Uint8Array(40_000).fill(byte)
    const classBytes = [1, 8, 28, 56, 70, 56, 28, 8, 1][onesIn(byte)]!
    const code = encode(bytes)
    expect(code.length - HEADER_BYTES).toBeLessThanOrEqual(1.001 * (40_000 / 8) * Math.log2(classBytes) + 1)
    expect(decode(code, bytes.length, 4096)).toEqual(bytes)
  })

  const samples = [0.002, 0.01, 0.05, 0.1, 0.22, 0.4, 0.5, 0.7, 0.9, 0.98, 0.999].flatMap((density, seed) =>
    [500, 8192, 60_001].map((byteCount) => randomBytes(seed, byteCount, density)),
  )

  test('take the size told, but for a thousandth or eight bytes, in any order', () => {
    const worstFrequent = Uint8Array.from({ length: 60_000 }, (_, i) => (i % 16 === 0 ? 0x01 : 0xf0))
    for (const bytes of [...samples, ...samples.map((sample) => sample.toSorted()), worstFrequent]) {
      for (const some of [bytes, bytes.toReversed()]) {
        const made = encode(some).length
        expect(Math.abs(sizeOf(some).bytes - made)).toBeLessThanOrEqual(Math.max(8, made / 1000))
      }
    }
  })

  test('are never longer than the bound that is allocated', () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        expect(encode(bytes).length).toBeLessThanOrEqual(sizeOf(bytes).maxBytes)
      }),
    )
    for (const bytes of samples) {
      const { maxBytes } = sizeOf(bytes)
      expect(encode(bytes).length).toBeLessThanOrEqual(maxBytes)
      expect(maxBytes - encode(bytes).length).toBeLessThanOrEqual(0.0015 * bytes.length + 8)
    }
  })

  test('are not written when they have changed since they were counted', () => {
    const writer = new RansWriter(sizeOf(new Uint8Array(8)), new Uint8Array(100), 0)
    expect(() => writer.write(Uint32Array.of(0, 1), 0, 8)).toThrow('changed since')
    const shortened = new RansWriter(sizeOf(Uint8Array.of(0, 0, 0, 0xff)), new Uint8Array(22), 0)
    shortened.write(Uint32Array.of(0xffffffff, 0xffffffff), 0, 8)
    expect(() => shortened.finish()).toThrow('changed since')
  })
})

describe('the frequencies of bytes by the number of their ones', () => {
  const CLASS_BYTES = [1, 8, 28, 56, 70, 56, 28, 8, 1]
  const anyCount = fc.oneof(fc.constantFrom(0, 1), fc.nat(100), fc.nat(2 ** 28))
  const anyCounts = fc.array(anyCount, { minLength: 9, maxLength: 9 }).filter((counts) => counts.some((n) => n > 0))

  test('sum to 65536 over all bytes, have 16 bits, and are not 0 where a byte occurs', () => {
    fc.assert(
      fc.property(anyCounts, (counts) => {
        const frequencies = [...frequenciesFor(Float64Array.from(counts))]
        expect(frequencies.reduce((sum, f, ones) => sum + f * CLASS_BYTES[ones]!, 0)).toBe(65_536)
        for (const [ones, f] of frequencies.entries()) expect(f >= (counts[ones]! > 0 ? 1 : 0) && f < 65_536).toBe(true)
      }),
    )
  })

  test('cost at most a fiftieth of a bit a byte more than the shares themselves', () => {
    fc.assert(
      fc.property(anyCounts, (list) => {
        const counts = Float64Array.from(list)
        const total = counts.reduce((sum, count) => sum + count, 0)
        let least = 0
        for (const [ones, n] of list.entries()) if (n > 0) least += n * Math.log2((total * CLASS_BYTES[ones]!) / n)
        expect(costBits(counts, frequenciesFor(counts))).toBeLessThanOrEqual(least + total / 50)
      }),
    )
  })

  test('of half-full digests are all alike, but for a rest', () => {
    const half = Float64Array.from(CLASS_BYTES.map((bytes) => bytes * 1000))
    expect([...frequenciesFor(half)]).toEqual(Array.from({ length: 9 }, () => 256))
  })
})

// Mitzenmacher, Compressed Bloom Filters (PODC 2001), tables 1 and 2: z bits a key on the wire, m/n in memory.
describe('a compressed Bloom filter', () => {
  const KEYS = 16_000

  function filled(bitsPerKey: number, probeCount: number): Uint8Array {
    const random = seededRandom(bitsPerKey)
    const bytes = new Uint8Array((bitsPerKey * KEYS) / 8)
    for (let i = 0; i < probeCount * KEYS; i++) {
      const position = Math.floor(random() * bitsPerKey * KEYS)
      bytes[position >> 3]! |= 1 << (position & 7)
    }
    return bytes
  }

  test.each([
    [8, 6, 7.982, 0.0216],
    [14, 2, 7.923, 0.0177],
    [92, 1, 7.923, 0.0108],
    [16, 11, 16, 4.59e-4],
    [28, 4, 15.846, 3.14e-4],
    [48, 3, 15.829, 2.22e-4],
  ])('of %f bits a key and %f probes has %f bits a key on the wire and %f false hits', (m, k, z, falseHits) => {
    const clear = Math.exp(-k / m)
    const bitsPerKey = m * entropyBits(clear)
    expect(bitsPerKey).toBeCloseTo(z, 2)
    expect((1 - clear) ** k / falseHits).toBeCloseTo(1, 2)
    const bytes = filled(m, k)
    // Half full, it is as well sent as it is.
    const bytesSent = Math.min(bytes.length, encode(bytes).length)
    expect((bytesSent * 8) / KEYS).toBeLessThanOrEqual(1.03 * bitsPerKey)
  })
})

describe('a rANS code from outside', () => {
  const bytes = randomBytes(9, 128, 0.8)
  const code = encode(bytes)

  function changed(at: number, ...values: number[]): Uint8Array {
    const copy = code.slice()
    copy.set(values, at < 0 ? copy.length + at : at)
    return copy
  }
  /** Frequencies of zeros and of 0xff, then `rest`. */
  const coded = (...rest: number[]): Uint8Array => Uint8Array.of(0xff, 0xff, ...new Uint8Array(14), 0x00, 0x01, ...rest)

  test.each([
    ['ends too early', new Uint8Array(0), 1],
    ['ends too early', code.subarray(0, HEADER_BYTES - 1), 1],
    ['frequencies that sum to', changed(17, code[17]! + 1), 128],
    ['frequencies that sum to 0', new Uint8Array(HEADER_BYTES), 1],
    ['state 8388607 out of range', changed(-4, 0x00, 0x7f, 0xff, 0xff), 128],
    ['state 2147483648 out of range', changed(-4, 0x80, 0x00, 0x00, 0x00), 128],
    ['ends too early', coded(0x00, 0x80, 0x00, 0x00), 1],
    ['ends in state 16776960', coded(0x01, 0x00, 0x00, 0x00), 1],
    ['bytes that are not used', coded(0x7f, 0x01, 0x00, 0x00, 0x00), 1],
    ['bytes that are not used', code, 100],
    ['ends too early', code, 129],
  ])('is refused: %s', (problem, malformed, byteCount) => {
    const decodeIt = (): Uint8Array => decode(malformed, byteCount)
    expect(decodeIt).toThrow(MalformedMessageError)
    expect(decodeIt).toThrow(problem)
  })

  test('is refused for its frequencies and state before a byte is read', () => {
    expect(() => checkRansCode(changed(17, code[17]! + 1))).toThrow('frequencies')
    expect(() => checkRansCode(changed(-4, 0xff))).toThrow('out of range')
    expect(() => checkRansCode(changed(30, 1, 2, 3))).not.toThrow()
  })

  test('is refused when it was cut or extended anywhere', () => {
    for (let at = 0; at < code.length; at++) {
      const cuts = [code.subarray(0, at), Uint8Array.of(...code.subarray(0, at), ...code.subarray(at + 1))]
      const extended = Uint8Array.of(...code.subarray(0, at), 0x55, ...code.subarray(at))
      for (const other of [...cuts, extended, Uint8Array.of(...code, at)]) {
        expect(() => decode(other, bytes.length)).toThrow(MalformedMessageError)
      }
    }
  })

  test('is the one code of the bytes that it gives, or is refused, whatever its own', () => {
    const patches = fc.array(fc.tuple(fc.nat(code.length - 1), fc.nat(255)), { maxLength: 4 })
    const fromCode = fc
      .tuple(patches, fc.nat(code.length), fc.uint8Array({ maxLength: 3 }))
      .map(([some, cut, more]) => {
        const copy = code.slice()
        for (const [at, value] of some) copy[at] = value
        return Uint8Array.of(...copy.subarray(0, code.length - (cut < 3 ? cut : 0)), ...more)
      })
    // Frequencies that pass, so that what follows them is reached; few bytes, so that some codes pass as well.
    const fromHeader = fc
      .tuple(fc.constantFrom(coded(), code.subarray(0, 18)), fc.uint8Array({ maxLength: 8 }))
      .map(([header, rest]) => Uint8Array.of(...header, ...rest))
    const anyCode = fc.oneof(fc.uint8Array({ maxLength: 60 }), fromCode, fromHeader)
    fc.assert(
      fc.property(anyCode, fc.oneof(fc.constant(128), fc.integer({ min: 1, max: 40 })), (other, byteCount) => {
        let read = new Uint8Array()
        try {
          read = Uint8Array.from(decode(other, byteCount))
        } catch (error) {
          if (!(error instanceof MalformedMessageError)) throw error
          return
        }
        expect(read).toHaveLength(byteCount)
        const frequencies = Uint16Array.from({ length: 9 }, (_, i) => other[2 * i]! * 256 + other[2 * i + 1]!)
        expect(dullCode(read, frequencies)).toEqual([...other])
      }),
      { numRuns: 2000 },
    )
  })
})
