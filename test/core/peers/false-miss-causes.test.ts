import { describe, expect, test } from 'vitest'
import { probePositions } from '../../../src/core/filter/probing.ts'
import { cacheKey } from '../../../src/core/http/cache-key.ts'
import { FalseMissCauses } from '../../../src/core/peers/false-miss-causes.ts'
import { encodeDirUpdate } from '../../../src/core/protocol/dir-update-message.ts'
import { paperGeometry, PaperHasher } from '../../../src/core/protocol/paper-hashing.ts'
import { PaperReplica } from '../../../src/core/protocol/paper-replica.ts'
import { addPublished, follow, newProtocol } from './claiming-peers.ts'

const key = cacheKey('http://origin.example/new')

/** A peer that holds what its last update did not tell of, found at 120 ms. */
function falseMiss() {
  const asker = newProtocol()
  const publisher = newProtocol()
  const state = addPublished(asker, 'a', [], publisher)
  const causes = new FalseMissCauses(asker.peers)
  causes.found(state, key, 120)
  return { asker, causes, publisher, state, told: () => state.guesses.falseMissCauses }
}

/** A peer on the paper's wire whose update claims the key by now. */
function paperFalseMiss() {
  const { peers } = newProtocol()
  const replica = new PaperReplica({ maxBitCount: 65_536, staleAfterMs: 60_000 })
  const records = new Uint32Array(4)
  probePositions(new PaperHasher().hash(key.url, 4), paperGeometry(10_007, 4), records)
  const peer = { name: 'p', url: 'http://p', transport: 'dir-update', updates: 'p:3130' } as const
  const state = peers.add(peer, replica)!
  const causes = new FalseMissCauses(peers)
  causes.found(state, key, 120)
  const head = { requestNumber: 0, functionCount: 4, functionBits: 32, bitCount: 10_007 }
  replica.receive(encodeDirUpdate({ ...head, records }), 200)
  return { causes, peers, state }
}

describe('rule 10: a false miss is counted by its cause once that can be told', () => {
  test('freshness: the update that came later claims the key', () => {
    const { asker, causes, publisher, state, told } = falseMiss()
    publisher.claimed(key, 100)
    causes.settle(400)
    expect(state.guesses.falseMisses).toBe(1)
    expect(told()).toEqual({ freshness: 0, unknown: 0 })
    publisher.publisher.publish(500, 'command')
    follow(asker, state, publisher, 500)
    causes.settle(700)
    causes.settle(1_000)
    expect(told()).toEqual({ freshness: 1, unknown: 0 })
  })

  test('unknown: the replica has caught up and does not, with a second for frames under way', () => {
    const { asker, causes, publisher, state, told } = falseMiss()
    follow(asker, state, publisher, 1_120)
    causes.settle(1_500)
    expect(told()).toEqual({ freshness: 0, unknown: 0 })
    follow(asker, state, publisher, 1_600)
    causes.settle(1_800)
    expect(told()).toEqual({ freshness: 0, unknown: 1 })
    causes.settle(3_000)
    expect(told()).toEqual({ freshness: 0, unknown: 1 })
  })

  test('a proof has caught up only as far as the oldest change that is not published', () => {
    const { asker, causes, publisher, state, told } = falseMiss()
    publisher.claimed(cacheKey('http://origin.example/other'), 50)
    follow(asker, state, publisher, 60_000)
    causes.settle(60_000)
    expect(told()).toEqual({ freshness: 0, unknown: 0 })
    publisher.publisher.publish(61_000, 'command')
    follow(asker, state, publisher, 61_000)
    follow(asker, state, publisher, 61_100)
    causes.settle(61_300)
    expect(told()).toEqual({ freshness: 0, unknown: 1 })
  })

  test('on the paper’s wire as well, by the update that came later', () => {
    const { causes, state } = paperFalseMiss()
    causes.settle(5_000)
    expect(state.guesses.falseMissCauses).toEqual({ freshness: 1, unknown: 0 })
  })

  test('a peer that has started anew or has left tells nothing of what it had', () => {
    const restarted = falseMiss()
    const anew = newProtocol(2)
    anew.claimed(key, 3_000)
    anew.publisher.publish(3_000, 'command')
    follow(restarted.asker, restarted.state, anew, 3_000)
    restarted.causes.settle(5_000)
    expect(restarted.asker.peers.isClaimed(restarted.state, key)).toBe(true)
    expect(restarted.told()).toEqual({ freshness: 0, unknown: 0 })

    // On the paper's wire there are no incarnations; its bits are still there when it has left.
    const { causes, peers, state } = paperFalseMiss()
    peers.remove('p')
    causes.settle(5_000)
    expect(peers.isClaimed(state, key)).toBe(true)
    expect(state.guesses.falseMissCauses).toEqual({ freshness: 0, unknown: 0 })
  })

  test('of those that cannot be told yet a few are kept', () => {
    const { asker, causes, publisher, state, told } = falseMiss()
    for (let i = 0; i < 99; i++) causes.found(state, cacheKey(`http://origin.example/${i}`), 120)
    follow(asker, state, publisher, 9_000)
    causes.settle(9_000)
    expect(state.guesses.falseMisses).toBe(100)
    expect(told()).toEqual({ freshness: 0, unknown: 16 })
  })
})
