import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BlockedBloomFilter } from '../../../src/core/filter/blocked-bloom-filter.ts'
import { BloomFilter } from '../../../src/core/filter/bloom-filter.ts'
import { CountingBloomFilter } from '../../../src/core/filter/counting-bloom-filter.ts'
import { MalformedFilterError, decodeFilter, encodeFilter } from '../../../src/core/filter/filter-format.ts'
import { FILTER_KINDS, loadFilter } from '../../../src/core/filter/filter-kinds.ts'
import { KeyHasher } from '../../../src/core/filter/key-hasher.ts'
import type { Filter } from '../../../src/core/filter/membership-filter.ts'
import { MOST, built, hasher, hashing, p, scalableRecord, slice, type Parameters } from './filter-records.ts'

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

/** Undefined: refused. */
function readOrRefused(bytes: Uint8Array): Filter | undefined {
  let filter
  try {
    filter = loadFilter(bytes)
  } catch (error) {
    if (!(error instanceof MalformedFilterError)) throw error
    return undefined
  }
  use(filter)
  expect(filter.serialise()).toEqual(bytes)
  return filter
}

/** Bits of the body of a filter of these parameters, by docs/filters.md. */
function bitsOf(kindCode: number, [a, b, c]: Parameters): number {
  return [0, a, 4 * a, 512 * a, 0, 4 * a * b, 3 * a * b, a * b * c, a * b][kindCode]!
}

/** The counts that are true of such a body, where every slot of a cuckoo filter is filled alike: entries and third parameter. */
function countsOf(kindCode: number, [a, b, c]: Parameters, body: Uint8Array): [entryCount: number, third: number] {
  const counters = [...body].flatMap((byte) => [byte & 15, byte >> 4])
  const bits = counters.map((counter) => [0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4][counter]!)
  const sum = (counts: number[]): number => counts.reduce((total, count) => total + count, 0)
  switch (kindCode) {
    case 2:
      return [sum(counters), counters.filter((counter) => counter !== 0).length]
    case 5:
      return [body[0] === 0 ? 0 : 4 * a, c]
    case 6:
      return [3 * b, c]
    case 7:
      return [b * c, c]
    case 8:
      return [b, c]
    default:
      return [sum(bits), sum(bits)]
  }
}

test('parameters of any size over a body that fits them are refused by name or give a filter that works', () => {
  const edge = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.constantFrom(4, 16, 32, 64, 160, 192, 256, 2 ** 31, MOST))
  const fill = fc.constantFrom<(at: number) => number>(
    () => 0,
    () => 255,
    (at) => (at * 167) & 255,
  )
  const seen = new Map<string, number>()
  const count = (what: string): Map<string, number> => seen.set(what, (seen.get(what) ?? 0) + 1)
  fc.assert(
    fc.property(
      fc.constantFrom(1, 2, 3, 5, 6, 7, 8),
      fc.tuple(edge, edge, edge, fc.constantFrom(0, 0, 0, 1, MOST)),
      fc.constantFrom(1, 2, 3),
      edge,
      fill,
      fc.boolean(),
      (kindCode, drawn, hashScheme, drawnEntries, filling, isTrue) => {
        const bits = bitsOf(kindCode, drawn)
        const body = Uint8Array.from({ length: bits > 2 ** 15 ? 9 : Math.ceil(bits / 8) }, (_, at) => filling(at))
        if (bits % 8 !== 0 && body.length > 0) body[body.length - 1]! &= (1 << (bits % 8)) - 1
        const [trueEntries, third] = countsOf(kindCode, drawn, body)
        const isWritable = isTrue && trueEntries <= MOST
        const bytes = encodeFilter({
          kindCode,
          hashing: { hashScheme, keyId: hashScheme === 3 ? 1 : 0, keyRules: 0 },
          entryCount: isWritable ? trueEntries : drawnEntries,
          parameters: isWritable ? [drawn[0], drawn[1], third, drawn[3]] : drawn,
          body,
        })
        const filter = readOrRefused(bytes)
        count(filter?.constructor.name ?? 'refused')
      },
    ),
    { numRuns: 8000 },
  )
  expect(seen.size).toBe(8)
  for (const [what, times] of seen) expect(times, what).toBeGreaterThan(10)
})

test('slices whose heads, entries or bits were changed, sealed again, never make another error', () => {
  const whole = scalableRecord()
  const change = fc.record({
    slice: fc.nat(2),
    parameter: fc.nat(2),
    value: fc.constantFrom(0, 1, 2, 16, 31, 64, MOST),
    entryCount: fc.constantFrom(0, 5, 10, 15, 20, MOST),
  })
  fc.assert(
    fc.property(change, ({ slice: index, parameter, value, entryCount }) => {
      const changed = slice(index, (inner) => ({ ...p(parameter, value)(inner), entryCount }))(whole)
      readOrRefused(encodeFilter({ ...whole, ...changed }))
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
