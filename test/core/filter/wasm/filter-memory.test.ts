import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BitArray } from '../../../../src/core/filter/bit-array.ts'
import { BloomFilter } from '../../../../src/core/filter/bloom-filter.ts'
import { FilterMemory } from '../../../../src/core/filter/wasm/filter-memory.ts'
import { kernelModule } from '../../../support/build-kernel.ts'
import { keyOf } from '../test-keys.ts'

const words = fc.uint32Array({ maxLength: 200 })

test('the compiled kernel is what its source compiles to (node test/support/build-kernel.ts)', async () => {
  expect(readFileSync('src/core/filter/wasm/kernel-binary.ts', 'utf8')).toBe(await kernelModule())
}, 30_000)

describe('words in a filter memory', () => {
  test('are joined, cut and counted as by TypeScript, whatever their number and place', () => {
    fc.assert(
      fc.property(words, words, fc.nat(5), (first, second, gap) => {
        const length = Math.min(first.length, second.length)
        const memory = new FilterMemory(4096)
        memory.allocateWords(gap)
        const [a, b] = [memory.allocateWords(length), memory.allocateWords(length)]
        const rest = memory.allocateWords(4).fill(0xffffffff)
        const set = (): void => {
          a.set(first.subarray(0, length))
          b.set(second.subarray(0, length))
        }
        const [plainA, plainB] = [first, second].map((from) => new BitArray(32 * length, from.slice(0, length)))
        set()
        expect(memory.countSet(a)).toBe(plainA!.countSet())
        memory.or(a, b)
        plainA!.orFrom(plainB!)
        expect(a).toEqual(plainA!.words)
        set()
        memory.and(b, a)
        plainB!.andFrom(new BitArray(32 * length, first.slice(0, length)))
        expect(b).toEqual(plainB!.words)
        expect([...rest]).toEqual(Array.from({ length: 4 }, () => 0xffffffff))
      }),
    )
  })

  test('may be parts of others, and begin at any word', () => {
    const memory = new FilterMemory(65_536)
    const whole = memory.allocateWords(40)
    const source = memory.allocateWords(40).fill(0xf0f0f0f0)
    for (let from = 0; from < 5; from++) {
      for (let to = from; to <= 40; to++) {
        whole.fill(0x0f0f0f0f)
        // More of the source follows: work beyond the end would show.
        const [part, other] = [whole.subarray(from, to), source.subarray(0, to - from)]
        const inPart = (value: number): number[] =>
          Array.from({ length: 40 }, (_, i) => (i >= from && i < to ? value : 0x0f0f0f0f))
        memory.or(part, other)
        expect([...whole]).toEqual(inPart(0xffffffff))
        expect(memory.countSet(part)).toBe(32 * (to - from))
        memory.and(part, other)
        expect([...whole]).toEqual(inPart(0xf0f0f0f0))
      }
    }
  })

  test('that are all set are counted without overflow', () => {
    const memory = new FilterMemory(2 ** 20)
    expect(memory.countSet(memory.allocateWords(2 ** 18).fill(0xffffffff))).toBe(2 ** 23)
  })

  test('begin at nought, do not overlap, and end with the memory', () => {
    const memory = new FilterMemory(65_536)
    const [a, b] = [memory.allocateWords(5), memory.allocateWords(8)]
    a.fill(7)
    expect([...b]).toEqual(Array.from({ length: 8 }, () => 0))
    expect([a.byteOffset % 16, b.byteOffset % 16]).toEqual([0, 0])
    expect(() => memory.allocateWords(2 ** 14)).toThrow(/65536 bytes of a filter memory with 65472 left/)
  })

  test('reach to the end of the largest memory', () => {
    const memory = new FilterMemory(2 ** 32 - 65_536)
    memory.allocateWords((2 ** 32 - 65_536) / 4 - 32)
    const [a, b] = [memory.allocateWords(16).fill(1), memory.allocateWords(16).fill(2)]
    memory.or(b, a)
    expect([...b]).toEqual(Array.from({ length: 16 }, () => 3))
    memory.and(b, a)
    expect(memory.countSet(b)).toBe(16)
  })

  test('are never of an impossible number', () => {
    for (const byteCount of [-65_536, NaN, 2 ** 32]) expect(() => new FilterMemory(byteCount)).toThrow(RangeError)
    const memory = new FilterMemory(1024)
    for (const count of [-1, 1.5, NaN]) expect(() => memory.allocateWords(count)).toThrow(RangeError)
    expect(memory.allocateWords(1).byteOffset).toBe(0)
  })

  test('of another memory, or another number, are refused', () => {
    const memory = new FilterMemory(1024)
    const own = memory.allocateWords(4)
    expect(() => memory.or(own, new Uint32Array(4))).toThrow(RangeError)
    expect(() => memory.and(new FilterMemory(64).allocateWords(4), own)).toThrow(RangeError)
    expect(() => memory.countSet(new Uint32Array(4))).toThrow(RangeError)
    expect(() => memory.or(own, memory.allocateWords(5))).toThrow(RangeError)
  })

  test('make a filter that unites with any other as usual', () => {
    const geometry = { hashScheme: 1, keyId: 0, keyRules: 0, bitCount: 1000, probeCount: 4 }
    const memory = new FilterMemory(1024)
    const inMemory = (): BloomFilter => new BloomFilter(geometry, new BitArray(1000, memory.allocateWords(32), memory))
    const filters = [inMemory(), inMemory(), new BloomFilter(geometry)]
    for (const [i, filter] of filters.entries()) filter.add(keyOf(`key ${i}`))
    const united = inMemory()
    const plain = new BloomFilter(geometry)
    for (const filter of filters) {
      united.unionWith(filter)
      plain.unionWith(filter)
    }
    expect(united.serialise()).toEqual(plain.serialise())
    united.intersectWith(filters[1]!)
    plain.intersectWith(filters[1]!)
    expect(united.serialise()).toEqual(plain.serialise())
  })
})
