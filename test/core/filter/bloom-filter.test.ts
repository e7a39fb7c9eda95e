import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BitArray } from '../../../src/core/filter/bit-array.ts'
import { BloomFilter } from '../../../src/core/filter/bloom-filter.ts'
import { MalformedFilterError, decodeFilter, type FilterRecord } from '../../../src/core/filter/filter-format.ts'
import type { FilterGeometry } from '../../../src/core/filter/filter-geometry.ts'
import { exactFalseHitRates } from '../../../src/core/filter/filter-sizing.ts'
import { MD5 } from '../../../src/core/filter/hash-schemes.ts'
import { KeyHasher } from '../../../src/core/filter/key-hasher.ts'
import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { probePositions } from '../../../src/core/filter/probing.ts'
import { hashing } from './hit-rate-cells.ts'
import { fmix32, keyStream, take } from './seeded-keys.ts'
import { bitsOf } from './static-filter-suite.ts'
import { RandomKeys } from './random-keys.ts'
import { keyOf } from './test-keys.ts'

const URL = 'http://www.example.com/index.html'
const md5Hashing = { hashScheme: MD5, keyId: 0, keyRules: 0 }

function filled(geometry: FilterGeometry, keys: Iterable<KeyHash>): BloomFilter {
  const filter = new BloomFilter(geometry)
  for (const key of keys) filter.add(key)
  return filter
}

function setBits(filter: BloomFilter): number[] {
  return Array.from({ length: filter.geometry.bitCount }, (_, i) => i).filter((i) => filter.bits.get(i))
}

function positionsOf(key: KeyHash, geometry: FilterGeometry): number[] {
  const out = new Uint32Array(16)
  probePositions(key, geometry, out)
  return [...out.subarray(0, geometry.probeCount)]
}

/** As probing.ts has it, in integers without bounds. */
function positionsModel(key: KeyHash, { bitCount, probeCount }: FilterGeometry): number[] {
  const step = BigInt(key.h1) | 1n
  return Array.from({ length: probeCount }, (_, n) => {
    const i = BigInt(n)
    const probe = BigInt.asUintN(32, BigInt(key.h0) + i * step + (i * i * i - i) / 6n)
    const isPower = Number.isInteger(Math.log2(bitCount))
    return Number(isPower ? probe % BigInt(bitCount) : (fmix32(probe) * BigInt(bitCount)) >> 32n)
  })
}

/** MD5 of the text, of the text twice, and so on, as words; each taken modulo m. */
function md5Model(text: string, { bitCount, probeCount }: FilterGeometry): number[] {
  return Array.from({ length: probeCount }, (_, i) => {
    const digest = createHash('md5')
      .update(text.repeat(1 + Math.floor(i / 4)))
      .digest()
    return digest.readUInt32BE((i % 4) * 4) % bitCount
  })
}

