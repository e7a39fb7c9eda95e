import { describe, expect, test } from 'vitest'
import { planOf } from '../../src/sim/faults.ts'
import { raisesOverGaps } from './broken-parts.ts'
import { runPlan } from './run-plan.ts'
import { shrinkPlan } from './shrink-plan.ts'

const SEEDS_EACH = 125
const TIMEOUT_MS = 180_000

describe('every rule holds after every step', () => {
  test.each([0, 1, 2, 3, 4, 5, 6, 7])(
    `in clusters on a hostile network: ${SEEDS_EACH} seeds, part %i`,
    { timeout: TIMEOUT_MS },
    async (part) => {
      const first = 1 + part * SEEDS_EACH
      const failed: string[] = []
      for (let seed = first; seed < first + SEEDS_EACH; seed++) {
        const { broken } = await runPlan(planOf(seed))
        if (broken !== undefined) failed.push(`npm run faults -- --seed ${seed}: ${broken.message}`)
      }
      expect(failed).toEqual([])
    },
  )

  test('in a cluster of twenty, whose digests stand in one matrix', { timeout: TIMEOUT_MS }, async () => {
    const { broken, steps } = await runPlan(planOf(7, { proxyCount: 20 }))
    expect(broken).toBeUndefined()
    expect(steps).toBeGreaterThan(10_000)
  })
})

describe('a seed', () => {
  test('runs again as it ran, to the last byte', async () => {
    const [first, second, another] = [await runPlan(planOf(11)), await runPlan(planOf(11)), await runPlan(planOf(12))]
    expect(second.hash).toBe(first.hash)
    expect(second).toEqual(first)
    expect(another.hash).not.toBe(first.hash)
  })

  test('that fails is told by the little that it takes', async () => {
    const isFound = async (seed: number): Promise<boolean> =>
      (await runPlan(planOf(seed), { seams: raisesOverGaps })).broken !== undefined
    let seed = 1
    while (!(await isFound(seed))) seed++
    const plan = planOf(seed)
    const original = await runPlan(plan, { seams: raisesOverGaps, keepsTranscript: true })
    const { plan: least, run } = await shrinkPlan(plan, 1, raisesOverGaps)
    expect(run.broken?.rule).toBe(1)
    expect(least.actions.length).toBeLessThan(plan.actions.length / 5)
    expect(run.lines!.length).toBeLessThan(original.lines!.length / 2)
    const again = await runPlan(least, { seams: raisesOverGaps, keepsTranscript: true })
    expect(again.lines).toEqual(run.lines)
    expect(run.lines!.join('\n')).toMatch(/[a-f] -> [a-f] +gets delta \d+\.\d+\.\d+ from \d+, \d+ bits rise/)
  })
})
