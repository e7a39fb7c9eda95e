import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { probePositions } from '../../../src/core/filter/probing.ts'
import { cacheKey } from '../../../src/core/http/cache-key.ts'
import { costOfHitMs, judgeCandidate } from '../../../src/core/peers/candidate-selection.ts'
import {
  addedDelayMs,
  ASK_WAYS,
  DEFAULT_LOOKUP_POLICY,
  LookupPlan,
  type StepOutcome,
} from '../../../src/core/peers/lookup-plan.ts'
import { PeerHealth } from '../../../src/core/peers/peer-health.ts'
import { MAX_PEERS, PeerTable } from '../../../src/core/peers/peer-table.ts'
import { encodeDirUpdate } from '../../../src/core/protocol/dir-update-message.ts'
import { paperGeometry, PaperHasher } from '../../../src/core/protocol/paper-hashing.ts'
import { PaperReplica } from '../../../src/core/protocol/paper-replica.ts'
import { addPublished, newProtocol } from './claiming-peers.ts'
import { tableOptions } from './table-options.ts'

function steps(candidates: number[], outcomes: StepOutcome[], policy = DEFAULT_LOOKUP_POLICY): string[] {
  const plan = new LookupPlan(candidates, 0, policy)
  const taken: string[] = []
  for (const outcome of outcomes) {
    const { step } = plan
    if (step.kind === 'fetch-peer') taken.push(`peer ${step.peer}`)
    else if (step.kind === 'fetch-peers') taken.push(`peers ${step.peers.join(' ')}`)
    else taken.push(step.kind)
    plan.after(outcome)
  }
  return [...taken, plan.step.kind]
}

describe('rule 11: a false hit is cheap', () => {
  test('who is said to be asked is whom the plan asks as long as all is in vain', () => {
    const standing = fc.record({ isConsulted: fc.boolean(), claims: fc.boolean(), isOff: fc.boolean() })
    const policy = fc.record({
      ask: fc.constantFrom(...ASK_WAYS),
      tries: fc.integer({ min: 1, max: 8 }),
      addedDelayMs: fc.constant(500),
    })
    fc.assert(
      fc.property(fc.array(standing, { maxLength: 12 }), policy, (peers, lookup) => {
        const indices = peers.map((_, index) => index)
        const candidates = indices.filter((i) => peers[i]!.isConsulted && peers[i]!.claims && !peers[i]!.isOff)
        const asked: number[] = []
        const plan = new LookupPlan(candidates, 0, lookup)
        while (plan.step.kind === 'fetch-peer' || plan.step.kind === 'fetch-peers') {
          asked.push(...(plan.step.kind === 'fetch-peer' ? [plan.step.peer] : plan.step.peers))
          plan.after('false-hit')
        }
        const verdicts = peers.map((peer, i) => judgeCandidate({ ...peer, rank: candidates.indexOf(i) }, lookup))
        expect(indices.filter((i) => verdicts[i] === 'asked')).toEqual(asked)
      }),
    )
  })

  test('without a candidate the origin is asked at once', () => {
    expect(steps([], ['hit'])).toEqual(['fetch-origin', 'done'])
  })

  test('candidates are asked one at a time, in their order, until one has it', () => {
    expect(steps([4, 2], ['false-hit', 'hit'])).toEqual(['peer 4', 'peer 2', 'done'])
  })

  test('after a false hit or a failure the next candidate follows, and within its bound the origin', () => {
    expect(steps([4, 2, 9, 7], ['failed', 'false-hit'])).toEqual(['peer 4', 'peer 2', 'fetch-origin'])
    const four = { ...DEFAULT_LOOKUP_POLICY, tries: 4 }
    expect(steps([4, 2, 9, 7], ['failed', 'false-hit', 'failed'], four)).toEqual([
      'peer 4',
      'peer 2',
      'peer 9',
      'fetch-peer',
    ])
  })

  test('all claimants are asked at once where that is wanted, and then the origin', () => {
    const all = { ...DEFAULT_LOOKUP_POLICY, ask: 'all' } as const
    expect(steps([4, 2, 9, 7], ['false-hit'], all)).toEqual(['peers 4 2 9 7', 'fetch-origin'])
    expect(steps([4], ['hit'], all)).toEqual(['peer 4', 'done'])
  })

  test('all questions of a request together take no longer than the delay that they may add', () => {
    const policy = { ask: 'best', tries: 8, addedDelayMs: 500 } as const
    const plan = new LookupPlan([1, 2, 3, 4], 1_000, policy)
    expect(plan.step).toEqual({ kind: 'fetch-peer', peer: 1, timeoutMs: 500 })
    expect(plan.after('false-hit', 1_200)).toEqual({ kind: 'fetch-peer', peer: 2, timeoutMs: 300 })
    expect(plan.after('failed', 1_500)).toEqual({ kind: 'fetch-origin' })
  })

  test('nor than some times what the origin takes, since then it cannot pay', () => {
    const policy = { ask: 'best', tries: 2, addedDelayMs: 500 } as const
    expect([addedDelayMs(policy, undefined), addedDelayMs(policy, 1_000)]).toEqual([500, 500])
    expect([addedDelayMs(policy, 60), addedDelayMs(policy, 1)]).toEqual([240, 100])
  })

  test('of two that claim it the one whose hits come sooner is asked first, and before both one not asked yet', () => {
    const near = { latencyMs: 10, truthfulness: 0.2 }
    const far = { latencyMs: 40, truthfulness: 1 }
    expect(costOfHitMs(far)).toBeLessThan(costOfHitMs(near))
    expect(costOfHitMs({ latencyMs: 0, truthfulness: 1 })).toBe(0)
  })

  test('that order costs least on average, whatever comes after', () => {
    const peer = fc.record({
      latencyMs: fc.double({ min: 0.1, max: 500, noNaN: true }),
      truthfulness: fc.double({ min: 0.01, max: 1, noNaN: true }),
    })
    // The mean time until one has it or, after all, the origin answers.
    const meanMs = (order: readonly { latencyMs: number; truthfulness: number }[], originMs: number): number =>
      order.reduceRight((rest, { latencyMs, truthfulness }) => latencyMs + (1 - truthfulness) * rest, originMs)
    fc.assert(
      fc.property(peer, peer, fc.double({ min: 0, max: 1_000, noNaN: true }), (a, b, originMs) => {
        const [first, second] = costOfHitMs(a) <= costOfHitMs(b) ? [a, b] : [b, a]
        expect(meanMs([first, second], originMs)).toBeLessThanOrEqual(meanMs([second, first], originMs) + 1e-9)
      }),
    )
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
    const table = new PeerTable(tableOptions(1_024))
    expect(table.add({ name: 'p', url: 'http://p' })?.index).toBe(0)
    expect(table.add({ name: 'p', url: 'http://other' })).toBeUndefined()
    for (let i = 1; i < MAX_PEERS; i++) table.add({ name: `p${i}`, url: 'http://p' })
    expect(table.add({ name: 'more', url: 'http://p' })).toBeUndefined()
    table.remove('p7')
    expect(table.add({ name: 'more', url: 'http://p' })?.index).toBe(7)
    expect(table.size).toBe(MAX_PEERS)
  })
})

