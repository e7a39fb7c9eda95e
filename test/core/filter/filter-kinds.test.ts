import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BlockedBloomFilter } from '../../../src/core/filter/blocked-bloom-filter.ts'
import { BloomFilter } from '../../../src/core/filter/bloom-filter.ts'
import { CountingBloomFilter } from '../../../src/core/filter/counting-bloom-filter.ts'
import {
  MalformedFilterError,
  decodeFilter,
  encodeFilter,
  encodedBytes,
  type FilterRecord,
} from '../../../src/core/filter/filter-format.ts'
import { FILTER_KINDS, loadFilter } from '../../../src/core/filter/filter-kinds.ts'
import { KeyHashList } from '../../../src/core/filter/key-hash-list.ts'
import { KeyHasher } from '../../../src/core/filter/key-hasher.ts'
import type { Filter } from '../../../src/core/filter/membership-filter.ts'
import { ScalableBloomFilter } from '../../../src/core/filter/scalable-bloom-filter.ts'
import type { FilterVectors } from '../../python/filter-vectors.ts'

const hasher = KeyHasher.murmur3()
const { hashing } = hasher
const MOST = 2 ** 32 - 1

type Parameters = FilterRecord['parameters']

function keys(count: number): KeyHashList {
  const list = new KeyHashList(count)
  for (let n = 0; n < count; n++) list.push(hasher.hashText(`key ${n}`))
  return list
}

function built(name: string, count = 30, rate = 0.05): FilterRecord {
  const kind = FILTER_KINDS.find((each) => each.name === name)!
  return decodeFilter(kind.build(keys(count), rate, hashing).serialise())
}

/** Another value for the parameter of that index. */
function p(index: number, value: number): (record: FilterRecord) => Partial<FilterRecord> {
  return ({ parameters }) => ({ parameters: parameters.map((old, i) => (i === index ? value : old)) as never })
}

function sized(bits: number, ...parameters: Parameters): () => Partial<FilterRecord> {
  return () => ({ parameters, body: new Uint8Array(Math.ceil(bits / 8)) })
}

function entries(entryCount: number): () => Partial<FilterRecord> {
  return () => ({ entryCount })
}

function joined(...parts: Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]))
}

function slicesOf(record: FilterRecord): Uint8Array[] {
  const slices: Uint8Array[] = []
  for (let at = 0; at < record.body.length; at += slices.at(-1)!.length) {
    slices.push(record.body.subarray(at, at + encodedBytes(record.body.subarray(at))!))
  }
  return slices
}

/** One slice of a scalable filter written anew. */
function slice(index: number, change: (inner: FilterRecord) => Partial<FilterRecord>) {
  return (record: FilterRecord): Partial<FilterRecord> => {
    const slices = slicesOf(record)
    const inner = decodeFilter(slices[index]!)
    slices[index] = encodeFilter({ ...inner, ...change(inner) })
    return { body: joined(...slices) }
  }
}

const DO_NOT_FOLLOW = 'slices that do not follow from its parameters'
const scalable = new ScalableBloomFilter(5, 0.05, hashing)
for (let n = 0; n < 30; n++) scalable.add(hasher.hashText(`key ${n}`))

