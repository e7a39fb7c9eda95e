import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checksumOf } from '../../../src/core/filter/bit-checksum.ts'
import type { ClaimSource } from '../../../src/core/filter/claim-source.ts'
import { geometryFor, type FilterGeometry } from '../../../src/core/filter/filter-geometry.ts'
import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { probePositions } from '../../../src/core/filter/probing.ts'
import { Summary } from '../../../src/core/filter/summary.ts'
import { keyOf } from './test-keys.ts'

const geometry: FilterGeometry = { ...geometryFor(1), bitCount: 8_192 }

/** A directory of slots that tells a summary what it does. */
class Slots implements ClaimSource {
  readonly #slots: (string | undefined)[] = []
  readonly #summary: Summary

  constructor(summary: Summary) {
    this.#summary = summary
  }

  get slotCount(): number {
    return this.#slots.length
  }

  forEachClaim(fromSlot: number, toSlot: number, visit: (key: KeyHash) => void): void {
    for (const name of this.#slots.slice(fromSlot, toSlot)) if (name !== undefined) visit(keyOf(name))
  }

  get names(): string[] {
    return this.#slots.filter((name) => name !== undefined)
  }

  put(slot: number, name: string): void {
    if (this.names.includes(name)) return
    this.clear(slot)
    while (this.#slots.length < slot) this.#slots.push(undefined)
    this.#slots[slot] = name
    this.#summary.add(keyOf(name), slot)
  }

  clear(slot: number): void {
    const name = this.#slots[slot]
    if (name === undefined) return
    this.#slots[slot] = undefined
    this.#summary.remove(keyOf(name), slot)
  }

  move(from: number, to: number): void {
    const name = this.#slots[from]
    if (name === undefined || from === to || to >= this.#slots.length || this.#slots[to] !== undefined) return
    this.#slots[from] = undefined
    this.#slots[to] = name
    this.#summary.move(keyOf(name), from, to)
  }
}

function positionsOf(names: readonly string[], { bitCount, probeCount }: FilterGeometry): number[] {
  const out = new Uint32Array(probeCount)
  const positions = new Set<number>()
  for (const name of names) {
    probePositions(keyOf(name), { ...geometry, bitCount, probeCount }, out)
    for (const position of out) positions.add(position)
  }
  return [...positions].sort((a, b) => a - b)
}

function publishedOf(summary: Summary): number[] {
  const positions: number[] = []
  summary.published.pushSet({ push: (position) => void positions.push(position) })
  return positions
}

function publishFixed(summary: Summary): void {
  const { hi, lo } = checksumOf(summary.fixGeneration())
  const bits = summary.liveBitCount
  summary.turnOver({ setBitCount: bits, checksumHi: hi, checksumLo: lo })
}

const change = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('put' as const), slot: fc.nat(80), name: fc.nat(200) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('clear' as const), slot: fc.nat(80), name: fc.constant(0) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('move' as const), slot: fc.nat(80), name: fc.nat(80) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('build' as const), slot: fc.nat(300), name: fc.constant(0) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('delta' as const), slot: fc.constant(0), name: fc.constant(0) }),
  },
)

function apply(
  slots: Slots,
  one: { do: 'put' | 'clear' | 'move' | 'build' | 'delta'; slot: number; name: number },
): void {
  if (one.do === 'put') slots.put(one.slot, `${one.name}`)
  if (one.do === 'clear') slots.clear(one.slot)
  if (one.do === 'move') slots.move(one.slot, one.name)
}