describe('those that are switched off', () => {
  const key = cacheKey('http://origin.example/')
  const doing = fc.record({
    peer: fc.nat(3),
    what: fc.constantFrom('asked in vain', 'tried well', 'leaves', 'joins'),
  })

  test('are none that have left, switched off before or by a late answer, though their bits are still there', () => {
    const { peers } = newProtocol()
    for (const isOffFirst of [true, false]) {
      const replica = new PaperReplica({ maxBitCount: 65_536, staleAfterMs: 60_000 })
      const records = new Uint32Array(4)
      probePositions(new PaperHasher().hash(key.url, 4), paperGeometry(10_007, 4), records)
      const head = { requestNumber: 0, functionCount: 4, functionBits: 32, bitCount: 10_007 }
      replica.receive(encodeDirUpdate({ ...head, records }), 0)
      const peer = { name: 'p', url: 'http://p', transport: 'dir-update', updates: 'p:3130' } as const
      const state = peers.add(peer, replica)!
      if (isOffFirst) state.worth.asked('failed', 500, 20, 0)
      expect(peers.claimantsOff(key, 0)).toEqual(isOffFirst ? [state] : [])
      peers.remove('p')
      if (!isOffFirst) state.worth.asked('failed', 500, 20, 0)
      expect([state.worth.isOff, peers.isClaimed(state, key)]).toEqual([true, true])
      expect(peers.claimantsOff(key, 0)).toEqual([])
    }
  })

  test('are those that going through all peers would find, whatever they do, join or leave', () => {
    fc.assert(
      fc.property(fc.array(doing, { maxLength: 60 }), (deeds) => {
        const asker = newProtocol()
        const names = ['a', 'b', 'c', 'd']
        const states = names.map((name) => addPublished(asker, name, [key]))
        for (const { peer, what } of deeds) {
          const state = states[peer]!
          if (what === 'leaves') asker.peers.remove(names[peer]!)
          else if (what === 'tried well') for (let i = 0; i < 4; i++) state.worth.tried('hit', 1, 20, 0)
          // Of one that has left, too: its last answer was under way.
          else if (what !== 'joins') state.worth.asked('failed', 500, 20, 0)
          else if (asker.peers.named(names[peer]!) === undefined) {
            states[peer] = addPublished(asker, names[peer]!, [key])
          }
          const off = asker.peers.all().filter(({ worth }) => worth.isOff)
          expect(new Set(asker.peers.claimantsOff(key, 0))).toEqual(new Set(off))
        }
      }),
    )
  })
})
