import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { keyOf } from '../../core/directory/stored-responses.ts'
import { bytesOf, cut, HandDrivenSource, joined, settled } from './hand-driven-source.ts'
import { bytesRead, readerOf, SmallStore } from './small-store.ts'

const WINDOW_BYTES = 256 * 1024
const key = keyOf('body')

describe('while it is to be stored', () => {
  test('any number of readers, whenever they come, get exactly the bytes, and so does who comes after', async () => {
    const sizes = fc.array(fc.oneof(fc.nat(7), fc.nat(3000), fc.nat(90_000)), { minLength: 1, maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(
        fc.nat(200_000),
        sizes,
        fc.boolean(),
        fc.array(fc.nat(12), { maxLength: 4 }),
        async (length, chunkSizes, announced, joinAt) => {
          const small = new SmallStore()
          const body = bytesOf(length)
          const filling = small.reserve(key, announced ? length : undefined)
          const source = new HandDrivenSource()
          const outcome = filling.fill(source)
          const readers: Promise<Uint8Array>[] = []
          for (const [i, chunk] of cut(body, chunkSizes).entries()) {
            if (joinAt.includes(i)) readers.push(bytesRead(filling.open()))
            source.push(chunk)
            if (i < 12) await settled()
          }
          readers.push(bytesRead(filling.open()))
          source.end()
          expect(await outcome).toBe('committed')
          readers.push(bytesRead(filling.open()), bytesRead(await small.store.open(small.find(key)!)))
          for (const read of readers) expect(Buffer.compare(await read, body)).toBe(0)
          expect(small.directory.usedBytes).toBe(small.find(key)!.sizeBytes)
          expect(small.directory.reservedBytes).toBe(0)
        },
      ),
      { numRuns: 40 },
    )
  })

  test('the source is read at full pace, though nobody has opened it or its reader sleeps', async () => {
    for (const opened of [false, true]) {
      const small = new SmallStore()
      const filling = small.reserve(key)
      if (opened) filling.open()
      const source = new HandDrivenSource()
      source.push(...cut(bytesOf(900_000), [10_000]))
      source.end()
      expect(await filling.fill(source)).toBe('committed')
      expect(source.asked).toBe(91)
    }
  })

  test('what is kept is a copy of just its size, whatever the source does with its buffers', async () => {
    const small = new SmallStore()
    const filling = small.reserve(key)
    const source = new HandDrivenSource()
    const outcome = filling.fill(source)
    const chunk = Buffer.from('a small piece of a pooled buffer')
    source.push(chunk)
    await settled()
    chunk.fill(0)
    source.end()
    await outcome
    const kept = await bytesRead(await small.store.open(small.find(key)!))
    expect(Buffer.from(kept).toString()).toBe('a small piece of a pooled buffer')
    expect(kept.buffer.byteLength).toBe(chunk.length)
  })

  test('an announced length is reserved at once, an unknown one in steps', async () => {
    const small = new SmallStore()
    const announced = small.reserve(keyOf(1), 500_000)
    expect(small.directory.reservedBytes).toBeGreaterThan(500_000)
    announced.abort()
    expect(small.directory.reservedBytes).toBe(0)

    const unknown = small.reserve(keyOf(2))
    const headBytes = small.directory.reservedBytes
    const source = new HandDrivenSource()
    const outcome = unknown.fill(source)
    source.push(bytesOf(10))
    await settled()
    expect(small.directory.reservedBytes - headBytes).toBe(4096)
    for (let i = 0; i < 50_000; i++) source.push(bytesOf(1))
    await settled()
    expect(small.directory.reservedBytes - headBytes).toBeGreaterThan(50_000)
    expect(small.directory.reservedBytes - headBytes).toBeLessThan(120_000)
    source.end()
    expect(await outcome).toBe('committed')
    expect(small.directory.reservedBytes).toBe(0)
    expect(small.directory.usedBytes).toBe(headBytes + 50_010)
  })

  test('a body of no bytes is stored too', async () => {
    const small = new SmallStore()
    expect((await small.admit(keyOf(1), new Uint8Array(0))).bodyBytes).toBe(0)
    const filling = small.reserve(keyOf(2))
    const read = bytesRead(filling.open())
    const source = new HandDrivenSource()
    source.end()
    expect(await filling.fill(source)).toBe('committed')
    expect(await read).toHaveLength(0)
  })

  test('readers that are behind at the end go on from the kept bytes', async () => {
    const small = new SmallStore()
    const body = bytesOf(200_000)
    const filling = small.reserve(key)
    const opened = filling.open()
    const reader = readerOf(opened)
    const source = new HandDrivenSource()
    const outcome = filling.fill(source)
    source.push(...cut(body, [50_000]))
    const first = await reader.next()
    source.end()
    expect(await outcome).toBe('committed')
    const rest: Uint8Array[] = [first.value]
    for (let piece = await reader.next(); !piece.done; piece = await reader.next()) rest.push(piece.value)
    expect(Buffer.compare(joined(rest), body)).toBe(0)
  })
})

describe('giving up', () => {
  test('when its last reader has gone, at once, though the source is silent', async () => {
    const small = new SmallStore()
    const filling = small.reserve(key, 1000)
    const [first, second] = [filling.open()!, filling.open()!]
    const source = new HandDrivenSource()
    const outcome = filling.fill(source)
    source.push(bytesOf(10))
    await settled()
    first.release()
    first.release()
    await settled()
    expect(source.cancelled).toBe(false)
    const waiting = readerOf(second).next()
    await waiting
    await readerOf(second).return?.()
    expect(await outcome).toBe('unread')
    expect(source.cancelled).toBe(true)
    expect(small.directory.reservedBytes).toBe(0)
    expect(small.find(key)).toBeUndefined()
    expect(filling.open()).toBeUndefined()
    expect(await readerOf(second).next()).toEqual({ done: true, value: undefined })
  })

  test('before its source has come', async () => {
    const small = new SmallStore()
    const filling = small.reserve(key)
    filling.open()!.release()
    const source = new HandDrivenSource()
    expect(await filling.fill(source)).toBe('unread')
    expect(source.cancelled).toBe(true)
    expect(source.asked).toBe(0)
  })

  test('a reader that is waiting ends when it is released', async () => {
    const filling = new SmallStore().reserve(key)
    const opened = filling.open()!
    const waiting = readerOf(opened).next()
    opened.release()
    expect(await waiting).toEqual({ done: true, value: undefined })
  })

  test('an abort frees what was held and tells the readers', async () => {
    const small = new SmallStore()
    const filling = small.reserve(key, 1000)
    const waiting = bytesRead(filling.open())
    const asleep = filling.open()
    filling.abort()
    expect(small.directory.reservedBytes).toBe(0)
    await expect(waiting).rejects.toMatchObject({ name: 'BrokenBodyError', code: 'ABORTED' })
    await expect(bytesRead(asleep)).rejects.toMatchObject({ code: 'ABORTED' })
    const source = new HandDrivenSource()
    expect(await filling.fill(source)).toBe('failed')
    expect(source.cancelled).toBe(true)
    filling.abort()
    expect(small.directory.reservedBytes).toBe(0)
  })

  test('an abort reaches a source that is being read', async () => {
    const small = new SmallStore()
    const filling = small.reserve(key)
    const source = new HandDrivenSource()
    const outcome = filling.fill(source)
    source.push(bytesOf(10))
    await settled()
    filling.abort()
    expect(await outcome).toBe('failed')
    expect(source.cancelled).toBe(true)
    expect(small.directory.reservedBytes).toBe(0)
  })
})

describe('a source that breaks its promise', () => {
  test.each([
    ['breaks off', 'SOURCE_FAILED', 2000, (source: HandDrivenSource) => source.fail(new Error('reset'))],
    ['ends short of what it announced', 'TOO_SHORT', 2000, (source: HandDrivenSource) => source.end()],
    ['sends more than it announced', 'TOO_LONG', 1000, (source: HandDrivenSource) => source.push(bytesOf(1))],
  ])('%s: nothing is stored, readers get what had come and then an error', async (_, code, announced, breakIt) => {
    const small = new SmallStore()
    const filling = small.reserve(key, announced)
    const opened = filling.open()
    const source = new HandDrivenSource()
    const outcome = filling.fill(source)
    source.push(bytesOf(1000))
    await settled()
    breakIt(source)
    expect(await outcome).toBe('failed')
    expect(filling.open()).toBeUndefined()
    const reader = readerOf(opened)
    expect((await reader.next()).value).toEqual(bytesOf(1000))
    expect(small.directory.reservedBytes).toBeGreaterThan(1000)
    await expect(reader.next()).rejects.toMatchObject({ name: 'BrokenBodyError', code })
    expect(await reader.next()).toEqual({ done: true, value: undefined })
    expect(small.directory.reservedBytes).toBe(0)
    expect(small.directory.entryCount).toBe(0)
    expect(source.cancelled).toBe(code === 'TOO_LONG')
  })

  test('the cause is kept, and a whole body is held to its length as well', async () => {
    const small = new SmallStore()
    const cause = new Error('reset')
    const filling = small.reserve(key)
    const read = bytesRead(filling.open())
    const source = new HandDrivenSource()
    const outcome = filling.fill(source)
    source.fail(cause)
    expect(await outcome).toBe('failed')
    await expect(read).rejects.toMatchObject({ cause })
    expect(await small.reserve(key, 5).fill(bytesOf(4))).toBe('failed')
    expect(await small.reserve(key, 5).fill(bytesOf(6))).toBe('failed')
    expect(small.directory.reservedBytes).toBe(0)
  })
})

describe('a body that outgrows what may be stored', () => {
  /** 3 MB in chunks of 10 000 bytes, for a store that takes 1 MB. */
  function large() {
    const small = new SmallStore()
    const body = bytesOf(3_000_000)
    const filling = small.reserve(key)
    const source = new HandDrivenSource()
    source.push(...cut(body, [10_000]))
    source.end()
    return { small, body, filling, source }
  }

  test('reaches its readers whole, and is not stored', async () => {
    const { small, body, filling, source } = large()
    const reads = [bytesRead(filling.open()), bytesRead(filling.open())]
    expect(await filling.fill(source)).toBe('too-large')
    for (const read of reads) expect(Buffer.compare(await read, body)).toBe(0)
    expect(small.find(key)).toBeUndefined()
    expect([small.directory.usedBytes, small.directory.reservedBytes]).toEqual([0, 0])
  })

  test('its source waits for the slowest reader from then on, and what all have had is dropped', async () => {
    const { small, body, filling, source } = large()
    const reader = readerOf(filling.open())
    const fast = bytesRead(filling.open())
    const outcome = filling.fill(source)
    await settled()
    // All it may hold, and the chunk that told that it is too much.
    expect(source.asked).toBe(101)
    expect(filling.open()).toBeUndefined()
    const reservedAtMost = small.directory.reservedBytes
    expect(reservedAtMost).toBeGreaterThanOrEqual(1_000_000)

    const pieces: Uint8Array[] = []
    let readBytes = 0
    for (let piece = await reader.next(); !piece.done; piece = await reader.next()) {
      pieces.push(piece.value)
      const had = readBytes
      readBytes += piece.value.length
      await settled()
      expect((source.asked - 1) * 10_000 - Math.max(had, 1_000_000 - WINDOW_BYTES)).toBeLessThanOrEqual(
        WINDOW_BYTES + 20_000,
      )
      expect(small.directory.reservedBytes).toBeLessThanOrEqual(Math.max(0, reservedAtMost - had + 65_536))
    }
    expect(Buffer.compare(joined(pieces), body)).toBe(0)
    expect(Buffer.compare(await fast, body)).toBe(0)
    expect(await outcome).toBe('too-large')
    expect(small.directory.reservedBytes).toBe(0)
  })

  test('the others go on when the slowest has gone', async () => {
    const { filling, source } = large()
    const slow = filling.open()!
    const fast = bytesRead(filling.open())
    const outcome = filling.fill(source)
    await settled()
    expect(source.asked).toBe(101)
    slow.release()
    expect(await outcome).toBe('too-large')
    expect(await fast).toHaveLength(3_000_000)
  })

  test('it is given up when its readers have gone while it waits for them', async () => {
    const { small, filling, source } = large()
    const slow = filling.open()!
    const outcome = filling.fill(source)
    await settled()
    slow.release()
    expect(await outcome).toBe('unread')
    expect(source.cancelled).toBe(true)
    expect(small.directory.reservedBytes).toBe(0)
  })

  test('it is given up at once when nobody has opened it', async () => {
    const { small, filling, source } = large()
    expect(await filling.fill(source)).toBe('too-large')
    expect(source.cancelled).toBe(true)
    expect(source.asked).toBe(101)
    expect(small.directory.reservedBytes).toBe(0)
  })

  test('outgrowing the budget is the same', async () => {
    const small = new SmallStore({ capacityBytes: 300_000 })
    const held = small.reserve(keyOf('held'), 100_000)
    const body = bytesOf(500_000)
    const filling = small.reserve(key)
    const read = bytesRead(filling.open())
    const source = new HandDrivenSource()
    source.push(...cut(body, [1000]))
    source.end()
    expect(await filling.fill(source)).toBe('too-large')
    expect(Buffer.compare(await read, body)).toBe(0)
    held.abort()
    expect(small.directory.reservedBytes).toBe(0)
  })

  test('a chunk larger than any block passes too', async () => {
    const small = new SmallStore()
    const body = bytesOf(5_000_000)
    const filling = small.reserve(key)
    const read = bytesRead(filling.open())
    expect(await filling.fill(body)).toBe('too-large')
    expect(Buffer.compare(await read, body)).toBe(0)
    expect(small.directory.reservedBytes).toBe(0)
  })
})

test('a hundred thousand one-byte chunks reach reader and store in linear time', async () => {
  const small = new SmallStore()
  const filling = small.reserve(key)
  const read = bytesRead(filling.open())
  const source = (async function* () {
    const chunk = Uint8Array.of(120)
    for (let i = 0; i < 100_000; i++) yield chunk
  })()
  expect(await filling.fill(source)).toBe('committed')
  expect(await read).toHaveLength(100_000)
  expect(small.find(key)!.bodyBytes).toBe(100_000)
})