describe('the next generation, built in slices while entries come, go and move', () => {
  for (const [what, next] of [
    ['of the filter in use', undefined],
    ['of a new filter of the same size', geometry],
    ['of a larger filter', { ...geometry, bitCount: 32_768 }],
    ['of a smaller filter', { ...geometry, bitCount: 1_024 }],
  ] as const) {
    test(`${what}, has exactly the bits of what is claimed when it is fixed, and of all that follows`, () => {
      fc.assert(
        fc.property(
          fc.array(change, { maxLength: 60 }),
          fc.array(change, { maxLength: 60 }),
          fc.array(change, { maxLength: 30 }),
          (before, during, after) => {
            const summary = new Summary(geometry)
            const slots = new Slots(summary)
            for (const one of before) apply(slots, one)
            summary.publishDelta()
            summary.beginGeneration(next && { geometry: next, source: slots })
            for (const one of during) {
              if (one.do === 'build') summary.buildGeneration(one.slot)
              else if (one.do === 'delta') summary.publishDelta()
              else apply(slots, one)
            }
            while (summary.buildGeneration(50)) continue
            publishFixed(summary)
            const used = next ?? geometry
            expect(publishedOf(summary)).toEqual(positionsOf(slots.names, used))
            expect([summary.openChangeCount, summary.pendingClearCount]).toEqual([0, 0])
            expect(summary.geometry.bitCount).toBe(used.bitCount)

            const fixed = publishedOf(summary)
            for (const one of after) apply(slots, one)
            const live = positionsOf(slots.names, used)
            expect(summary.liveBitCount).toBe(live.length)
            expect([...summary.publishDelta()]).toEqual([...new Set(live).difference(new Set(fixed))])
            expect(summary.pendingClearCount).toBe(new Set(fixed).difference(new Set(live)).size)
          },
        ),
        { numRuns: 60 },
      )
    })
  }

  test('rule 5: between summary and directory there is no difference, whatever happens during the comparison', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 120 }), (changes) => {
        const summary = new Summary(geometry)
        const slots = new Slots(summary)
        for (let i = 0; i < 40; i++) slots.put(i, `first ${i}`)
        summary.beginGeneration({ geometry, source: slots })
        const { build } = summary
        for (const one of changes) {
          if (one.do === 'build') summary.buildGeneration(one.slot)
          else apply(slots, one)
        }
        while (summary.buildGeneration(50)) continue
        expect(build!.drift).toEqual({ missing: 0, surplus: 0 })
      }),
      { numRuns: 60 },
    )
  })

  test('rule 5: drift is told in bits, and the rebuild mends it', () => {
    const summary = new Summary(geometry)
    const slots = new Slots(summary)
    for (let i = 0; i < 40; i++) slots.put(i, `${i}`)
    // As a lost event would leave it: one key too many, one too few.
    summary.add(keyOf('never there'), 99)
    summary.remove(keyOf('7'), 7)
    const [extra, lost] = [positionsOf(['never there'], geometry), positionsOf(['7'], geometry)]
    const right = new Set(positionsOf(slots.names, geometry))
    summary.beginGeneration({ geometry, source: slots })
    const { build } = summary
    while (summary.buildGeneration(50)) continue
    const others = positionsOf(slots.names.filter((name) => name !== '7').concat('never there'), geometry)
    expect(build!.drift).toEqual({
      missing: lost.filter((position) => !others.includes(position)).length,
      surplus: extra.filter((position) => !right.has(position)).length,
    })
    expect(build!.drift!.missing).toBeGreaterThan(0)
    expect(build!.drift!.surplus).toBeGreaterThan(0)
    publishFixed(summary)
    expect(publishedOf(summary)).toEqual([...right])
    expect(summary.entryCount).toBe(40)
  })

  test('rule 3: a rebuild frees counters that have stuck', () => {
    const summary = new Summary(geometry)
    const slots = new Slots(summary)
    slots.put(0, 'stays')
    for (let i = 0; i < 20; i++) summary.add(keyOf('often'), 1)
    for (let i = 0; i < 20; i++) summary.remove(keyOf('often'), 1)
    expect(summary.mayContain(keyOf('often'))).toBe(true)
    summary.beginGeneration({ geometry, source: slots })
    while (summary.buildGeneration(50)) continue
    publishFixed(summary)
    expect(summary.mayContain(keyOf('often'))).toBe(false)
    expect(publishedOf(summary)).toEqual(positionsOf(['stays'], geometry))
  })

  test('no delta of a generation that is over can be published', () => {
    const summary = new Summary(geometry)
    summary.beginGeneration()
    while (summary.buildGeneration(50)) continue
    summary.fixGeneration()
    expect(() => summary.publishDelta()).toThrow(/over/)
  })
})
