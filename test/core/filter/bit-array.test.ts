import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BitArray } from '../../../src/core/filter/bit-array.ts'
import { BitChecksum, checksumOf } from '../../../src/core/filter/bit-checksum.ts'
import { CounterArray } from '../../../src/core/filter/counter-array.ts'
import { PositionList } from '../../../src/core/filter/position-list.ts'

function bitsAt(bitCount: number, positions: Iterable<number>): BitArray {
  const bits = new BitArray(bitCount)
  for (const position of positions) bits.set(position)
  return bits
}

describe('a bit array', () => {
  // jasondavies/bloomfilter.js#9
  test('behaves as a set of positions, at sizes that fill no word too', () => {
    const model = fc.integer({ min: 1, max: 200 }).chain((bitCount) =>
      fc.record({
        bitCount: fc.constant(bitCount),
        steps: fc.array(fc.tuple(fc.boolean(), fc.nat(bitCount - 1)), { maxLength: 100 }),
      }),
    )
    fc.assert(
      fc.property(model, ({ bitCount, steps }) => {
        const bits = new BitArray(bitCount)
        const set = new Set<number>()
        for (const [rises, index] of steps) {
          expect(rises ? bits.set(index) : bits.clear(index)).toBe(set.has(index) !== rises)
          if (rises) set.add(index)
          else set.delete(index)
        }
        for (let i = 0; i < bitCount; i++) expect(bits.get(i)).toBe(set.has(i))
        expect(bits.countSet()).toBe(set.size)
        const pushed = new PositionList()
        bits.pushSet(pushed)
        expect(Array.from({ length: pushed.length }, (_, i) => pushed.at(i))).toEqual([...set].sort((a, b) => a - b))
        expect(bits.equals(bitsAt(bitCount, set))).toBe(true)
      }),
    )
  })

  test('keeps bit 31 of a word apart from its sign', () => {
    const bits = bitsAt(64, [31, 63])
    expect([...bits.words]).toEqual([0x80000000, 0x80000000])
    expect(bits.countSet()).toBe(2)
    expect(bits.countSet(1, 2)).toBe(1)
  })

  test('copies the words asked for and no others', () => {
    const source = bitsAt(128, [0, 33, 70, 127])
    const copy = bitsAt(128, [1])
    copy.copyFrom(source, 1, 3)
    expect(copy.equals(bitsAt(128, [1, 33, 70]))).toBe(true)
    copy.copyFrom(source)
    expect(copy.equals(source)).toBe(true)
  })

  test('merges by OR', () => {
    const bits = bitsAt(96, [1, 40])
    bits.orFrom(bitsAt(96, [40, 95]))
    expect(bits.equals(bitsAt(96, [1, 40, 95]))).toBe(true)
  })

  test('of another size is never equal nor merged', () => {
    const bits = new BitArray(64)
    expect(bits.equals(new BitArray(96))).toBe(false)
    expect(() => bits.orFrom(new BitArray(96))).toThrow(RangeError)
    expect(() => bits.copyFrom(new BitArray(96))).toThrow(RangeError)
    expect(() => new BitArray(64, new Uint32Array(3))).toThrow(RangeError)
  })

  test('refuses to change a bit that it does not have', () => {
    const bits = new BitArray(100)
    expect(() => bits.set(100)).toThrow(RangeError)
    expect(() => bits.clear(-1)).toThrow(RangeError)
    expect(() => bits.set(NaN)).toThrow(RangeError)
    expect(bits.countSet()).toBe(0)
  })

  test('works in shared memory', () => {
    const words = new Uint32Array(new SharedArrayBuffer(16))
    new BitArray(128, words).set(64)
    expect(new BitArray(128, words).get(64)).toBe(true)
  })
})

describe('the checksum of a bit array', () => {
  test.each([
    [[], '0000000000000000'],
    [[0], '92ca2f0e13013e56'],
    [[1], '36deb503b5e75ae4'],
    [[0, 1], 'a4149a0da6e664b2'],
    [[2 ** 31 - 1], '56673fa75c155e74'],
  ])('of bits %j is %s', (positions, expected) => {
    const checksum = new BitChecksum()
    for (const position of positions) checksum.toggle(position)
    expect(hex(checksum)).toBe(expected)
  })

  test('kept step by step is that computed whole, in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(511), { maxLength: 300 }), (toggled) => {
        const bits = new BitArray(512)
        let checksum = new BitChecksum()
        for (const position of toggled) {
          if (!bits.set(position)) bits.clear(position)
          checksum = BitChecksum.from(checksum.hi, checksum.lo)
          checksum.toggle(position)
        }
        expect({ hi: checksum.hi, lo: checksum.lo }).toEqual(checksumOf(bits))
      }),
    )
  })

  test('shows every difference of one or two bits', () => {
    const [his, los] = [new Set<number>(), new Set<number>()]
    for (let i = 0; i < 100_000; i++) {
      const one = new BitChecksum()
      one.toggle(i * 21_474)
      his.add(one.hi)
      los.add(one.lo)
    }
    expect([his.size, los.size, his.has(0), los.has(0)]).toEqual([100_000, 100_000, false, false])
  })

  function hex({ hi, lo }: { hi: number; lo: number }): string {
    return hi.toString(16).padStart(8, '0') + lo.toString(16).padStart(8, '0')
  }
})

describe('a 4-bit counter', () => {
  test('that has reached 15 sticks there', () => {
    const counters = new CounterArray(20)
    for (let n = 1; n <= 14; n++) expect(counters.increment(9)).toBe(n)
    expect(counters.decrement(9)).toBe(13)
    counters.increment(9)
    expect(counters.increment(9)).toBe(15)
    expect(counters.increment(9)).toBe(15)
    for (let n = 0; n < 20; n++) expect(counters.decrement(9)).toBe(15)
    for (const neighbour of [8, 10]) expect(counters.get(neighbour)).toBe(0)
  })

  test('at 0 cannot go down', () => {
    const counters = new CounterArray(16)
    counters.increment(7)
    counters.decrement(7)
    expect(() => counters.decrement(7)).toThrow(RangeError)
    expect(counters.get(7)).toBe(0)
  })

  test('counts beside its neighbours as if alone', () => {
    const step = fc.tuple(fc.boolean(), fc.nat(23))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const counters = new CounterArray(24)
        const model: number[] = Array.from({ length: 24 }, () => 0)
        for (const [up, i] of steps) {
          if (!up && model[i] === 0) continue
          model[i] = up ? Math.min(15, model[i]! + 1) : model[i] === 15 ? 15 : model[i]! - 1
          expect(up ? counters.increment(i) : counters.decrement(i)).toBe(model[i])
        }
        for (let i = 0; i < 24; i++) expect(counters.get(i)).toBe(model[i])
      }),
    )
  })
})

describe('a position list', () => {
  test('grows, sorts without repeats and keeps its own order', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 31 - 1 }), { maxLength: 100 }), (positions) => {
        const list = new PositionList()
        for (const position of positions) list.push(position)
        expect([...list.sortUnique()]).toEqual([...new Set(positions)].sort((a, b) => a - b))
        expect(Array.from({ length: list.length }, (_, i) => list.at(i))).toEqual(positions)
        list.clear()
        expect(list.length).toBe(0)
        expect(list.sortUnique()).toHaveLength(0)
      }),
    )
  })

  test('has no entry beyond its length', () => {
    const list = new PositionList()
    list.push(5)
    expect(() => list.at(1)).toThrow(RangeError)
  })
})