describe('a Bloom filter', () => {
  test.each([64, 1000, 4096, 65_537, 2 ** 20, 2 ** 31 - 1, 2 ** 31])(
    'of %d bits probes where its description says',
    (bitCount) => {
      for (const probeCount of [1, 2, 7, 16]) {
        const geometry = { ...hashing, bitCount, probeCount }
        for (const key of take(keyStream(bitCount), 50)) {
          expect(positionsOf(key, geometry)).toEqual(positionsModel(key, geometry))
        }
      }
    },
  )

  test('claims a key exactly when all its bits are set', () => {
    const geometry = { ...hashing, bitCount: 300, probeCount: 3 }
    const filter = filled(geometry, take(keyStream(1), 60))
    const bits = bitsOf(decodeFilter(filter.serialise()).body)
    for (const key of take(keyStream(2), 2000)) {
      const all = positionsModel(key, geometry).every((position) => ((bits >> BigInt(position)) & 1n) === 1n)
      expect(filter.mayContain(key)).toBe(all)
    }
  })

  // 18 bits, 3 probes, the set {x, y, z}, and w, of which one bit is not set: the picture in every textbook.
  test('never claims a key of which one bit is not set', () => {
    const geometry = { ...hashing, bitCount: 18, probeCount: 3 }
    const filter = filled(geometry, [keyOf('x'), keyOf('y'), keyOf('z')])
    const expected = new Set(['x', 'y', 'z'].flatMap((text) => positionsModel(keyOf(text), geometry)))
    expect(setBits(filter)).toEqual([...expected].sort((a, b) => a - b))
    expect(filter.setBitCount).toBe(expected.size)
    for (let n = 0; n < 200; n++) {
      const key = keyOf(`w${n}`)
      const missing = positionsModel(key, geometry).filter((position) => !expected.has(position))
      expect(filter.mayContain(key)).toBe(missing.length === 0)
    }
  })

  test.each([64, 300, 5001])(
    'of %d bits has the bits of what was added, in any order and however often',
    (bitCount) => {
      fc.assert(
        fc.property(fc.array(fc.nat(30), { maxLength: 60 }), fc.integer({ min: 1, max: 16 }), (ns, probeCount) => {
          const geometry = { ...hashing, bitCount, probeCount }
          const filter = filled(
            geometry,
            ns.map((n) => keyOf(`${n}`)),
          )
          const model = new Set(ns.flatMap((n) => positionsModel(keyOf(`${n}`), geometry)))
          expect(setBits(filter)).toEqual([...model].sort((a, b) => a - b))
          expect([filter.setBitCount, filter.entryCount]).toEqual([model.size, ns.length])
          expect(
            filled(
              geometry,
              ns.toReversed().map((n) => keyOf(`${n}`)),
            ).serialise(),
          ).toEqual(filter.serialise())
        }),
        { numRuns: 30 },
      )
    },
  )

  test.each([
    [2048, 4],
    [2048, 11],
    [5002, 7],
    [1_000_002, 3],
  ])('of %d bits and %d probes, folded, is the one of half the bits', (bitCount, probeCount) => {
    for (const scheme of [hashing, md5Hashing]) {
      const hasher = scheme === hashing ? KeyHasher.murmur3() : KeyHasher.md5(16)
      const geometry = { ...scheme, bitCount, probeCount }
      const [whole, half] = [new BloomFilter(geometry), new BloomFilter({ ...geometry, bitCount: bitCount / 2 })]
      for (let n = 0; n < 200; n++) {
        whole.add(hasher.hashText(`${n}`))
        half.add(hasher.hashText(`${n}`))
      }
      expect(whole.foldedToHalf().serialise()).toEqual(half.serialise())
    }
  })

  test.each([1, 5001])('of %d bits is not folded', (bitCount) => {
    expect(() => new BloomFilter({ ...hashing, bitCount, probeCount: 2 }).foldedToHalf()).toThrow(RangeError)
  })

  // Its fill differs from one to the next, which the usual formula leaves out (Bose et al. 2008).
  test('of 21 bits claims strangers at the exact rate, above the usual formula', () => {
    const geometry = { ...hashing, bitCount: 21, probeCount: 4 }
    const keys = new RandomKeys(1)
    let hits = 0
    const [filters, queries, entries] = [20_000, 20, 3]
    for (let i = 0; i < filters; i++) {
      const filter = new BloomFilter(geometry)
      for (let n = 0; n < entries; n++) filter.add(keys.advance())
      for (let n = 0; n < queries; n++) if (filter.mayContain(keys.advance())) hits++
    }
    const exact = exactFalseHitRates(21, 4, entries)[entries]!
    expect(exact / filled(geometry, take(keyStream(1), entries)).expectedFalseHitRate).toBeGreaterThan(1.06)
    expect(Math.abs(hits / filters / queries / exact - 1)).toBeLessThan(0.03)
  })

  test('that is full claims everything, and says that it cannot tell how many', () => {
    const filter = filled({ ...hashing, bitCount: 8, probeCount: 4 }, take(keyStream(3), 100))
    expect([filter.estimatedEntryCount, filter.estimatedFalseHitRate]).toEqual([Infinity, 1])
    expect(filter.mayContain(keyOf('anything'))).toBe(true)
  })

  test('lies in memory of the caller, and takes bits that others have set', () => {
    const geometry = { ...hashing, bitCount: 1024, probeCount: 4 }
    const bits = new BitArray(1024, new Uint32Array(new SharedArrayBuffer(128)))
    const filter = new BloomFilter(geometry, bits)
    filter.add(keyOf('A'))
    expect(BloomFilter.ofBits(geometry, bits, 1).serialise()).toEqual(filter.serialise())
    expect(() => new BloomFilter(geometry, new BitArray(1023))).toThrow(RangeError)
    expect(() => new BloomFilter({ ...geometry, probeCount: 17 })).toThrow(RangeError)
    expect(() => new BloomFilter({ ...geometry, bitCount: 0 })).toThrow(RangeError)
  })

  test.each([
    ['bit count 0 out of range', { parameters: [0, 2, 3, 0] }],
    ['bit count 4294967295 out of range', { parameters: [2 ** 32 - 1, 2, 3, 0] }],
    ['probe count 0 out of range', { parameters: [100, 0, 4, 0] }],
    ['probe count 17 out of range', { parameters: [100, 17, 4, 0] }],
    ['a fourth parameter', { parameters: [100, 2, 4, 1] }],
    ['3 set bits of 0 entries', { parameters: [100, 2, 3, 0], entryCount: 0 }],
    ['0 set bits of 2 entries', { parameters: [100, 2, 0, 0] }],
    ['4 set bits of 1 entries', { entryCount: 1 }],
    ['4 set bits, where its head says 3', { parameters: [100, 2, 3, 0] }],
    ['a body of 12 bytes for 100 bits', { body: new Uint8Array(12) }],
    ['bits behind its end are set', { body: Uint8Array.from({ length: 13 }, (_, i) => (i === 12 ? 0x1f : 0)) }],
  ] as readonly (readonly [string, Partial<FilterRecord>])[])('is not loaded with %s', (problem, change) => {
    const record = decodeFilter(filled({ ...hashing, bitCount: 100, probeCount: 2 }, take(keyStream(4), 2)).serialise())
    expect(record.parameters).toEqual([100, 2, 4, 0])
    expect(() => BloomFilter.load({ ...record, ...change })).toThrow(MalformedFilterError)
    expect(() => BloomFilter.load({ ...record, ...change })).toThrow(problem)
  })
})

