import { describe, test } from 'vitest'
import { geometryFor } from '../../src/core/filter/filter-geometry.ts'
import { cacheKey } from '../../src/core/http/cache-key.ts'
import { SummaryCacheProtocol } from '../../src/core/protocol/summary-cache-protocol.ts'
import { UPDATE_PROFILES } from '../../src/core/protocol/update-policy.ts'

const ENTRIES = 100_000
const geometry = geometryFor(ENTRIES)

function protocol(incarnation: number): SummaryCacheProtocol {
  return new SummaryCacheProtocol(
    {
      incarnation,
      geometry,
      policy: UPDATE_PROFILES.fresh(),
      pendingClearShare: 0.03,
      generationAgeMs: Number.MAX_SAFE_INTEGER,
      heartbeatMs: 5_000,
      maxBitCount: geometry.bitCount,
    },
    0,
  )
}

describe(`a digest of ${ENTRIES} entries`, () => {
  test('publishing and applying', async ({ bench }) => {
    const publisher = protocol(1)
    for (let i = 0; i < ENTRIES; i++) publisher.claimed(cacheKey(`http://origin.example/${i}`))
    publisher.publisher.publish(0, 'command')
    const follower = protocol(2)
    const state = follower.peers.add({ name: 'p', url: 'http://p' })!
    let next = ENTRIES
    await bench.compare(
      bench('a delta of 100 new entries, published and applied', () => {
        for (let i = 0; i < 100; i++) publisher.claimed(cacheKey(`http://origin.example/${next++}`))
        const due = publisher.publisher.publish(0, 'command')
        if (due !== undefined) follower.receive(0, due.frame, 0)
      }),
      bench('a snapshot, encoded and applied', () => {
        state.digest.replica.receive({ kind: 'goodbye', name: publisher.publisher.name })
        for (const { frame } of publisher.answer(state.digest.want(), next++)) follower.receive(0, frame, 0)
        while (state.digest.work(0)) continue
      }),
    )
  })

  test('looking one key up in the digests of sixteen peers', async ({ bench }) => {
    const follower = protocol(3)
    for (let i = 0; i < 16; i++) {
      const publisher = protocol(1)
      for (let n = 0; n < ENTRIES; n++) publisher.claimed(cacheKey(`http://origin-${i}.example/${n}`))
      publisher.publisher.publish(0, 'command')
      const { digest } = follower.peers.add({ name: `p${i}`, url: 'http://p' })!
      for (const { frame } of publisher.answer(digest.want(), 0)) follower.receive(i, frame, 0)
      while (digest.work(0)) continue
    }
    const strangers = Array.from({ length: 1_000 }, (_, i) => cacheKey(`http://nowhere.example/${i}`))
    await bench.compare(
      bench('a thousand keys that none holds', () => {
        for (const key of strangers) follower.peers.candidates(key, 0)
      }),
      bench('a thousand keys that one holds', () => {
        for (let i = 0; i < 1_000; i++) follower.peers.candidates(cacheKey(`http://origin-7.example/${i}`), 0)
      }),
    )
  })
})
