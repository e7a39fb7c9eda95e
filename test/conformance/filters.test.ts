import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FILTER_KINDS, loadFilter, type FilterKind } from '../../src/core/filter/filter-kinds.ts'
import { MalformedFilterError, decodeFilter, encodeFilter } from '../../src/core/filter/filter-format.ts'
import { MD5, MURMUR3, SIPHASH } from '../../src/core/filter/hash-schemes.ts'
import type { KeyHash, KeyHashing } from '../../src/core/filter/key-hash.ts'
import { KeyHasher } from '../../src/core/filter/key-hasher.ts'
import {
  FilterFullError,
  KeyNotHeldError,
  type Filter,
  type FoldingFilter,
  type ForgettingFilter,
  type GrowingFilter,
  type IntersectingFilter,
  type UnitingFilter,
} from '../../src/core/filter/membership-filter.ts'
import { keyStream, listOf, take } from '../core/filter/seeded-keys.ts'
import { searchFalseMiss } from '../core/filter/random-operations.ts'

const hashing: KeyHashing = { hashScheme: MURMUR3, keyId: 0, keyRules: 0 }
const RATE = 0.02

type Anything = Filter & Partial<GrowingFilter & ForgettingFilter & UnitingFilter & IntersectingFilter & FoldingFilter>

function built(kind: FilterKind, keys: Iterable<KeyHash>, rate = RATE): Anything {
  return kind.build(listOf(keys), rate, hashing)
}

function falseMisses(filter: Filter, keys: readonly KeyHash[]): number {
  return keys.filter((key) => !filter.mayContain(key)).length
}

function claims(filter: Filter, keys: readonly KeyHash[]): boolean[] {
  return keys.map((key) => filter.mayContain(key))
}

/** How far the share of strangers claimed lies from `rate`, in standard deviations. */
function deviation(filter: Filter, rate: number, stranger: () => KeyHash, queries: number): number {
  let hits = 0
  for (let i = 0; i < queries; i++) if (filter.mayContain(stranger())) hits++
  return (hits - queries * rate) / Math.sqrt(queries * rate * (1 - rate))
}

/** Half of it, or undefined where its size cannot be halved. */
function halved(filter: Anything): Filter | undefined {
  try {
    return filter.foldedToHalf!()
  } catch (error) {
    expect(error).toBeInstanceOf(RangeError)
    return undefined
  }
}

const kinds = FILTER_KINDS.map((kind) => [kind.name, kind] as const)
const growing = kinds.filter(([, { can }]) => can.add)
const forgetting = kinds.filter(([, { can }]) => can.remove)
const uniting = kinds.filter(([, { can }]) => can.unite)
const folding = kinds.filter(([, { can }]) => can.fold)

test('every kind has a name and a code of its own', () => {
  expect(new Set(FILTER_KINDS.map(({ name }) => name)).size).toBe(FILTER_KINDS.length)
  expect(new Set(FILTER_KINDS.map(({ code }) => code)).size).toBe(FILTER_KINDS.length)
})

