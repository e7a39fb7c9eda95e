import { describe, expect, test } from 'vitest'
import { cacheKey } from '../../../src/core/http/cache-key.ts'
import { FalseMissCauses } from '../../../src/core/peers/false-miss-causes.ts'
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

  test('a peer that has started anew or has left tells nothing of what it had', () => {
    const restarted = falseMiss()
    const anew = newProtocol(2)
    anew.claimed(key, 3_000)
    anew.publisher.publish(3_000, 'command')
    follow(restarted.asker, restarted.state, anew, 3_000)
    restarted.causes.settle(5_000)
    expect(restarted.asker.peers.isClaimed(restarted.state, key)).toBe(true)
    expect(restarted.told()).toEqual({ freshness: 0, unknown: 0 })

    const gone = falseMiss()
    gone.asker.peers.remove('a')
    follow(gone.asker, addPublished(gone.asker, 'a', [key]), newProtocol(), 0)
    gone.causes.settle(5_000)
    expect(gone.told()).toEqual({ freshness: 0, unknown: 0 })
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
