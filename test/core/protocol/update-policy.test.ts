import { describe, expect, test } from 'vitest'
import {
  DEFAULT_UPDATE_OPTIONS,
  UPDATE_PROFILES,
  type UnpublishedFacts,
} from '../../../src/core/protocol/update-policy.ts'

const nothing: UnpublishedFacts = { newDocuments: 1, documents: 1_000, localMisses: 0, changeAgeMs: 0 }

describe('rule 6: each profile publishes within its declared budget', () => {
  test('fresh: a change waits 250 ms', () => {
    const policy = UPDATE_PROFILES.fresh()
    expect(policy.due({ ...nothing, newDocuments: 10_000, changeAgeMs: 249 })).toBeUndefined()
    expect(policy.due({ ...nothing, changeAgeMs: 250 })).toBe('age')
  })

  test('balanced: 32 changes or a second', () => {
    const policy = UPDATE_PROFILES.balanced()
    expect(policy.due({ ...nothing, newDocuments: 31, changeAgeMs: 999 })).toBeUndefined()
    expect(policy.due({ ...nothing, newDocuments: 32 })).toBe('changes')
    expect(policy.due({ ...nothing, changeAgeMs: 1_000 })).toBe('age')
  })

  test('thrifty: updates cost at most the declared share of ICP’s queries, whatever the number of peers', () => {
    for (const icpShare of [0.01, 0.02, 0.5]) {
      const policy = UPDATE_PROFILES.thrifty({ ...DEFAULT_UPDATE_OPTIONS, icpShare })
      let updates = 0
      let localMisses = 0
      for (let i = 0; i < 10_000; i++) {
        localMisses++
        if (policy.due({ ...nothing, localMisses }) === 'misses') {
          updates++
          localMisses = 0
        }
      }
      // One message for each peer per update, one query for each peer per miss.
      expect(updates / 10_000).toBeLessThanOrEqual(icpShare)
      expect(updates / 10_000).toBeGreaterThan(0.9 * icpShare)
    }
    expect(UPDATE_PROFILES.thrifty(DEFAULT_UPDATE_OPTIONS).due({ ...nothing, changeAgeMs: 30_000 })).toBe('age')
  })

  test('paper: when the share of new documents is reached, with a packet’s worth at least', () => {
    const policy = UPDATE_PROFILES.paper({ ...DEFAULT_UPDATE_OPTIONS, newDocumentShare: 0.01 })
    expect(policy.due({ ...nothing, documents: 1_000, newDocuments: 10 })).toBeUndefined()
    expect(policy.due({ ...nothing, documents: 1_000, newDocuments: 90 })).toBe('share')
    expect(policy.due({ ...nothing, documents: 100_000, newDocuments: 999 })).toBeUndefined()
    expect(policy.due({ ...nothing, documents: 100_000, newDocuments: 1_000 })).toBe('share')
  })
})