describe.each(kinds)('every filter: %s', (_, kind) => {
  test('offers what its line in the table promises, and nothing else', () => {
    const filter = built(kind, take(keyStream(1), 10))
    const offers = (method: string): boolean => method in filter
    expect({
      add: offers('add'),
      remove: offers('remove'),
      unite: offers('unionWith'),
      fold: offers('foldedToHalf'),
    }).toEqual(kind.can)
    // What can fold is bits alone, and those can be intersected as well.
    expect(offers('intersectWith')).toBe(kind.can.fold)
  })

  test.each([0, 1, 2, 3, 10, 100, 5000])('of %d keys is what was planned, and misses none', (count) => {
    for (const rate of count < 5000 ? [0.5, 0.1, 0.004] : [0.1, 0.004]) {
      const keys = take(keyStream(count), count)
      const filter = built(kind, keys, rate)
      const plan = kind.plan(count, rate)
      expect(filter.sizeInBits).toBe(plan.sizeInBits)
      expect(filter.expectedFalseHitRate).toBeCloseTo(plan.falseHitRate, 12)
      expect(plan.falseHitRate).toBeLessThanOrEqual(rate)
      expect([falseMisses(filter, keys), filter.entryCount, filter.hashing]).toMatchObject([0, count, hashing])
    }
  })

  test('without keys claims nothing', () => {
    const filter = built(kind, [])
    expect(claims(filter, take(keyStream(2), 1000)).some(Boolean)).toBe(false)
    expect([filter.expectedFalseHitRate, filter.estimatedFalseHitRate, filter.estimatedEntryCount]).toEqual([0, 0, 0])
    expect(claims(loadFilter(filter.serialise()), take(keyStream(2), 100)).some(Boolean)).toBe(false)
  })

  test('refuses a number of keys or a rate that there cannot be', () => {
    for (const [count, rate] of [
      [-1, RATE],
      [0.5, RATE],
      [1e12, RATE],
      [10, 0],
      [10, 1],
      [10, NaN],
    ] as const) {
      expect(() => kind.plan(count, rate), `${count} at ${rate}`).toThrow(RangeError)
    }
    for (const rate of [0, 1, NaN]) expect(() => kind.build(listOf([]), rate, hashing)).toThrow(RangeError)
  })

  test.each([0.1, 0.02, 0.004])('claims strangers at the rate it expects, near %d', (rate) => {
    const stream = keyStream(3)
    const filter = built(kind, take(stream, 5000), rate)
    // The fill of this one filter, and so its rate, is some percent off the mean of all such.
    const fill = filter.estimatedFalseHitRate / filter.expectedFalseHitRate
    expect(Math.abs(fill - 1)).toBeLessThan(0.08)
    expect(Math.abs(deviation(filter, filter.estimatedFalseHitRate, stream, 40_000))).toBeLessThan(4)
  })

  test('tells from its memory how many keys are in it', () => {
    for (const count of [10, 200, 5000]) {
      const filter = built(kind, take(keyStream(count), count))
      expect(Math.abs(filter.estimatedEntryCount / count - 1)).toBeLessThan(0.6 / Math.sqrt(count))
    }
  })

  test('counts a key given three times as often as it was told, or once if it cannot be told more', () => {
    const keys = take(keyStream(4), 50)
    const filter = built(kind, [...keys, keys[3]!, keys[3]!, keys[41]!, keys[41]!])
    expect(filter.entryCount).toBe(kind.can.add ? 54 : 50)
    expect(falseMisses(filter, keys)).toBe(0)
  })

  test('of equal keys has equal bytes, and comes back from them as it was', () => {
    for (const [count, rate] of [
      [1, 0.5],
      [77, 0.1],
      [1000, 0.001],
    ] as const) {
      const stream = keyStream(5)
      const keys = take(stream, count)
      const bytes = built(kind, keys, rate).serialise()
      expect(built(kind, take(keyStream(5), count), rate).serialise()).toEqual(bytes)
      const filter = built(kind, keys, rate)
      const copy = loadFilter(bytes)
      expect(copy.serialise()).toEqual(bytes)
      const facts = ({ entryCount, sizeInBits, expectedFalseHitRate, estimatedFalseHitRate }: Filter): number[] => [
        entryCount,
        sizeInBits,
        expectedFalseHitRate,
        estimatedFalseHitRate,
      ]
      expect(facts(copy)).toEqual(facts(filter))
      expect(copy.hashing).toMatchObject(hashing)
      expect(copy.constructor).toBe(filter.constructor)
      const strangers = take(stream, 1000)
      expect([falseMisses(copy, keys), claims(copy, strangers)]).toEqual([0, claims(filter, strangers)])
    }
  })

  test('with a bit flipped anywhere, or cut off anywhere, is not loaded', () => {
    const bytes = built(kind, take(keyStream(6), 20)).serialise()
    for (let at = 0; at < bytes.length; at++) {
      const faulty = Uint8Array.from(bytes)
      faulty[at]! ^= 1 << (at & 7)
      expect(() => loadFilter(faulty)).toThrow(MalformedFilterError)
      expect(() => loadFilter(bytes.subarray(0, at))).toThrow(MalformedFilterError)
    }
  })

  test('from a record that someone made up is refused or works', () => {
    const bases = [0, 1, 30].map((count) => decodeFilter(built(kind, take(keyStream(7), count), 0.1).serialise()))
    const number = fc.oneof(fc.nat(70), fc.constantFrom(512, 2 ** 20, 2 ** 31, 2 ** 32 - 1), fc.nat(0xffffffff))
    const probes = take(keyStream(8), 5)
    fc.assert(
      fc.property(
        fc.constantFrom(...bases),
        fc.array(fc.tuple(fc.nat(4), number), { maxLength: 2 }),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 2 }),
        fc.integer({ min: -3, max: 3 }),
        (base, changes, bodyChanges, longer) => {
          const parameters: [number, number, number, number] = [...base.parameters]
          let { entryCount } = base
          for (const [i, value] of changes) {
            if (i < 4) parameters[i] = value
            else entryCount = value
          }
          const body = new Uint8Array(Math.max(0, base.body.length + longer))
          body.set(base.body.subarray(0, body.length))
          for (const [at, value] of bodyChanges) if (body.length > 0) body[at % body.length] = value
          const bytes = encodeFilter({ ...base, parameters, entryCount, body })
          let filter: Filter
          try {
            filter = loadFilter(bytes)
          } catch (error) {
            expect(error).toBeInstanceOf(MalformedFilterError)
            return
          }
          for (const key of probes) expect(typeof filter.mayContain(key)).toBe('boolean')
          expect(filter.serialise()).toEqual(bytes)
        },
      ),
      { numRuns: 300 },
    )
  })

  test.each([
    ['MurmurHash3', KeyHasher.murmur3(1)],
    ['SipHash', KeyHasher.siphash(new Uint8Array(16), 7)],
    ['MD5', KeyHasher.md5()],
  ])('holds keys hashed by %s, and says so in its bytes', (scheme, hasher) => {
    const hashes = (text: string, count: number): KeyHash[] =>
      Array.from({ length: count }, (__, i) => {
        const { h0, h1, h2, h3 } = hasher.hashText(`${text}${i}`)
        return { h0, h1, h2, h3 }
      })
    const keys = hashes('http://www.example.com/', 500)
    // Not more probes than one MD5 has words.
    const build = (): Filter => kind.build(listOf(keys), 0.1, hasher.hashing)
    if (kind.name === 'scalable-bloom' && scheme === 'MD5') {
      expect(build).toThrow(RangeError)
      return
    }
    const copy = loadFilter(build().serialise())
    expect([falseMisses(copy, keys), copy.hashing]).toMatchObject([0, hasher.hashing])
    let n = 0
    const strangers = hashes('http://www.example.org/', 10_000)
    expect(Math.abs(deviation(copy, copy.estimatedFalseHitRate, () => strangers[n++]!, 10_000))).toBeLessThan(4)
    expect([MURMUR3, SIPHASH, MD5]).toContain(copy.hashing.hashScheme)
  })

  test('misses no key in 60,000 random operations', () => {
    expect(searchFalseMiss(kind, 60_000, 3000, 1)).toBeGreaterThanOrEqual(60_000)
  })
})

