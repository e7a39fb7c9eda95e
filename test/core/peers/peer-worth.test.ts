import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PeerWorth, type AskOutcome } from '../../../src/core/peers/peer-worth.ts'

const ORIGIN_MS = 50

describe('rule 11: a peer that does not pay for itself is switched off until it does', () => {
  test('one that is near and true never is', () => {
    const worth = new PeerWorth()
    for (let i = 0; i < 1_000; i++) expect(worth.asked('hit', 5, ORIGIN_MS, i)).toBe(false)
    expect(worth.savedMs).toBe(45_000)
  })

  test('one that is as true as digests are at a fill of one half is not either', () => {
    const worth = new PeerWorth()
    for (let i = 0; i < 1_000; i++) expect(worth.asked(i % 3 === 0 ? 'false-hit' : 'hit', 5, ORIGIN_MS, i)).toBe(false)
  })

  test('one that takes as long as the origin is not: it spares the origin all the same', () => {
    for (const originMs of [1, 50, 1_000]) {
      const worth = new PeerWorth()
      for (let i = 0; i < 1_000; i++) {
        const noise = ((i * 7) % 11) - 5
        expect(worth.asked('hit', Math.max(0, originMs + noise), originMs, i)).toBe(false)
      }
    }
  })

  test('a slow one is after its first answers, a lying one once it has cost as much as some origin requests', () => {
    const slow = new PeerWorth()
    let asks = 1
    while (!slow.asked('failed', 200, ORIGIN_MS, asks)) asks++
    expect(asks).toBeLessThanOrEqual(2)
    const liar = new PeerWorth()
    asks = 1
    while (!liar.asked('false-hit', 1, ORIGIN_MS, asks)) asks++
    expect(asks).toBe(201)
    expect(liar.isOff).toBe(true)
  })

  test('merit is kept for so long only: after a million good answers a slow one costs no more than after none', () => {
    const worth = new PeerWorth()
    for (let i = 0; i < 100_000; i++) worth.asked('hit', 1, ORIGIN_MS, 0)
    let asks = 1
    while (!worth.asked('hit', 300, ORIGIN_MS, 0)) asks++
    expect(asks).toBeLessThanOrEqual(3)
  })

  test('what it costs in all before it is off is bounded, whatever it does', () => {
    const ask = fc.record({
      outcome: fc.constantFrom<AskOutcome>('hit', 'false-hit', 'failed'),
      elapsedMs: fc.integer({ min: 0, max: 500 }),
    })
    fc.assert(
      fc.property(fc.array(ask, { maxLength: 200 }), (asks) => {
        const worth = new PeerWorth()
        let best = 0
        let sum = 0
        let saved = 0
        for (const { elapsedMs, outcome } of asks) {
          if (worth.isOff) break
          worth.asked(outcome, elapsedMs, ORIGIN_MS, 0)
          saved += outcome === 'hit' ? ORIGIN_MS - elapsedMs : -elapsedMs
          sum += outcome === 'hit' ? ORIGIN_MS + 5 - elapsedMs : -elapsedMs
          best = Math.max(best, sum)
        }
        // Two allowances: one of merit that is lost again, one of debt, and the question that went beyond it.
        expect(best - sum).toBeLessThanOrEqual(2 * 4 * ORIGIN_MS + 500)
        expect(worth.savedMs).toBe(saved)
      }),
    )
  })

  test('it is tried without a request waiting, after pauses that double, and comes back after four good trials', () => {
    const worth = new PeerWorth()
    while (!worth.asked('failed', 200, ORIGIN_MS, 0)) continue
    expect([worth.takeTrial(999), worth.takeTrial(1_000), worth.takeTrial(1_000)]).toEqual([false, true, false])
    expect(worth.tried('hit', 400, ORIGIN_MS, 1_400)).toBe(false)
    expect([worth.takeTrial(3_399), worth.takeTrial(3_400)]).toEqual([false, true])
    const back = [1, 2, 3, 4].map((trial) => {
      if (trial > 1) expect(worth.takeTrial(3_400 + trial)).toBe(true)
      return worth.tried('hit', 5, ORIGIN_MS, 3_400 + trial)
    })
    expect(back).toEqual([false, false, false, true])
    expect(worth.isOff).toBe(false)
    expect(worth.takeTrial(1e9)).toBe(false)
  })

  test('where the origin is not known yet, hits count nothing and failures what they took', () => {
    const worth = new PeerWorth()
    expect(worth.asked('hit', 300, undefined, 0)).toBe(false)
    expect(worth.savedMs).toBe(0)
    let asks = 1
    while (!worth.asked('failed', 150, undefined, 0)) asks++
    expect(asks).toBe(3)
  })
})