describe('a Bloom filter of MD5 hashes', () => {
  // Summary Cache: "divide the 128 bits into four 32-bit words, and take the modulus of each 32-bit word by the table size".
  test('has the positions of the paper', () => {
    const filter = new BloomFilter({ ...md5Hashing, bitCount: 524_288, probeCount: 4 })
    filter.add(KeyHasher.md5().hashText(URL))
    expect(setBits(filter)).toEqual([331_541, 411_439, 101_515, 65_079].sort((a, b) => a - b))
    expect(positionsOf(KeyHasher.md5().hashText(URL), filter.geometry)).toEqual([331_541, 411_439, 101_515, 65_079])
  })

  // "more bits can be computed by taking the MD5 signature of the URL concatenated with itself"
  test.each([1, 4, 5, 8, 9, 16])('takes %d probes from MD5 of the URL, of the URL twice, and so on', (probeCount) => {
    for (const bitCount of [524_288, 1_000_003]) {
      const geometry = { ...md5Hashing, bitCount, probeCount }
      for (const text of [URL, '', 'a', 'x'.repeat(200)]) {
        expect(positionsOf(KeyHasher.md5(16).hashText(text), geometry)).toEqual(md5Model(text, geometry))
        const filter = filled(geometry, [KeyHasher.md5(probeCount).hashText(text)])
        expect(filter.mayContain(KeyHasher.md5(probeCount).hashText(text))).toBe(true)
        expect(filter.mayContain(KeyHasher.md5(probeCount).hashText(`${text}?`))).toBe(false)
      }
    }
  })

  test('refuses a hash that was made for fewer probes', () => {
    const filter = new BloomFilter({ ...md5Hashing, bitCount: 1024, probeCount: 5 })
    expect(() => filter.add(KeyHasher.md5(4).hashText(URL))).toThrow(RangeError)
    expect(filter.setBitCount).toBe(0)
    filter.add(KeyHasher.md5(5).hashText(URL))
    expect(() => filter.mayContain(KeyHasher.md5(4).hashText(URL))).toThrow(RangeError)
  })
})