describe.each(growing)('every filter that takes keys: %s', (_, kind) => {
  const actions = fc.array(fc.tuple(fc.constantFrom('add', 'add', 'remove'), fc.nat(11)), { maxLength: 80 })
  const keys = take(keyStream(9), 12)

  test('agrees with a multiset about every key that is in it', () => {
    fc.assert(
      fc.property(actions, fc.nat(20), (steps, capacity) => {
        const filter = built(kind, take(keyStream(10), capacity), 0.1)
        const counts = keys.map(() => 0)
        let entryCount = capacity
        for (const [action, n] of steps) {
          const key = keys[n]!
          // Six of a key are few enough for the counters not to stick at 15, for the twelve keys share them.
          if (action === 'add' && counts[n]! < 6) {
            try {
              ;(filter as GrowingFilter).add(key)
              counts[n]!++
              entryCount++
            } catch (error) {
              expect(error).toBeInstanceOf(FilterFullError)
            }
          } else if (action === 'remove' && kind.can.remove) {
            const remove = (): void => (filter as ForgettingFilter).remove(key)
            if (counts[n]! > 0) {
              remove()
              counts[n]!--
              entryCount--
            } else if (!filter.mayContain(key)) {
              const before = filter.serialise()
              expect(remove).toThrow(KeyNotHeldError)
              expect(filter.serialise()).toEqual(before)
            }
          }
          expect(filter.entryCount).toBe(entryCount)
          for (const [i, count] of counts.entries()) if (count > 0) expect(filter.mayContain(keys[i]!)).toBe(true)
        }
        expect(falseMisses(filter, take(keyStream(10), capacity))).toBe(0)
        expect(loadFilter(filter.serialise()).serialise()).toEqual(filter.serialise())
      }),
      { numRuns: 40 },
    )
  })

  test('given ten times as many keys as it was made for takes them, or is full and keeps those it has', () => {
    const stream = keyStream(11)
    const held = take(stream, 300)
    const filter = built(kind, held) as GrowingFilter
    for (const key of take(stream, 2700)) {
      const { entryCount } = filter
      try {
        filter.add(key)
        held.push(key)
      } catch (error) {
        expect(error).toBeInstanceOf(FilterFullError)
        expect(error).toMatchObject({ code: 'FILTER_FULL', entryCount })
        expect(filter.entryCount).toBe(entryCount)
      }
    }
    expect([falseMisses(filter, held), filter.entryCount]).toEqual([0, held.length])
  })

  test('built from all keys is the same as one to which some were added later', () => {
    const stream = keyStream(12)
    const first = take(stream, 100)
    const all = built(kind, first) as GrowingFilter
    const copy = loadFilter(all.serialise()) as GrowingFilter
    for (const key of take(stream, 5)) {
      all.add(key)
      copy.add(key)
    }
    expect(copy.serialise()).toEqual(all.serialise())
  })
})

