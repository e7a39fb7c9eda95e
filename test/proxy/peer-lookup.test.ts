import { describe, expect, test } from 'vitest'
import { cacheKey } from '../../src/core/http/cache-key.ts'
import { Fields } from '../../src/core/http/fields.ts'
import type { RequestHead } from '../../src/core/http/message-head.ts'
import { DEFAULT_LOOKUP_POLICY } from '../../src/core/peers/lookup-plan.ts'
import type { Peer } from '../../src/core/peers/peer.ts'
import { PeerLookup, type PeerAnswer } from '../../src/proxy/peer-lookup.ts'
import { FetchError, type FetchedResponse, type PeerFetch } from '../../src/proxy/ports.ts'
import type { PeerAsked, ProxyEvent } from '../../src/proxy/proxy-event.ts'
import { addPublished, newProtocol } from '../core/peers/claiming-peers.ts'
import { VirtualClock } from './virtual-clock.ts'

const key = cacheKey('http://origin.example/')
const request: RequestHead = { method: 'GET', url: key.url, fields: Fields.none }

/** When a peer answers, and whether it has the object; undefined: never. */
type Manner = { readonly afterMs: number; readonly has: boolean } | undefined

/** Peers behind the port, in virtual time. */
class ScriptedPeers implements PeerFetch<string> {
  readonly #clock: VirtualClock
  readonly #manners: Readonly<Record<string, Manner>>

  constructor(clock: VirtualClock, manners: Readonly<Record<string, Manner>>) {
    this.#clock = clock
    this.#manners = manners
  }

  async fetch(
    peer: Peer,
    _request: RequestHead,
    signal: AbortSignal,
    timeoutMs: number,
  ): Promise<FetchedResponse<string>> {
    const manner = this.#manners[peer.name]
    const answersInTime = manner !== undefined && manner.afterMs <= timeoutMs
    await this.#clock.sleep(answersInTime ? manner.afterMs : timeoutMs, signal)
    if (signal.aborted) throw new FetchError('cancelled', 'aborted', 90)
    if (!answersInTime) throw new FetchError('http_response_timeout', `no answer within ${timeoutMs} ms`, 90)
    return {
      head: {
        status: manner.has ? 200 : 504,
        reason: '',
        fields: Fields.of({
          'Cache-Status': manner.has ? 'p; hit' : 'p; fwd=uri-miss; detail=absent; claim=collision',
        }),
      },
      body: 'body',
      bodyBytes: 4,
      requestHeadBytes: 90,
      responseHeadBytes: 60,
      cancel: () => undefined,
    }
  }
}

/** A lookup among peers that all claim the key, asked in the order of their names. */
function lookupAmong(manners: Readonly<Record<string, Manner>>) {
  const clock = new VirtualClock()
  const asker = newProtocol()
  for (const name of Object.keys(manners)) addPublished(asker, name, [key])
  const events: ProxyEvent[] = []
  const lookup = new PeerLookup<string>({
    protocol: asker,
    fetcher: new ScriptedPeers(clock, manners),
    clock,
    events: { emit: (event: ProxyEvent) => void events.push(event) },
    policy: DEFAULT_LOOKUP_POLICY,
    switchesOff: true,
  })
  return {
    clock,
    peers: asker.peers,
    /** As the plan says, until a hit; undefined: the origin's turn. */
    find: async (signal: AbortSignal): Promise<PeerAnswer<string> | undefined> => {
      const plan = lookup.plan(key)
      let { step } = plan
      while (step.kind === 'fetch-peer' || step.kind === 'fetch-peers') {
        const answer = await lookup.perform(step, request, signal)
        if (answer.outcome === 'hit') return answer
        step = plan.after(answer.outcome, clock.monotonicMs())
      }
      return undefined
    },
    asked: () =>
      events
        .filter((event): event is PeerAsked => event.kind === 'peer-asked')
        .map(({ elapsedMs, outcome, peer }) => [peer, outcome, elapsedMs]),
    changes: () => events.flatMap((event) => (event.kind === 'peer-changed' ? [`${event.peer} ${event.state}`] : [])),
  }
}

describe('rule 11: a bound on what peers add to a request', () => {
  test('a peer that never answers is given up when the time is spent; the origin follows at once', async () => {
    const { asked, changes, clock, find, peers } = lookupAmong({ a: undefined, b: { afterMs: 1, has: true } })
    const found = find(new AbortController().signal)
    await clock.advance(500)
    expect(await found).toBeUndefined()
    expect(asked()).toEqual([['a', 'failed', 500]])
    expect(changes()).toEqual(['a suspended', 'a switched-off'])
    expect(peers.named('a')!.health.reason).toBe('no answer within 500 ms')
  })

  test('a second peer has what the first has left, and is not suspended for not being quicker than that', async () => {
    const { asked, changes, clock, find, peers } = lookupAmong({ a: { afterMs: 300, has: false }, b: undefined })
    const found = find(new AbortController().signal)
    await clock.advance(500)
    expect(await found).toBeUndefined()
    expect(asked()).toEqual([
      ['a', 'false-hit', 300],
      ['b', 'failed', 200],
    ])
    expect(changes()).toEqual([])
    expect(peers.named('b')!.guesses.failures).toBe(1)
  })

  test('a hit of the second peer is found, after a false hit of the first that is counted by its cause', async () => {
    const { clock, find, peers } = lookupAmong({ a: { afterMs: 3, has: false }, b: { afterMs: 4, has: true } })
    const found = find(new AbortController().signal)
    await clock.advance(7)
    expect(await found).toMatchObject({ outcome: 'hit', peer: 'b' })
    expect(peers.named('a')!.guesses).toMatchObject({ trueHits: 0, falseHits: { collision: 1 }, tests: 1, claims: 1 })
    expect(peers.named('b')!.guesses).toMatchObject({ trueHits: 1, tests: 1, claims: 1 })
  })

  test('a client that goes away takes its question back: counted as sent, and no failure of the peer', async () => {
    const { asked, changes, clock, find, peers } = lookupAmong({ a: undefined })
    const client = new AbortController()
    const found = find(client.signal)
    await clock.advance(20)
    client.abort()
    await expect(found).rejects.toMatchObject({ code: 'cancelled' })
    expect(asked()).toEqual([['a', 'cancelled', 20]])
    expect(changes()).toEqual([])
    expect(peers.named('a')!.guesses.failures).toBe(0)
  })
})