// Each checksum is right, and each body as long as the head says.
describe.each<[string, FilterRecord, [string, (record: FilterRecord) => Partial<FilterRecord>, string][]]>([
  [
    'counting-bloom',
    built('counting-bloom'),
    [
      ['no counters', sized(0, 0, 3, 0, 0), 'bit count 0 out of range'],
      ['a wrong number of counters that are not 0', p(2, 1), 'counters are not 0, where its head says 1'],
      ['fewer entries than its counters tell', entries(7), 'for 7 entries'],
      ['more entries than its counters tell', entries(MOST), `for ${MOST} entries`],
      ['a fourth parameter', p(3, 1), 'a fourth parameter'],
    ],
  ],
  [
    'blocked-bloom',
    built('blocked-bloom'),
    [
      ['no blocks', sized(0, 0, 3, 0, 0), 'block count 0 out of range'],
      ['too many blocks', p(0, 2 ** 22 + 1), 'block count 4194305 out of range'],
      ['no probes', p(1, 0), 'probe count 0 out of range'],
      ['too many probes', p(1, 17), 'probe count 17 out of range'],
      ['set bits of no entries', entries(0), 'set bits of 0 entries'],
      ['set bits that are none', p(2, 0), '0 set bits of 30 entries'],
      ['more set bits than its entries can set', p(2, MOST), `${MOST} set bits of 30 entries`],
      ['a wrong number of set bits', p(2, 31), 'set bits, where its head says 31'],
      ['a fourth parameter', p(3, 1), 'a fourth parameter'],
    ],
  ],
  [
    'scalable-bloom',
    decodeFilter(scalable.serialise()),
    [
      ['no slices', sized(0, 0, 5, 0x3d4ccccd, 0), '0 slices'],
      ['too many slices', p(0, 33), '33 slices'],
      ['more slices than there are', p(0, 4), 'slice 3 ends too early'],
      ['fewer slices than there are', p(0, 2), 'bytes behind the last slice'],
      ['a first slice for no keys', p(1, 0), 'a first slice for 0 keys'],
      ['a first slice for too many keys', p(1, 2 ** 31 + 1), 'a first slice for 2147483649 keys'],
      ['a first slice for other keys', p(1, 6), DO_NOT_FOLLOW],
      ['a first slice larger than its bytes', p(1, 2 ** 26), DO_NOT_FOLLOW],
      ['a rate of 0', p(2, 0), 'a false hit rate of 0'],
      ['a rate of 1', p(2, 0x3f800000), 'a false hit rate of 1'],
      ['a rate below 0', p(2, 0xbd4ccccd), 'a false hit rate of -0.05'],
      ['a rate that is no number', p(2, 0x7fc00000), 'a false hit rate of NaN'],
      ['a rate that leads to no slice', p(2, 1), DO_NOT_FOLLOW],
      ['a fourth parameter', p(3, 1), 'a fourth parameter'],
      ['MD5', () => ({ hashing: { ...hashing, hashScheme: 2 } }), 'a scalable Bloom filter has no MD5 form'],
      ['other entries than its slices have', entries(31), '30 entries in slices, where its head says 31'],
      ['a slice of another kind', slice(1, () => built('counting-bloom')), 'slice 1 is no Bloom filter'],
      ['a slice hashed in another way', slice(2, () => ({ hashing: { ...hashing, keyRules: 1 } })), DO_NOT_FOLLOW],
      ['a slice that is not full before another', slice(0, entries(4)), DO_NOT_FOLLOW],
      ['a slice that is more than full', slice(2, entries(21)), DO_NOT_FOLLOW],
      ['a slice of another size', slice(2, () => ({ ...built('bloom', 15), entryCount: 15 })), DO_NOT_FOLLOW],
      ['a slice that is cut', ({ body }) => ({ body: body.subarray(0, -1) }), 'slice 2 ends too early'],
      [
        'a byte behind the slices',
        ({ body }) => ({ body: joined(body, Uint8Array.of(0)) }),
        'bytes behind the last slice',
      ],
    ],
  ],
  [
    'cuckoo',
    built('cuckoo'),
    [
      ['no buckets', () => ({ ...sized(0, 0, 8, 1, 0)(), entryCount: 0 }), 'bucket count 0 out of range'],
      ['too many buckets', p(0, 2 ** 30), 'bucket count 1073741824 out of range'],
      ['fingerprints that are too short', sized(3 * 44, 11, 3, 1, 0), 'fingerprints of 3 bits'],
      ['fingerprints that are too long', sized(33 * 44, 11, 33, 1, 0), 'fingerprints of 33 bits'],
      ['a state that chooses nothing', p(2, 0), 'no state that chooses victims'],
      ['fewer entries than slots in use', entries(0), '30 slots in use for 0 entries'],
      ['more entries than slots in use', entries(31), '30 slots in use for 31 entries'],
      ['a fourth parameter', p(3, 1), 'a fourth parameter'],
    ],
  ],
  [
    'xor',
    built('xor'),
    [
      ['fingerprints of no bits', sized(0, 0, 24, 0, 0), 'fingerprints of 0 bits'],
      ['fingerprints that are too long', sized(33 * 72, 33, 24, 0, 0), 'fingerprints of 33 bits'],
      ['too many slots', p(1, 2 ** 30), '3221225472 slots of 5 bits'],
      ['slots of no entries', entries(0), 'slots for 0 entries'],
      ['entries without slots', sized(0, 5, 0, 0, 0), '0 slots for 30 entries'],
      ['more entries than slots', entries(MOST), `slots for ${MOST} entries`],
      ['a fourth parameter', p(3, 1), 'a fourth parameter'],
    ],
  ],
  [
    'binary-fuse',
    built('binary-fuse'),
    [
      ['fingerprints of no bits', sized(0, 0, 16, 4, 0), 'fingerprints of 0 bits'],
      ['fingerprints that are too long', sized(33 * 64, 33, 16, 4, 0), 'fingerprints of 33 bits'],
      ['segments without slots', sized(0, 5, 0, 4, 0), 'segments of 0 slots'],
      ['segments that are no power of two', sized(5 * 48, 5, 12, 4, 0), 'segments of 12 slots'],
      ['segments that are too long', p(1, 2 ** 19), 'segments of 524288 slots'],
      ['too few segments', sized(5 * 64, 5, 32, 2, 0), '2 segments'],
      ['too many segments', p(2, MOST), 'slots of 5 bits'],
      ['slots of no entries', entries(0), 'slots for 0 entries'],
      ['entries without slots', sized(0, 5, 16, 0, 0), '0 slots for 30 entries'],
      ['more entries than slots', entries(MOST), `slots for ${MOST} entries`],
    ],
  ],
  [
    'ribbon',
    built('ribbon'),
    [
      ['results of no bits', sized(0, 0, 160, 0, 0), 'results of 0 bits'],
      ['results that are too long', sized(33 * 160, 33, 160, 0, 0), 'results of 33 bits'],
      ['slots that fill no blocks', sized(5 * 168, 5, 168, 0, 0), '168 slots'],
      ['fewer slots than coefficients', sized(5 * 128, 5, 128, 0, 0), '128 slots'],
      ['too many slots', p(1, 2 ** 31 + 32), '2147483680 slots of 5 bits'],
      ['slots of no entries', entries(0), '160 slots for 0 entries'],
      ['entries without slots', sized(0, 5, 0, 0, 0), '0 slots for 30 entries'],
      ['more entries than slots', entries(161), '160 slots for 161 entries'],
      ['a fourth parameter', p(3, 1), 'a fourth parameter'],
    ],
  ],
])('a %s filter is refused for', (_, record, cases) => {
  test('nothing, as it is', () => {
    expect(loadFilter(encodeFilter(record)).entryCount).toBe(30)
  })

  test.each(cases)('%s', (_what, change, problem) => {
    const bytes = encodeFilter({ ...record, ...change(record) })
    expect(() => loadFilter(bytes)).toThrow(MalformedFilterError)
    expect(() => loadFilter(bytes)).toThrow(problem)
  })
})