describe.each(forgetting)('every filter that forgets: %s', (_, kind) => {
  test('from which all keys were removed, in any order, claims nothing', () => {
    const keys = take(keyStream(13), 500)
    const filter = built(kind, keys) as ForgettingFilter
    for (const key of keys.toReversed()) filter.remove(key)
    expect([filter.entryCount, filter.estimatedEntryCount, filter.estimatedFalseHitRate]).toEqual([0, 0, 0])
    expect(claims(filter, keys).some(Boolean)).toBe(false)
  })

  test('refuses to remove what is not there', () => {
    const filter = built(kind, take(keyStream(14), 100)) as ForgettingFilter
    const before = filter.serialise()
    for (const stranger of take(keyStream(15), 500)) {
      if (!filter.mayContain(stranger)) expect(() => filter.remove(stranger)).toThrow(KeyNotHeldError)
    }
    expect(filter.serialise()).toEqual(before)
  })
})

describe.each(uniting)('every filter that unites: %s', (_, kind) => {
  test('of two sets is the filter of both', () => {
    const stream = keyStream(16)
    const [one, other] = [take(stream, 400), take(stream, 400)]
    const united = built(kind, one) as UnitingFilter
    united.unionWith(built(kind, other) as UnitingFilter)
    const direct = built(kind, one) as GrowingFilter
    for (const key of other) direct.add(key)
    expect(united.serialise()).toEqual(direct.serialise())
    const [{ estimatedEntryCount, estimatedFalseHitRate }, again] = [united, loadFilter(united.serialise())]
    expect([again.estimatedEntryCount, again.estimatedFalseHitRate]).toEqual([
      estimatedEntryCount,
      estimatedFalseHitRate,
    ])
  })

  test('refuses another size and another way to hash, and stays as it was', () => {
    const filter = built(kind, take(keyStream(17), 500)) as UnitingFilter & Partial<IntersectingFilter>
    const before = filter.serialise()
    const keys = listOf(take(keyStream(17), 500))
    const others = [
      built(kind, take(keyStream(17), 1000)),
      built(kind, take(keyStream(17), 500), 0.1),
      kind.build(keys, RATE, { hashScheme: SIPHASH, keyId: 1, keyRules: 0 }),
      kind.build(keys, RATE, { ...hashing, keyRules: 1 }),
    ]
    for (const other of others as (UnitingFilter & IntersectingFilter)[]) {
      expect(() => filter.unionWith(other)).toThrow(RangeError)
      if (filter.intersectWith !== undefined) expect(() => filter.intersectWith!(other)).toThrow(RangeError)
    }
    expect(filter.serialise()).toEqual(before)
  })
})

