import assert from 'node:assert'
import * as fc from 'fast-check'
import { test } from 'vitest'
import { ExpiryBuckets } from '../../../src/core/directory/expiry-buckets.ts'

const step = fc.record({
  action: fc.constantFrom('place', 'place', 'remove', 'take'),
  lifetimeMs: fc.oneof(fc.integer({ min: 1, max: 300_000 }), fc.constantFrom(Infinity, 1e300, 2 ** 40)),
  passedMs: fc.oneof(fc.nat(40_000), fc.nat(1_000_000), fc.constant(2 ** 40)),
  choice: fc.nat(100),
})

test('things end in the half-minute after their moment, whether time passes in small steps or jumps', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100, size: 'max' }), (steps) => {
      const buckets = new ExpiryBuckets<number>()
      const model = new Map<number, number>()
      let nowMs = -1000
      for (const [name, { action, lifetimeMs, passedMs, choice }] of steps.entries()) {
        if (action === 'place') {
          buckets.place(name, nowMs + lifetimeMs)
          model.set(name, nowMs + lifetimeMs)
        } else if (action === 'remove') {
          const [gone, endsMs] = [...model][choice] ?? []
          if (gone === undefined || endsMs === undefined) continue
          buckets.remove(gone, endsMs)
          buckets.remove(gone, endsMs)
          model.delete(gone)
        } else {
          nowMs += passedMs
          const runningSinceMs = Math.floor(nowMs / 30_000) * 30_000
          const ended = [...model].filter(([, endsMs]) => endsMs < runningSinceMs).map(([thing]) => thing)
          for (const thing of ended) model.delete(thing)
          assert.deepEqual(
            buckets.takeEnded(nowMs).toSorted((a, b) => a - b),
            ended,
          )
        }
      }
    }),
  )
})
