import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BloomFilter } from '../../../src/core/filter/bloom-filter.ts'
import { CountingBloomFilter } from '../../../src/core/filter/counting-bloom-filter.ts'
import { MalformedFilterError, decodeFilter, encodeFilter } from '../../../src/core/filter/filter-format.ts'
import { FILTER_KINDS, loadFilter } from '../../../src/core/filter/filter-kinds.ts'
import { KeyHashList } from '../../../src/core/filter/key-hash-list.ts'
import { KeyHasher } from '../../../src/core/filter/key-hasher.ts'
import { murmur3 } from '../../../src/core/filter/murmur3.ts'
import { keyOf } from './test-keys.ts'

const hasher = KeyHasher.murmur3()
const { hashing } = hasher

function keys(count: number): KeyHashList {
  const list = new KeyHashList(count)
  for (let n = 0; n < count; n++) list.push(hasher.hashText(`key ${n}`))
  return list
}

/** With the checksum that such bytes have. */
function sealed(bytes: Uint8Array): Uint8Array {
  if (bytes.length < 8) return bytes
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const words = new Uint32Array(4)
  murmur3(view, 0, bytes.length - 8, words)
  view.setUint32(bytes.length - 8, words[0]!)
  view.setUint32(bytes.length - 4, words[1]!)
  return bytes
}

function changed(bytes: Uint8Array, change: (view: DataView) => void): Uint8Array {
  const copy = bytes.slice()
  change(new DataView(copy.buffer))
  return sealed(copy)
}

const bloom = FILTER_KINDS[0]!.build(keys(20), 0.1, hashing).serialise()

describe('what a reader does not fully understand it refuses by name', () => {
  test.each<[string, (view: DataView) => void, string]>([
    ['another magic', (view) => view.setUint8(1, 0x58), 'it does not begin with SCF'],
    ['a later version', (view) => view.setUint8(3, 2), 'unknown version 2'],
    ['a kind it has not heard of', (view) => view.setUint8(4, 9), 'unknown kind 9'],
    ['a hash scheme it has not heard of', (view) => view.setUint8(5, 4), 'unknown hash scheme 4'],
    ['key rules it has not heard of', (view) => view.setUint8(6, 2), 'unknown cache-key rules 2'],
    ['flags', (view) => view.setUint8(7, 1), 'unknown flags 1'],
    ['a keyed scheme without a key', (view) => view.setUint8(5, 3), 'no key named for a keyed hash scheme'],
    ['a key for a scheme without', (view) => view.setUint32(8, 7), 'key 7 for a hash scheme without keys'],
    ['no bits', (view) => view.setUint32(16, 0), 'bit count 0 out of range'],
    ['too many bits', (view) => view.setUint32(16, 2 ** 31 + 1), 'bit count 2147483649 out of range'],
    ['no probes', (view) => view.setUint32(20, 0), 'probe count 0 out of range'],
    ['too many probes', (view) => view.setUint32(20, 17), 'probe count 17 out of range'],
    ['another size than its body has', (view) => view.setUint32(16, 2 ** 31), 'a body of 13 bytes for 2147483648 bits'],
    ['a parameter where there is none', (view) => view.setUint32(28, 1), 'a fourth parameter'],
  ])('%s', (_, change, problem) => {
    expect(() => loadFilter(changed(bloom, change))).toThrow(MalformedFilterError)
    expect(() => loadFilter(changed(bloom, change))).toThrow(problem)
  })

  test('bytes that were changed on the way, cut off or added to', () => {
    expect(() => loadFilter(bloom.subarray(0, -1))).toThrow('where its head says')
    expect(() => loadFilter(bloom.subarray(0, 20))).toThrow('20 bytes are too few')
    expect(() => loadFilter(new Uint8Array(0))).toThrow('0 bytes are too few')
    expect(() => loadFilter(new Uint8Array([...bloom, 0]))).toThrow('where its head says')
    for (const at of [12, 40, bloom.length - 1]) {
      const flipped = bloom.slice()
      flipped[at]! ^= 4
      expect(() => loadFilter(flipped)).toThrow('its checksum is wrong')
    }
  })

  // jasondavies/bloomfilter.js#9
  test('bits behind the end', () => {
    const filter = new BloomFilter({ ...hashing, bitCount: 100, probeCount: 3 })
    filter.add(keyOf('a'))
    const bytes = filter.serialise()
    expect(() => loadFilter(changed(bytes, (view) => view.setUint8(36 + 12, 0x10)))).toThrow(
      'bits behind its end are set',
    )
  })

  // apache/datasketches-rust#187, apache/tsfile#360
  test.each<[string, (view: DataView) => void, RegExp]>([
    ['no entries where bits are set', (view) => view.setUint32(12, 0), /\d+ set bits of 0 entries/],
    ['no set bits where bits are set', (view) => view.setUint32(24, 0), /0 set bits of 20 entries/],
    ['more set bits than there are', (view) => view.setUint32(24, 2 ** 32 - 1), /4294967295 set bits of 20 entries/],
    ['a set bit more', (view) => view.setUint32(24, view.getUint32(24) + 1), /\d+ set bits, where its head says \d+/],
    ['more bits than its entries can set', (view) => view.setUint32(12, 2), /set bits of 2 entries/],
  ])('counts that are not true: %s', (_, change, problem) => {
    expect(() => loadFilter(changed(bloom, change))).toThrow(problem)
  })
})

