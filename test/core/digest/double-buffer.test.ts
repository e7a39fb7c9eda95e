import { describe, expect, test } from 'vitest'
import { DoubleBuffer } from '../../../src/core/digest/double-buffer.ts'
import type { BitArray } from '../../../src/core/filter/bit-array.ts'
import { swapBuffersUnderReaders } from './double-buffer-threads.ts'

const BITS = 128

/** Builds the state that is all `mark` in an idle buffer, and swaps it in. */
function build(buffers: DoubleBuffer, mark: number): boolean {
  const bits = buffers.idle()
  if (bits === undefined) return false
  bits.words.fill(mark)
  buffers.swap(bits)
  return true
}

function markOf(bits: BitArray | undefined): number | undefined {
  const words = [...(bits?.words ?? [])]
  return words.every((word) => word === words[0]) ? words[0] : undefined
}

function withReaders(readerCount: number, poolSize?: number): DoubleBuffer {
  const control = new Int32Array(DoubleBuffer.controlWords(readerCount))
  return new DoubleBuffer(BITS, poolSize === undefined ? { control } : { control, poolSize })
}

describe('a double buffer', () => {
  test('shows the old state until the swap and the new one after it', () => {
    const buffers = withReaders(1)
    build(buffers, 1)
    const next = buffers.idle()
    next?.words.fill(2)
    expect(markOf(buffers.enter(0))).toBe(1)
    buffers.leave(0)
    buffers.swap(next!)
    expect(markOf(buffers.enter(0))).toBe(2)
  })

  test('keeps the state of a suspended reader unchanged while the writer goes on', () => {
    const buffers = withReaders(2)
    build(buffers, 1)
    const suspended = buffers.enter(0)
    for (let mark = 2; mark < 100; mark++) {
      expect(build(buffers, mark)).toBe(true)
      expect(markOf(buffers.enter(1))).toBe(mark)
      buffers.leave(1)
      expect(markOf(suspended)).toBe(1)
    }
    buffers.leave(0)
    expect(markOf(buffers.enter(0))).toBe(99)
  })

  test('lets its writer build no further when readers hold all of the pool, and again when one leaves', () => {
    const buffers = withReaders(2)
    build(buffers, 1)
    const first = buffers.enter(0)
    build(buffers, 2)
    const second = buffers.enter(1)
    build(buffers, 3)
    expect(build(buffers, 4)).toBe(false)
    expect([first, second, buffers.active].map(markOf)).toEqual([1, 2, 3])
    buffers.leave(0)
    expect(build(buffers, 4)).toBe(true)
    expect(markOf(second)).toBe(2)
  })

  test('takes a third buffer only when a reader makes it necessary', () => {
    const allocated: number[] = []
    const control = new Int32Array(DoubleBuffer.controlWords(1))
    const allocate = (index: number): Uint32Array => {
      allocated.push(index)
      return new Uint32Array(BITS / 32)
    }
    const buffers = new DoubleBuffer(BITS, { control, allocate })
    for (let mark = 1; mark < 10; mark++) build(buffers, mark)
    expect(allocated).toEqual([1, 0])
    buffers.enter(0)
    build(buffers, 10)
    build(buffers, 11)
    expect(new Set(allocated).size).toBe(3)
  })

  test('is one for several threads when control and memory are shared', () => {
    const control = new Int32Array(new SharedArrayBuffer(4 * DoubleBuffer.controlWords(1)))
    const memory = Array.from({ length: 3 }, () => new Uint32Array(new SharedArrayBuffer(BITS / 8)))
    const allocate = (index: number): Uint32Array => memory[index]!
    const writer = new DoubleBuffer(BITS, { control, allocate })
    build(writer, 7)
    const reader = new DoubleBuffer(BITS, { control, allocate })
    const seen = reader.enter(0)
    expect(markOf(seen)).toBe(7)
    for (let mark = 8; mark < 20; mark++) build(writer, mark)
    expect(markOf(seen)).toBe(7)
    reader.leave(0)
    expect(markOf(reader.active)).toBe(19)
  })

  test('goes on when its epochs have run out', () => {
    const control = new Int32Array(DoubleBuffer.controlWords(1))
    const buffers = new DoubleBuffer(BITS, { control })
    control[0] = (2 ** 27 - 1) * 16
    build(buffers, 1)
    expect(control[0] >>> 4).toBe(1)
    const seen = buffers.enter(0)
    build(buffers, 2)
    build(buffers, 3)
    expect(markOf(seen)).toBe(1)
  })

  test('refuses to make a buffer active that is not idle', () => {
    const buffers = withReaders(1)
    expect(() => buffers.swap(buffers.active)).toThrow('only an idle buffer')
    expect(() => buffers.swap(withReaders(1).active)).toThrow('only an idle buffer')
    buffers.enter(0)
    expect(() => buffers.enter(0)).toThrow('inside already')
    expect(() => buffers.enter(1)).toThrow('has no word')
  })
})

test('readers on other threads see whole states only', async () => {
  const outcome = await swapBuffersUnderReaders(100_000, 2)
  expect(outcome.readers.map(({ fault }) => fault)).toEqual([undefined, undefined])
  expect(outcome.swaps).toBeGreaterThanOrEqual(100_000)
}, 30_000)