/** Everything but changing it; MD5 of as many probes as there can be. */
function use(filter: Filter): void {
  const asked = filter.hashing.hashScheme === 2 ? KeyHasher.md5(16) : hasher
  for (let n = 0; n < 20; n++) expect(typeof filter.mayContain(asked.hashText(`key ${n}`))).toBe('boolean')
  for (const rate of [filter.expectedFalseHitRate, filter.estimatedFalseHitRate]) {
    expect(rate).toBeGreaterThanOrEqual(0)
    expect(rate).toBeLessThanOrEqual(1)
  }
  expect(filter.estimatedEntryCount).toBeGreaterThanOrEqual(0)
  expect(filter.sizeInBits).toBeGreaterThanOrEqual(0)
}

/** Bits of the body of a filter of these parameters, by docs/filters.md. */
function bitsOf(kindCode: number, [a, b, c]: Parameters): number {
  return [0, a, 4 * a, 512 * a, 0, 4 * a * b, 3 * a * b, a * b * c, a * b][kindCode]!
}

test('parameters of any size over a body that fits them are refused by name or give a filter that works', () => {
  const edge = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.constantFrom(64, 96, 128, 160, 192, 256, 2 ** 31, MOST))
  const fill = fc.constantFrom<(at: number) => number>(
    () => 0,
    () => 255,
    (at) => (at * 167) & 255,
  )
  const seen = new Map<string, number>()
  fc.assert(
    fc.property(
      fc.constantFrom(1, 2, 3, 5, 6, 7, 8),
      fc.tuple(edge, edge, edge, fc.constantFrom(0, 0, 0, 1, MOST)),
      fc.constantFrom(1, 2, 3),
      edge,
      fill,
      fc.boolean(),
      (kindCode, drawn, hashScheme, entryCount, filling, isTrue) => {
        const bits = bitsOf(kindCode, drawn)
        const body = Uint8Array.from({ length: bits > 2 ** 16 ? 9 : Math.ceil(bits / 8) }, (_, at) => filling(at))
        if (bits % 8 !== 0 && body.length > 0) body[body.length - 1]! &= (1 << (bits % 8)) - 1
        const ones = body.reduce((sum, byte) => sum + byte.toString(2).replaceAll('0', '').length, 0)
        const parameters: Parameters =
          isTrue && (kindCode === 1 || kindCode === 3) ? [drawn[0], drawn[1], ones, drawn[3]] : drawn
        const record = { kindCode, hashing: { hashScheme, keyId: hashScheme === 3 ? 1 : 0, keyRules: 0 } }
        const bytes = encodeFilter({ ...record, entryCount, parameters, body })
        let filter
        try {
          filter = loadFilter(bytes)
        } catch (error) {
          if (!(error instanceof MalformedFilterError)) throw error
          seen.set('refused', (seen.get('refused') ?? 0) + 1)
          return
        }
        use(filter)
        expect(filter.serialise()).toEqual(bytes)
        seen.set(filter.constructor.name, (seen.get(filter.constructor.name) ?? 0) + 1)
      },
    ),
    { numRuns: 6000 },
  )
  expect(seen.get('refused')).toBeGreaterThan(1000)
  expect(seen.get('BloomFilter')).toBeGreaterThan(20)
  expect(seen.get('RibbonFilter')).toBeGreaterThan(5)
})

