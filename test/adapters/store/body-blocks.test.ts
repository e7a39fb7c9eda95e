import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { BodyBlocks } from '../../../src/adapters/store/body-blocks.ts'
import { bytesOf, cut, joined } from './hand-driven-source.ts'

const sizes = fc.array(fc.oneof(fc.nat(10), fc.nat(5000), fc.nat(100_000)), { minLength: 1, maxLength: 20 })

test('every view and the whole are the bytes that came in, however they were cut', () => {
  fc.assert(
    fc.property(
      fc.nat(300_000),
      sizes,
      fc.boolean(),
      fc.nat(1000),
      (length, chunkSizes, announced, droppedPerMille) => {
        const body = bytesOf(length)
        const blocks = new BodyBlocks(announced ? length : undefined)
        for (const chunk of cut(body, chunkSizes)) {
          const growth = blocks.growthFor(chunk.length)
          const before = blocks.heldBytes
          blocks.append(chunk)
          expect(blocks.heldBytes - before).toBe(growth)
        }
        expect(blocks.length).toBe(length)
        const whole = blocks.joined()
        expect(Buffer.compare(whole, body)).toBe(0)
        expect(whole.buffer.byteLength).toBe(length)
        expect(blocks.heldBytes - length).toBeLessThan(announced ? 1 : 65_536)

        const from = Math.floor((length * droppedPerMille) / 1000)
        blocks.dropBefore(from)
        const pieces: Uint8Array[] = []
        for (let offset = from; offset < length; offset += pieces.at(-1)!.length) pieces.push(blocks.view(offset))
        expect(Buffer.compare(joined(pieces), body.subarray(from))).toBe(0)
        blocks.dropAll()
        expect(blocks.heldBytes).toBe(0)
      },
    ),
    { numRuns: 50 },
  )
})

test('a million one-byte chunks are held in a few blocks, little larger than they are', () => {
  const blocks = new BodyBlocks(undefined)
  const chunk = Uint8Array.of(7)
  let blockCount = 0
  for (let i = 0; i < 1_000_000; i++) {
    if (blocks.growthFor(1) > 0) blockCount++
    blocks.append(chunk)
  }
  expect(blockCount).toBeLessThan(25)
  expect(blocks.heldBytes).toBeLessThan(1_000_000 + 65_536)
  expect(blocks.joined().every((byte) => byte === 7)).toBe(true)
})

test('dropping lets go of whole blocks only, and never of the one that still has room', () => {
  const blocks = new BodyBlocks(undefined)
  blocks.append(bytesOf(4096))
  blocks.append(bytesOf(10))
  blocks.dropBefore(4095)
  expect(blocks.heldBytes).toBe(8192)
  blocks.dropBefore(4106)
  expect(blocks.heldBytes).toBe(4096)
  expect(() => blocks.view(4095)).toThrow('not held')
  expect(() => blocks.view(4106)).toThrow('not held')
})
