import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FilterBuildError } from '../../../src/core/filter/membership-filter.ts'
import {
  MAX_ATTEMPTS,
  distinctHashes,
  fingerprintBitsFor,
  firstSuccess,
} from '../../../src/core/filter/static-build.ts'
import { keyStream, listOf, take } from './seeded-keys.ts'

const three = listOf(take(keyStream(1), 3)).words

/** Calls of an attempt that succeeds when `succeeds` says so, as [keys, seed, mayRepeat]. */
function calls(words: Uint32Array, succeeds: (seed: number) => boolean): [number, number, boolean][] {
  const seen: [number, number, boolean][] = []
  firstSuccess('test', words, (given, seed, mayRepeat) => {
    seen.push([given.length / 4, seed, mayRepeat])
    return succeeds(seed) ? seed : undefined
  })
  return seen
}

describe('attempts at a static filter', () => {
  test('end with the first success', () => {
    expect(calls(three, () => true)).toEqual([[3, 0, true]])
    expect(calls(three, (seed) => seed === 2)).toEqual([
      [3, 0, true],
      [3, 1, false],
      [3, 2, false],
    ])
  })

  test('begin anew without repeated keys, once the first has failed', () => {
    const repeated = Uint32Array.of(...three, ...three)
    expect(calls(repeated, (seed) => seed === 1)).toEqual([
      [6, 0, true],
      [3, 0, false],
      [3, 1, false],
    ])
  })

  test('end with a FilterBuildError after a hundred seeds', () => {
    const seeds = new Set<number>()
    const hopeless = (): unknown => firstSuccess('test', three, (_, seed) => void seeds.add(seed))
    expect(hopeless).toThrow(FilterBuildError)
    expect(hopeless).toThrow('no test filter of 3 keys came out of 100 attempts')
    expect([...seeds]).toEqual(Array.from({ length: MAX_ATTEMPTS }, (_, i) => i))
  })
})

test('distinct hashes are each once, in order of first appearance', () => {
  const word = fc.constantFrom(0, 1, 0xffffffff)
  fc.assert(
    fc.property(fc.array(fc.tuple(word, word, word, word), { maxLength: 200 }), (hashes) => {
      const kept = new Map(hashes.map((hash) => [hash.join(), hash]))
      expect([...distinctHashes(Uint32Array.from(hashes.flat()))]).toEqual([...kept.values()].flat())
    }),
  )
  expect(distinctHashes(three)).toBe(three)
})

test('a fingerprint has the fewest bits that keep to a rate', () => {
  for (let bits = 1; bits <= 32; bits++) {
    expect(fingerprintBitsFor(2 ** -bits)).toBe(bits)
    expect(fingerprintBitsFor(2 ** -bits * 1.999)).toBe(bits)
  }
  expect(() => fingerprintBitsFor(2 ** -32 * 0.999)).toThrow(RangeError)
  expect(() => fingerprintBitsFor(0)).toThrow(RangeError)
  expect(() => fingerprintBitsFor(Number.NaN)).toThrow(RangeError)
})
