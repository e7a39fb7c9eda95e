import assert from 'node:assert'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type EvictionKind, evictionKinds } from '../../src/core/directory/eviction-kinds.ts'
import type { EvictionPolicy, Slot } from '../../src/core/directory/eviction-policy.ts'
import { DullLru, DullSieve, type EvictionModel } from '../core/directory/eviction-models.ts'

interface Expected {
  readonly model: () => EvictionModel
  /** On the trace below, with room for 100 of its 1000 documents. */
  readonly misses: number
}

const expectedOf: Readonly<Record<EvictionKind, Expected>> = {
  lru: { model: () => new DullLru(), misses: 8522 },
  sieve: { model: () => new DullSieve(), misses: 6875 },
}

const kinds = Object.entries<() => EvictionPolicy>(evictionKinds)

const actions = fc.array(
  fc.record({ action: fc.constantFrom('admit', 'admit', 'hit', 'hit', 'remove', 'evict'), choice: fc.nat(10_000) }),
  { maxLength: 400, size: 'max' },
)

describe.each(kinds)('eviction policy %s', (kind, empty) => {
  const expected = new Map<string, Expected>(Object.entries(expectedOf)).get(kind)!

  test('agrees with its dull form, and every victim is a resident', () => {
    fc.assert(
      fc.property(actions, (steps) => {
        const policy = empty()
        const model = expected.model()
        const slots = new SlotBook()
        for (const { action, choice } of steps) {
          if (action === 'admit') {
            const slot = slots.take(choice)
            policy.admitted(slot, 1)
            model.admitted(slot)
          } else if (slots.residents.length > 0 && action === 'evict') {
            const victim = policy.victim()
            assert(slots.residents.includes(victim), 'a victim that is no resident')
            assert.equal(victim, model.victim())
            assert.equal(victim, policy.victim(), 'another victim though nothing has changed')
            policy.removed(victim)
            model.removed(victim)
            slots.giveBack(victim)
          } else if (slots.residents.length > 0) {
            const slot = slots.residents[choice % slots.residents.length]!
            if (action === 'hit') {
              policy.hit(slot)
              model.hit(slot)
            } else {
              policy.removed(slot)
              model.removed(slot)
              slots.giveBack(slot)
            }
          }
        }
      }),
    )
  })

  test('names every resident as the victim once when all are evicted', () => {
    const policy = empty()
    const slots = Array.from({ length: 1000 }, (_, slot) => slot)
    for (const slot of slots) policy.admitted(slot, 1)
    for (const slot of slots) if (slot % 3 === 0) policy.hit(slot)
    const victims = slots.map(() => {
      const victim = policy.victim()
      policy.removed(victim)
      return victim
    })
    expect(victims.toSorted((a, b) => a - b)).toEqual(slots)
    expect(() => policy.victim()).toThrow('no residents')
  })

  test('has the misses it always had on a Zipf trace', () => {
    expect(missesOf(empty(), zipfTrace(20_000, 1000), 100)).toBe(expected.misses)
  })
})

/** Slots as a directory gives them out: the one freed last first, sometimes far beyond the others. */
class SlotBook {
  readonly residents: Slot[] = []
  readonly #free: Slot[] = []
  #next = 0

  take(choice: number): Slot {
    if (choice % 50 === 0) this.#next += 300
    const slot = this.#free.pop() ?? this.#next++
    this.residents.push(slot)
    return slot
  }

  giveBack(slot: Slot): void {
    this.residents.splice(this.residents.indexOf(slot), 1)
    this.#free.push(slot)
  }
}

function missesOf(policy: EvictionPolicy, trace: readonly number[], capacity: number): number {
  const slotOf = new Map<number, Slot>()
  const documentIn: number[] = []
  let misses = 0
  for (const document of trace) {
    const held = slotOf.get(document)
    if (held !== undefined) {
      policy.hit(held)
      continue
    }
    misses++
    let slot = slotOf.size
    if (slot === capacity) {
      slot = policy.victim()
      policy.removed(slot)
      slotOf.delete(documentIn[slot]!)
    }
    slotOf.set(document, slot)
    documentIn[slot] = document
    policy.admitted(slot, 1)
  }
  return misses
}

/** Document n is asked for in proportion to 1/n. */
function zipfTrace(length: number, documents: number): number[] {
  const cumulative: number[] = []
  let sum = 0
  for (let n = 1; n <= documents; n++) cumulative.push((sum += 1 / n))
  let state = 1
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const wanted = (state / 2 ** 32) * sum
    return cumulative.findIndex((upTo) => wanted < upTo)
  })
}