test('slices whose heads, entries or bits were changed, sealed again, never make another error', () => {
  const whole = decodeFilter(scalable.serialise())
  const change = fc.record({
    slice: fc.nat(2),
    parameter: fc.nat(2),
    value: fc.constantFrom(0, 1, 2, 16, 31, 64, MOST),
    entryCount: fc.constantFrom(0, 5, 10, 15, 20, MOST),
  })
  fc.assert(
    fc.property(change, ({ slice: index, parameter, value, entryCount }) => {
      const change = slice(index, (inner) => ({ ...p(parameter, value)(inner), entryCount }))
      try {
        use(loadFilter(encodeFilter({ ...whole, ...change(whole) })))
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedFilterError)
      }
    }),
  )
})

// Whoever believes counts loops over them, or makes room for them.
test('a filter with the most entries there can be tells its rates at once', () => {
  for (const probeCount of [1, 16]) {
    const filters = [
      new BloomFilter({ ...hashing, bitCount: 64, probeCount }),
      new BlockedBloomFilter({ blockCount: 1, probeCount }, hashing),
    ]
    for (const filter of filters) {
      filter.add(hasher.hashText('a'))
      const most = loadFilter(encodeFilter({ ...decodeFilter(filter.serialise()), entryCount: MOST }))
      use(most)
      expect(most.expectedFalseHitRate).toBeCloseTo(1)
    }
  }
})

