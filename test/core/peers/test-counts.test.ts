import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import { cacheKey } from '../../../src/core/http/cache-key.ts'
import { isConsulted, type PeerState } from '../../../src/core/peers/peer-table.ts'
import { SummaryCacheProtocol } from '../../../src/core/protocol/summary-cache-protocol.ts'
import { UPDATE_PROFILES } from '../../../src/core/protocol/update-policy.ts'
import { answered } from '../protocol/driving.ts'

const HEARTBEAT_MS = 100
const NAMES = ['a', 'b', 'c']

function protocol(incarnation = 1): SummaryCacheProtocol {
  const geometry = geometryFor(20)
  return new SummaryCacheProtocol(
    {
      incarnation,
      geometry,
      policy: UPDATE_PROFILES.fresh(),
      pendingClearShare: 0.03,
      generationAgeMs: 86_400_000,
      heartbeatMs: HEARTBEAT_MS,
      maxBitCount: geometry.bitCount,
    },
    0,
  )
}

/** Brings the follower's replica up to the publisher's state. */
function prove(follower: SummaryCacheProtocol, publisher: SummaryCacheProtocol, state: PeerState, nowMs: number): void {
  for (const { frame } of answered(publisher, state.digest.want(), nowMs)) follower.receive(state.index, frame, nowMs)
  while (state.digest.work(nowMs)) continue
}

const peer = fc.nat(NAMES.length - 1)
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('look up' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('prove' as const), peer }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 400 }) }) },
  fc.record({ do: fc.constant('connect' as const), peer, isConnected: fc.boolean() }),
  fc.record({ do: fc.constant('fail' as const), peer }),
  fc.record({ do: fc.constant('hear' as const), peer }),
  fc.record({ do: fc.constant('restart' as const), peer }),
  fc.record({ do: fc.constant('say goodbye' as const), peer }),
  fc.record({ do: fc.constant('join or leave' as const), peer }),
)

describe('rule 10: the tests of a digest, the base of its measured error', () => {
  test('are counted by arithmetic as by going through all peers at each lookup, whatever happens to these', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const follower = protocol()
        const publishers = NAMES.map(() => protocol())
        const dull = new Map(NAMES.map((name) => [name, 0]))
        for (const name of NAMES) follower.peers.add({ name, url: `http://${name}` })
        const key = cacheKey('http://origin.example/')
        let nowMs = 0
        for (const [i, publisher] of publishers.entries()) prove(follower, publisher, follower.peers.at(i)!, nowMs)
        for (const one of steps) {
          const name = 'peer' in one ? NAMES[one.peer]! : ''
          const state = follower.peers.named(name)
          if (one.do === 'wait') nowMs += one.ms
          if (one.do === 'look up') {
            for (const each of follower.peers.all()) {
              if (isConsulted(each, nowMs)) dull.set(each.peer.name, dull.get(each.peer.name)! + 1)
            }
            follower.peers.candidates(key, nowMs)
          }
          if (one.do === 'join or leave') {
            if (state === undefined) follower.peers.add({ name, url: `http://${name}` })
            else follower.peers.remove(name)
            dull.set(name, 0)
          }
          if (state === undefined) continue
          if (one.do === 'prove') prove(follower, publishers[one.peer]!, state, nowMs)
          if (one.do === 'connect') state.isConnected = one.isConnected
          if (one.do === 'fail') state.health.failed(nowMs, 'refused')
          if (one.do === 'hear') state.health.heard(nowMs)
          if (one.do === 'restart') {
            const incarnation = publishers[one.peer]!.publisher.name.incarnation + 1
            publishers[one.peer] = protocol(incarnation)
            follower.receive(state.index, publishers[one.peer]!.publisher.heartbeat(nowMs), nowMs)
          }
          if (one.do === 'say goodbye') {
            follower.receive(state.index, publishers[one.peer]!.publisher.goodbye(), nowMs)
          }
        }
        for (const {
          guesses,
          peer: { name },
        } of follower.peers.all())
          expect(guesses.tests).toBe(dull.get(name))
      }),
      { numRuns: 500 },
    )
  })
})
