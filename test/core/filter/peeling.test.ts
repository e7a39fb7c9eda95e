import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { solveByPeeling } from '../../../src/core/filter/peeling.ts'
import { SlotArray } from '../../../src/core/filter/slot-array.ts'

type Equation = readonly [slots: readonly number[], result: number]

/** Is nothing left when equations with a slot of their own are taken away as long as there are any? */
function canBePeeled(equations: readonly Equation[]): boolean {
  let left = equations
  for (;;) {
    const uses = (slot: number): number => left.filter(([slots]) => slots.includes(slot)).length
    const rest = left.filter(([slots]) => slots.every((slot) => uses(slot) > 1))
    if (rest.length === left.length) return left.length === 0
    left = rest
  }
}

test('peeling solves what can be peeled, and says of the rest that it cannot', () => {
  const equation = fc.tuple(
    fc.uniqueArray(fc.nat(19), { minLength: 3, maxLength: 3 }),
    fc.integer({ min: 0, max: 0xffffffff }),
  )
  const outcomes = { solved: 0, unsolved: 0 }
  fc.assert(
    fc.property(
      fc.array(equation, { minLength: 6, maxLength: 24, size: 'max' }),
      fc.integer({ min: 1, max: 32 }),
      (equations, slotBits) => {
        const slots = new SlotArray(20, slotBits)
        const words = Uint32Array.from(equations.flatMap(([numbers, result]) => [...numbers, result]))
        const isSolved = solveByPeeling(words, slots)
        expect(isSolved).toBe(canBePeeled(equations))
        outcomes[isSolved ? 'solved' : 'unsolved']++
        for (const [numbers, result] of equations) {
          const value = numbers.reduce((sum, slot) => sum ^ slots.get(slot), 0)
          expect(value >>> 0).toBe(isSolved ? result % 2 ** slotBits : 0)
        }
      },
    ),
    { numRuns: 500 },
  )
  expect(Math.min(outcomes.solved, outcomes.unsolved)).toBeGreaterThan(20)
})
