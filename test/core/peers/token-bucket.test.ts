import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TokenBucket } from '../../../src/core/peers/token-bucket.ts'

test('rule 8: what is taken in any stretch of time stays below the burst, one more, and the rate', () => {
  const steps = fc.array(fc.record({ afterMs: fc.nat(500), amount: fc.integer({ min: 1, max: 400 }) }), {
    maxLength: 200,
  })
  fc.assert(
    fc.property(steps, (takes) => {
      const bucket = new TokenBucket({ burst: 1_000, perSecond: 300 })
      const taken: { ms: number; amount: number }[] = []
      let nowMs = 0
      for (const { afterMs, amount } of takes) {
        nowMs += afterMs
        if (bucket.take(amount, nowMs)) taken.push({ ms: nowMs, amount })
      }
      for (let from = 0; from < taken.length; from++) {
        let sum = 0
        for (let to = from; to < taken.length; to++) {
          sum += taken[to]!.amount
          expect(sum).toBeLessThanOrEqual(1_000 + 400 + 0.3 * (taken[to]!.ms - taken[from]!.ms) + 1e-6)
        }
      }
    }),
  )
})

test('who has to wait is told how long, and that is right', () => {
  const bucket = new TokenBucket({ burst: 100, perSecond: 10 })
  expect(bucket.take(150, 0)).toBe(true)
  expect(bucket.take(1, 0)).toBe(false)
  const waitMs = bucket.waitMs(0)
  expect(bucket.take(1, waitMs - 200)).toBe(false)
  expect(bucket.take(1, waitMs)).toBe(true)
})
