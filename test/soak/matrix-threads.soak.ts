import { expect, test } from 'vitest'
import { swapUnderReaders } from '../core/digest/matrix-threads.ts'

test('through ten million swaps readers on three threads see no torn state and miss no key of both', async () => {
  const outcome = await swapUnderReaders(10_000_000, 3)
  expect(outcome.readers.map(({ fault }) => fault)).toEqual([undefined, undefined, undefined])
  expect(outcome.swaps).toBe(10_000_000)
  expect(outcome.deltas).toBeGreaterThan(10_000_000)
  expect(Math.min(...outcome.readers.map(({ lookups }) => lookups))).toBeGreaterThan(10_000)
})
