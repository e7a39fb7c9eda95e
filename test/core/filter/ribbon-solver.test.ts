import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { RibbonSolver, parity } from '../../../src/core/filter/ribbon-solver.ts'

const SLOTS = 192

interface Equation {
  readonly start: number
  readonly coefficients: readonly [number, number, number, number]
  readonly result: number
}

/** Coefficients as bits of one number, slot 0 lowest. */
function rowOf({ start, coefficients }: Equation): bigint {
  const [a0, a1, a2, a3] = coefficients.map(BigInt) as [bigint, bigint, bigint, bigint]
  return (a0 | (a1 << 32n) | (a2 << 64n) | (a3 << 96n)) << BigInt(start)
}

/** Elimination over whole rows: by lowest bit, the row and its result. */
class DullSolver {
  readonly #rows = new Map<bigint, readonly [bigint, number]>()

  add(equation: Equation): 'new' | 'redundant' | 'contradiction' {
    let row = rowOf(equation)
    let result = equation.result
    while (row !== 0n) {
      const lowest = row & -row
      const held = this.#rows.get(lowest)
      if (held === undefined) {
        this.#rows.set(lowest, [row, result])
        return 'new'
      }
      row ^= held[0]
      result ^= held[1]
    }
    return result === 0 ? 'redundant' : 'contradiction'
  }
}

test('a ribbon is solved where elimination over whole rows solves it, and its slots fulfil the equations', () => {
  // Few bits set, in few places, so that equations meet; words of 0 between them.
  const word = fc.oneof(fc.constant(0), fc.constantFrom(1, 2, 2 ** 31), fc.integer({ min: 0, max: 0xffffffff }))
  const equation = fc
    .record({
      start: fc.oneof(fc.nat(3), fc.constantFrom(31, 32, 62, 63)),
      coefficients: fc.tuple(fc.oneof(fc.constantFrom(0, 2), word), word, word, word),
      result: fc.nat(7),
    })
    .map(({ start, coefficients: [a0, ...others], result }): Equation => {
      return { start, coefficients: [(a0 | 1) >>> 0, ...others], result }
    })
  // An equation a second time, with its own result or another.
  const repeat = fc.tuple(fc.nat(), fc.nat(40), fc.constantFrom(0, 0, 0, 0, 0, 0, 1))
  const seen = { new: 0, redundant: 0, contradiction: 0 }
  fc.assert(
    fc.property(
      fc.array(equation, { minLength: 1, maxLength: 40 }),
      fc.array(repeat, { maxLength: 8 }),
      (few, repeats) => {
        const equations = [...few]
        for (const [n, to, flip] of repeats) {
          const again = few[n % few.length]!
          equations.splice(to, 0, { ...again, result: again.result ^ flip })
        }
        const solver = new RibbonSolver(SLOTS, 3)
        const dull = new DullSolver()
        const held: Equation[] = []
        let redundantCount = 0
        for (const [i, each] of equations.entries()) {
          const outcome = dull.add(each)
          seen[outcome]++
          // Bits above the three count for nothing.
          expect(solver.add(each.start, ...each.coefficients, each.result + 8 * i)).toBe(outcome !== 'contradiction')
          if (outcome === 'contradiction') break
          if (outcome === 'redundant') redundantCount++
          held.push(each)
        }
        if (held.length < equations.length) return
        expect(solver.redundantCount).toBe(redundantCount)
        const words = solver.solution()
        expect(words.length).toBe((SLOTS / 32) * 3)
        for (let j = 0; j < 3; j++) {
          const slots = BigInt(
            `0x${[5, 4, 3, 2, 1, 0].map((b) => words[3 * b + j]!.toString(16).padStart(8, '0')).join('')}`,
          )
          for (const each of held) {
            const chosen = (rowOf(each) & slots).toString(2).replaceAll('0', '').length
            expect(chosen % 2).toBe((each.result >> j) & 1)
          }
        }
      },
    ),
    { numRuns: 500 },
  )
  expect(Math.min(seen.new, seen.redundant, seen.contradiction)).toBeGreaterThan(20)
})

test('parity is that of the number of set bits', () => {
  fc.assert(
    fc.property(fc.integer(), (word) => {
      expect(parity(word) & 1).toBe((word >>> 0).toString(2).replaceAll('0', '').length % 2)
    }),
  )
})