describe.each(folding)('every filter that folds: %s', (_, kind) => {
  test('intersected with another claims just what both claim, every common key among it', () => {
    const stream = keyStream(18)
    const [common, one, other] = [take(stream, 200), take(stream, 300), take(stream, 300)]
    const [a, b] = [built(kind, [...common, ...one]), built(kind, [...common, ...other])]
    const both = loadFilter(a.serialise()) as IntersectingFilter
    both.intersectWith(b as IntersectingFilter)
    const asked = [...common, ...one, ...other, ...take(stream, 5000)]
    expect(claims(both, asked)).toEqual(asked.map((key) => a.mayContain(key) && b.mayContain(key)))
    expect(falseMisses(both, common)).toBe(0)
    // An estimate: at least the common ones, and not nearly all of either.
    expect(both.entryCount).toBeGreaterThanOrEqual(200)
    expect(both.entryCount).toBeLessThan(350)
    expect(loadFilter(both.serialise()).serialise()).toEqual(both.serialise())
  })

  test('intersected with sets that share nothing is empty in the end', () => {
    const keys = take(keyStream(19), 100)
    // Each other set leaves half of the bits.
    const filter = built(kind, keys) as IntersectingFilter
    for (let set = 0; set < 16; set++)
      filter.intersectWith(built(kind, take(keyStream(100 + set), 100)) as IntersectingFilter)
    expect([filter.entryCount, filter.estimatedEntryCount, filter.expectedFalseHitRate]).toEqual([0, 0, 0])
    expect(claims(filter, keys).some(Boolean)).toBe(false)
    expect(loadFilter(filter.serialise()).serialise()).toEqual(filter.serialise())
  })

  test('folded to half keeps every key, and claims strangers at the rate of half the size', () => {
    const stream = keyStream(20)
    let foldedCount = 0
    for (let count = 2000; count < 2400; count += 39) {
      const keys = take(stream, count)
      const filter = built(kind, keys)
      const half = halved(filter)
      if (half === undefined) continue
      foldedCount++
      expect([half.sizeInBits, half.entryCount]).toEqual([filter.sizeInBits / 2, count])
      expect(falseMisses(half, keys)).toBe(0)
      expect(half.expectedFalseHitRate).toBeGreaterThan(2 * filter.expectedFalseHitRate)
      expect(Math.abs(half.estimatedFalseHitRate / half.expectedFalseHitRate - 1)).toBeLessThan(0.1)
      expect(Math.abs(deviation(half, half.estimatedFalseHitRate, stream, 20_000))).toBeLessThan(4)
      expect(loadFilter(half.serialise()).serialise()).toEqual(half.serialise())
    }
    expect(foldedCount).toBeGreaterThan(0)
    expect(foldedCount).toBeLessThan(11)
  })
})
