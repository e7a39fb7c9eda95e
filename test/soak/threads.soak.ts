import { expect, test } from 'vitest'
import { swapBuffersUnderReaders } from '../core/digest/double-buffer-threads.ts'
import { swapUnderReaders } from '../core/digest/matrix-threads.ts'

test('through ten million swaps readers on three threads see no torn state and miss no key of both', async () => {
  const outcome = await swapUnderReaders(10_000_000, 3)
  expect(outcome.readers.map(({ fault }) => fault)).toEqual([undefined, undefined, undefined])
  expect(outcome.swaps).toBeGreaterThanOrEqual(10_000_000)
  expect(outcome.deltas).toBeGreaterThan(10_000_000)
})

test('through ten million swaps of plain buffers, too', async () => {
  const outcome = await swapBuffersUnderReaders(10_000_000, 3)
  expect(outcome.readers.map(({ fault }) => fault)).toEqual([undefined, undefined, undefined])
  expect(outcome.swaps).toBeGreaterThanOrEqual(10_000_000)
})
