import { describe, expect, test } from 'vitest'
import { UNKEYED } from '../../../src/core/filter/filter-geometry.ts'
import { LookupPlan, MAX_PEER_TRIES, type StepOutcome } from '../../../src/core/peers/lookup-plan.ts'
import { PeerHealth } from '../../../src/core/peers/peer-health.ts'
import { MAX_PEERS, PeerTable } from '../../../src/core/peers/peer-table.ts'
import { peerBudgets } from '../../../src/core/protocol/peer-budgets.ts'

function steps(candidates: number[], outcomes: StepOutcome[]): string[] {
  const plan = new LookupPlan(candidates)
  const taken: string[] = []
  for (const outcome of outcomes) {
    const { step } = plan
    taken.push(step.kind === 'fetch-peer' ? `peer ${step.peer}` : step.kind)
    plan.after(outcome)
  }
  return [...taken, plan.step.kind]
}

describe('rule 11: a false hit is cheap', () => {
  test('without a candidate the origin is asked at once', () => {
    expect(steps([], ['hit'])).toEqual(['fetch-origin', 'done'])
  })

  test('candidates are asked one at a time, in their order, until one has it', () => {
    expect(steps([4, 2], ['false-hit', 'hit'])).toEqual(['peer 4', 'peer 2', 'done'])
  })

  test('after a false hit or a failure the next candidate follows, and within its bound the origin', () => {
    expect(steps([4, 2, 9, 7], ['failed', 'false-hit'])).toEqual(['peer 4', 'peer 2', 'fetch-origin'])
    expect(MAX_PEER_TRIES).toBe(2)
  })
})

describe('rule 9: one that fails is skipped, and tried again with growing pauses', () => {
  test('a failure suspends at once; the peer comes back when it is heard of after the pause', () => {
    const health = new PeerHealth()
    health.failed(0, 'refused')
    expect([health.mayBeAsked, health.reason]).toEqual([false, 'refused'])
    expect(health.heard(999)).toBe(false)
    expect(health.heard(1_000)).toBe(true)
    expect(health.mayBeAsked).toBe(true)
  })

  test('each further failure doubles the pause, to half a minute; an answer ends that', () => {
    const health = new PeerHealth()
    let nowMs = 0
    const pauses: number[] = []
    for (let i = 0; i < 7; i++) {
      health.failed(nowMs, 'no answer')
      const failedAtMs = nowMs
      while (!health.heard(nowMs)) nowMs += 500
      pauses.push(nowMs - failedAtMs)
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
    health.answered()
    health.failed(nowMs, 'no answer')
    expect(health.heard(nowMs + 1_000)).toBe(true)
  })

  test('requests that were under way together fail together: one failure', () => {
    const health = new PeerHealth()
    for (let i = 0; i < 100; i++) health.failed(i, 'refused')
    expect(health.heard(1_000)).toBe(true)
  })
})

describe('the table of peers', () => {
  test('is bounded, and a name is one peer', () => {
    const table = new PeerTable({
      maxBitCount: 1_024,
      hashing: UNKEYED,
      heartbeatMs: 5_000,
      budgets: peerBudgets(1_024, 1_024),
    })
    expect(table.add({ name: 'p', url: 'http://p' })?.index).toBe(0)
    expect(table.add({ name: 'p', url: 'http://other' })).toBeUndefined()
    for (let i = 1; i < MAX_PEERS; i++) table.add({ name: `p${i}`, url: 'http://p' })
    expect(table.add({ name: 'more', url: 'http://p' })).toBeUndefined()
    table.remove('p7')
    expect(table.add({ name: 'more', url: 'http://p' })?.index).toBe(7)
    expect(table.size).toBe(MAX_PEERS)
  })
})
