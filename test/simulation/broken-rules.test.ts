import { describe, expect, test } from 'vitest'
import { planOf } from '../../src/sim/faults.ts'
import type { VirtualProxySeams } from '../../src/sim/virtual-proxy.ts'
import * as broken from './broken-parts.ts'
import { runPlan } from './run-plan.ts'

/** The first seed, of so many from 1, by which it is found that a rule does not hold; and which. */
async function firstFound(seams: () => VirtualProxySeams, seedCount: number): Promise<number | undefined> {
  for (let seed = 1; seed <= seedCount; seed++) {
    const { broken: found } = await runPlan(planOf(seed), { seams: seams() })
    if (found !== undefined) return found.rule
  }
  return undefined
}

describe('a part that breaks a rule is found by a few seeds', () => {
  // rule, what is broken, seams, seeds
  test.each<[number, string, () => VirtualProxySeams, number]>([
    [1, 'a follower raises a delta before it is proved', () => broken.raisesUnproved, 5],
    [1, 'a follower raises a delta over a gap', () => broken.raisesOverGaps, 60],
    [2, 'a follower loses a bit', () => broken.losesBits, 5],
    [2, 'a follower does not ask for what it lacks', () => broken.asksForNothing, 5],
    [3, 'a publisher clears bits within a generation', () => broken.clearsWithinGenerations, 5],
    [4, 'the next state is built where readers look', () => broken.buildsInPlace, 5],
    [5, 'a filter that is too full stays as it is', () => broken.neverGrows, 60],
    [6, 'changes are not published in time', () => broken.publishesLate, 5],
    [8, 'whoever lies is followed on', () => broken.setsNobodyAside, 30],
    [9, 'what was proved once counts as proved for ever', () => broken.believesOldProofs, 20],
    [9, 'a peer that begins anew is not heard', () => broken.keepsOldIncarnations, 10],
    [10, 'an answer in three is not counted', broken.miscounts, 5],
    [11, 'a false hit is passed to the client', () => broken.passesFalseHitsOn, 10],
    [11, 'a peer asks others for what it is asked', () => broken.sendsPeersOn, 10],
    [11, 'copies are served long after they have gone stale', () => broken.servesStale, 10],
    [13, 'a life goes by the number of the one before', () => broken.startsAsBefore, 5],
    [14, 'what has gone stale is claimed on', () => broken.neverExpires, 60],
    [14, 'an eviction in four is kept from the summary', broken.forgetsEvictions, 10],
    [15, 'a peer of version 1 is taken for one of ours', () => broken.speaksOneVersion, 20],
  ])('rule %i, broken: that %s is found', async (rule, _what, seams, seedCount) => {
    expect(await firstFound(seams, seedCount)).toBe(rule)
  })
})