test('an empty filter of any kind is read, and claims nothing', () => {
  for (const kind of FILTER_KINDS) {
    const filter = loadFilter(kind.build(new KeyHashList(), 0.01, hashing).serialise())
    expect(filter.entryCount).toBe(0)
    for (let n = 0; n < 100; n++) expect(filter.mayContain(keyOf(`${n}`))).toBe(false)
  }
})

// jasondavies/bloomfilter.js#9
describe.each([1, 31, 32, 33, 63, 64, 65, 100, 127, 6001])('a filter of %d bits', (bitCount) => {
  test.each([1, 3, 4, 7])('and %d probes comes back with its m and k, and claims every key', (probeCount) => {
    for (const scheme of [hasher, KeyHasher.md5(7)]) {
      const geometry = { ...scheme.hashing, bitCount, probeCount }
      for (const filter of [new BloomFilter(geometry), new CountingBloomFilter(geometry)]) {
        for (let n = 0; n < 50; n++) filter.add(scheme.hashText(`key ${n}`))
        const back = loadFilter(filter.serialise())
        expect(back).toMatchObject({ geometry, entryCount: 50 })
        for (let n = 0; n < 50; n++) expect(back.mayContain(scheme.hashText(`key ${n}`))).toBe(true)
        expect(back.serialise()).toEqual(filter.serialise())
      }
    }
  })
})

describe('whatever the bytes', () => {
  /** A named error, or a filter in which everything works. */
  function readOrRefused(bytes: Uint8Array): 'read' | 'refused' {
    let filter
    try {
      filter = loadFilter(bytes)
    } catch (error) {
      if (!(error instanceof MalformedFilterError)) throw error
      return 'refused'
    }
    for (let n = 0; n < 20; n++) expect(typeof filter.mayContain(keyOf(`${n}`))).toBe('boolean')
    expect(filter.expectedFalseHitRate).toBeGreaterThanOrEqual(0)
    expect(filter.estimatedFalseHitRate).toBeLessThanOrEqual(1)
    expect(filter.estimatedEntryCount).toBeGreaterThanOrEqual(0)
    expect(filter.serialise()).toEqual(Uint8Array.from(bytes))
    return 'read'
  }

  test('random ones are refused', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => readOrRefused(bytes) === 'refused'))
  })

  test('changed ones, sealed again, are refused by name or give a filter that works', () => {
    const whole = FILTER_KINDS.map((kind) => kind.build(keys(30), 0.05, hashing).serialise())
    const edge = fc.constantFrom(0, 1, 2, 31, 32, 127, 128, 2 ** 16, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1)
    const change = fc.oneof(
      fc.record({ at: fc.constantFrom(12, 16, 20, 24, 28, 32), value: edge, wide: fc.constant(true) }),
      fc.record({ at: fc.nat(400), value: fc.nat(255), wide: fc.constant(false) }),
    )
    const seen = { read: 0, refused: 0 }
    fc.assert(
      fc.property(
        fc.nat(7),
        fc.array(change, { minLength: 1, maxLength: 3 }),
        fc.integer({ min: -9, max: 9 }),
        (kind, changes, grow) => {
          const copy = new Uint8Array(whole[kind]!.length + (changes.length === 3 ? grow : 0))
          copy.set(whole[kind]!.subarray(0, copy.length))
          const view = new DataView(copy.buffer)
          for (const { at, value, wide } of changes) {
            if (wide) view.setUint32(at, value)
            else view.setUint8(4 + (at % (copy.length - 12)), value)
          }
          seen[readOrRefused(sealed(copy))]++
        },
      ),
      { numRuns: 4000 },
    )
    expect(Math.min(seen.read, seen.refused)).toBeGreaterThan(100)
  })
})

test('numbers that do not fit are refused when writing', () => {
  const record = { ...decodeFilter(bloom), parameters: [2 ** 32, 0, 0, 0] as const }
  expect(() => encodeFilter(record)).toThrow(RangeError)
})