describe('a reader takes three times the bytes and 16 KiB at most', () => {
  function taken(bytes: Uint8Array): number {
    const before = process.memoryUsage().arrayBuffers
    try {
      loadFilter(bytes)
    } catch (error) {
      expect(error).toBeInstanceOf(MalformedFilterError)
    }
    return process.memoryUsage().arrayBuffers - before
  }
  const bound = (bytes: Uint8Array): number => 3 * bytes.length + 2 ** 14

  test.each(FILTER_KINDS.map(({ name }) => name))('for a whole %s filter', (name) => {
    const bytes = encodeFilter(built(name, 20_000, 0.01))
    expect(taken(bytes)).toBeLessThan(bound(bytes))
  })

  // What such a head announces is a hundred times as much and more.
  test.each(FILTER_KINDS.map(({ name }) => name))('for a %s filter whose head says far more than there is', (name) => {
    const record = built(name)
    for (const value of [2 ** 22, 2 ** 26, 2 ** 31, MOST]) {
      for (const index of [0, 1, 2, 3]) {
        const bytes = encodeFilter({ ...record, ...p(index, value)(record) })
        expect(taken(bytes), `parameter ${index} = ${value}`).toBeLessThan(bound(bytes))
      }
      const bytes = encodeFilter({ ...record, entryCount: value })
      expect(taken(bytes), `${value} entries`).toBeLessThan(bound(bytes))
    }
  })

  test('for a cut one, whose length its head gives', () => {
    const bytes = encodeFilter(built('bloom'))
    new DataView(bytes.buffer).setUint32(32, 2 ** 31)
    expect(taken(bytes)).toBeLessThan(bound(bytes))
  })
})

describe('a filter of one bit', () => {
  // jasondavies/bloomfilter.js#9
  test.each([1, 3, 16])('and %d probes claims all or nothing, and knows it', (probeCount) => {
    const geometry = { ...hashing, bitCount: 1, probeCount }
    for (const filter of [new BloomFilter(geometry), new CountingBloomFilter(geometry)]) {
      const empty = loadFilter(filter.serialise())
      use(empty)
      expect([empty.expectedFalseHitRate, empty.estimatedEntryCount]).toEqual([0, 0])
      expect(empty.mayContain(hasher.hashText('a'))).toBe(false)
      filter.add(hasher.hashText('a'))
      const full = loadFilter(filter.serialise())
      use(full)
      expect([full.expectedFalseHitRate, full.estimatedEntryCount]).toEqual([1, Infinity])
      expect(full.mayContain(hasher.hashText('b'))).toBe(true)
    }
  })

  test('is itself after an intersection with itself', () => {
    const filter = new BloomFilter({ ...hashing, bitCount: 1, probeCount: 3 })
    filter.add(hasher.hashText('a'))
    const bytes = filter.serialise()
    filter.intersectWith(loadFilter(bytes) as BloomFilter)
    expect(filter.serialise()).toEqual(bytes)
  })
})

test('every stored vector is read, answers as stored and is written as it was', () => {
  const vectors = JSON.parse(readFileSync('test/vectors/filters.json', 'utf8')) as FilterVectors
  const asked = [...vectors.members, ...vectors.strangers].map((key) => Buffer.from(key, 'hex'))
  for (const { name, secret, filter: base64, head, entries: entryCount, answers } of vectors.filters) {
    const bytes = Buffer.from(base64, 'base64')
    const filter = loadFilter(bytes)
    const { hashScheme, keyId, keyRules } = filter.hashing
    const scheme =
      hashScheme === 3
        ? KeyHasher.siphash(Buffer.from(secret!, 'hex'), keyId)
        : hashScheme === 2
          ? KeyHasher.md5(16)
          : hasher
    const said = asked.map((key) => (filter.mayContain(scheme.hashBytes(key)) ? '1' : '0')).join('')
    expect([said, filter.entryCount], name).toEqual([answers, entryCount])
    expect([decodeFilter(bytes).kindCode, hashScheme, keyRules, keyId], name).toEqual(head.slice(0, 4))
    expect(Buffer.from(filter.serialise()).equals(bytes), name).toBe(true)
    // No false misses.
    if (entryCount > 0) expect(answers.slice(0, vectors.members.length), name).not.toContain('0')
    expect(bytes.length, name).toBeLessThan(4096)
  }
  expect(vectors.filters.length).toBeGreaterThan(90)
})
