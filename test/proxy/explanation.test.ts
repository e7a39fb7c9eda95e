import { describe, expect, test } from 'vitest'
import type { DirectoryEntry } from '../../src/core/directory/cache-directory.ts'
import { cacheKey } from '../../src/core/http/cache-key.ts'
import { VALIDATABLE } from '../../src/core/http/freshness.ts'
import type { ReuseVerdict } from '../../src/core/http/reuse.ts'
import { DEFAULT_LOOKUP_POLICY, LookupPlan } from '../../src/core/peers/lookup-plan.ts'
import { explainLookup, type LookupFacts } from '../../src/proxy/explanation.ts'
import { storedOf } from '../core/directory/stored-responses.ts'
import { addPublished, newProtocol } from '../core/peers/claiming-peers.ts'

const key = cacheKey('http://origin.example/')

function explained(peers: LookupFacts['peers'], more: Partial<LookupFacts> = {}) {
  return explainLookup({
    key,
    entry: undefined,
    verdict: 'absent',
    peers,
    policy: DEFAULT_LOOKUP_POLICY,
    originMs: undefined,
    reasonOf: () => '',
    nowMs: 0,
    ...more,
  })
}

function choices(peers: LookupFacts['peers'], more: Partial<LookupFacts> = {}): Record<string, string> {
  return Object.fromEntries(explained(peers, more).peers.map(({ choice, name }) => [name, choice]))
}

/** a to d claim the key, ever slower; e does not. */
function fivePeers() {
  const asker = newProtocol()
  const states = ['a', 'b', 'c', 'd'].map((name) => addPublished(asker, name, [key]))
  for (const [place, state] of states.entries()) state.latencyMs = place + 1
  addPublished(asker, 'e', [])
  return { peers: asker.peers, states }
}

describe('what a lookup would do', () => {
  test('is told with its order, its bound and who is left out by it', () => {
    const { peers } = fivePeers()
    const { lookup, peers: views, plan } = explained(peers)
    expect(plan).toEqual(['ask peer a', 'ask peer b', 'fetch from the origin'])
    expect(lookup).toEqual({ ask: 'best', tries: 2, addedDelayMs: 500, originMs: null })
    expect(views.map(({ choice, reason }) => [choice, reason])).toEqual([
      ['asked', 'a hit there takes 1.0 ms on average'],
      ['asked', 'a hit there takes 2.0 ms on average'],
      ['beyond-tries', 'a hit there takes 3.0 ms on average; beyond the 2 that are tried'],
      ['beyond-tries', 'a hit there takes 4.0 ms on average; beyond the 2 that are tried'],
      ['no-claim', 'its digest does not claim it'],
    ])
  })

  test('a peer that is switched off takes nobody’s place among those that are tried', () => {
    const { peers, states } = fivePeers()
    while (!states[0]!.worth.isOff) states[0]!.worth.asked('failed', 500, 20, 0)
    expect(choices(peers)).toEqual({ a: 'switched-off', b: 'asked', c: 'asked', d: 'beyond-tries', e: 'no-claim' })
    expect(explained(peers).plan).toEqual(['ask peer b', 'ask peer c', 'fetch from the origin'])
    // As the live lookup does.
    const asked = peers.candidates(key, 0)
    expect(new LookupPlan(asked, 0).step).toMatchObject({ kind: 'fetch-peer', peer: states[1]!.index })
  })

  test('rule 9: one that claims the key and is not consulted is said to be that, whatever its digest says', () => {
    const { peers, states } = fivePeers()
    states[0]!.isConnected = false
    expect(explained(peers).peers[0]).toEqual({
      name: 'a',
      claims: true,
      consulted: false,
      choice: 'not-consulted',
      reason: 'it is not connected',
    })
    expect(explained(peers, { reasonOf: () => 'connection refused' }).peers[0]!.reason).toBe('connection refused')
  })

  test('all claimants are asked together where that is the policy, without a bound on tries', () => {
    const { peers } = fivePeers()
    const { plan } = explained(peers, { policy: { ...DEFAULT_LOOKUP_POLICY, ask: 'all' } })
    expect(plan).toEqual([
      ...['a', 'b', 'c', 'd'].map((name) => `ask peer ${name}, with the others`),
      'fetch from the origin',
    ])
  })

  test('the bound on added delay is the smaller one where the origin is quick', () => {
    const { peers } = fivePeers()
    expect(explained(peers, { originMs: 40 }).lookup).toMatchObject({ addedDelayMs: 160, originMs: 40 })
  })

  test('peers are asked for what is stored only where nothing can be validated', () => {
    const { peers } = fivePeers()
    const stored = storedOf()
    const of = (flags: number, verdict: ReuseVerdict) => {
      const entry: DirectoryEntry = {
        slot: 0,
        key,
        stored: { ...stored, facts: { ...stored.facts, flags } },
        bodyBytes: 0,
        sizeBytes: 0,
      }
      const { peers: views, plan } = explained(peers, { entry, verdict })
      return [views[0]!.choice, ...plan]
    }
    expect(of(0, 'serve')).toEqual(['not-needed', 'serve from the store'])
    expect(of(VALIDATABLE, 'stale')).toEqual(['not-needed', 'validate at the origin (stale)'])
    expect(of(0, 'stale')).toEqual(['asked', 'ask peer a', 'ask peer b', 'fetch from the origin'])
    expect(of(VALIDATABLE, 'coding-refused')).toEqual(['asked', 'ask peer a', 'ask peer b', 'fetch from the origin'])
  })
})
