import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checksumOf } from '../../../src/core/filter/bit-checksum.ts'
import { geometryFor, type FilterGeometry } from '../../../src/core/filter/filter-geometry.ts'
import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { probePositions } from '../../../src/core/filter/probing.ts'
import { Summary } from '../../../src/core/filter/summary.ts'
import { KeyNotHeldError } from '../../../src/core/filter/membership-filter.ts'
import { keyOf } from './test-keys.ts'
import { turnOver } from './turn-over.ts'

const geometry: FilterGeometry = { ...geometryFor(1), bitCount: 256, probeCount: 4 }

function positionsOf(key: KeyHash): number[] {
  const out = new Uint32Array(geometry.probeCount)
  probePositions(key, geometry, out)
  return [...new Set(out)].sort((a, b) => a - b)
}

/** Keys counted one by one, bits worked out from them each time. Counts stay so low that no counter sticks. */
class DullSummary {
  readonly held = new Map<number, number>()
  published = new Set<number>()

  get live(): Set<number> {
    return new Set([...this.held.keys()].flatMap((n) => positionsOf(keyOf(`${n}`))))
  }

  add(n: number): void {
    this.held.set(n, (this.held.get(n) ?? 0) + 1)
  }

  publish(verb: Verb): void {
    if (verb === 'delta') this.published = this.published.union(this.live)
    if (verb === 'turnover') this.published = this.live
  }

  remove(n: number): boolean {
    const count = this.held.get(n) ?? 0
    if (count === 0) return false
    if (count === 1) this.held.delete(n)
    else this.held.set(n, count - 1)
    return true
  }
}

type Verb = 'add' | 'remove' | 'delta' | 'turnover'

function publish(summary: Summary, verb: Verb): { set: number[]; clear: number[] } {
  if (verb === 'delta') return { set: [...summary.publishDelta()], clear: [] }
  if (verb !== 'turnover') return { set: [], clear: [] }
  const { set, clear } = turnOver(summary)
  return { set: [...set], clear: [...clear] }
}

const sorted = (positions: Iterable<number>): number[] => [...positions].sort((a, b) => a - b)

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ verb: fc.constant('add' as const), n: fc.nat(19) }) },
  { weight: 6, arbitrary: fc.record({ verb: fc.constant('remove' as const), n: fc.nat(19) }) },
  { weight: 2, arbitrary: fc.record({ verb: fc.constant('delta' as const), n: fc.constant(0) }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('turnover' as const), n: fc.constant(0) }) },
)

describe('a summary', () => {
  test('publishes through deltas and turnovers exactly the bits that a dull model of it would', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const summary = new Summary(geometry)
        const dull = new DullSummary()
        const peer = new Set<number>()
        for (const { verb, n } of steps) {
          if (verb === 'add' && dull.held.size < 12 && (dull.held.get(n) ?? 0) < 1) {
            dull.add(n)
            summary.add(keyOf(`${n}`))
          } else if (verb === 'remove' && dull.remove(n)) {
            summary.remove(keyOf(`${n}`))
          }
          const before = dull.published
          dull.publish(verb)
          const change = {
            set: sorted(dull.published.difference(before)),
            clear: sorted(before.difference(dull.published)),
          }
          expect(publish(summary, verb)).toEqual(change)
          for (const position of change.set) peer.add(position)
          for (const position of change.clear) peer.delete(position)
          const published = Array.from({ length: geometry.bitCount }, (_, i) => i).filter((i) =>
            summary.published.get(i),
          )
          expect(published).toEqual(sorted(dull.published))
          expect(published).toEqual(sorted(peer))
          expect(summary.setBitCount).toBe(dull.published.size)
          expect(summary.liveBitCount).toBe(dull.live.size)
          expect(summary.openChangeCount).toBe(dull.live.difference(dull.published).size)
          expect(summary.pendingClearCount).toBe(dull.published.difference(dull.live).size)
          expect({ hi: summary.checksum.hi, lo: summary.checksum.lo }).toEqual(checksumOf(summary.published))
        }
        expect(summary.entryCount).toBe([...dull.held.values()].reduce((sum, count) => sum + count, 0))
        for (let n = 0; n < 20; n++) {
          const own = positionsOf(keyOf(`${n}`))
          const claimed = own.every((position) => dull.published.has(position))
          const live = own.every((position) => dull.live.has(position))
          expect(summary.publishedMayContain(keyOf(`${n}`))).toBe(claimed)
          expect(summary.mayContain(keyOf(`${n}`))).toBe(live)
          expect(summary.claimCause(keyOf(`${n}`))).toBe(claimed ? (live ? 'collision' : 'pending-clear') : 'absent')
        }
      }),
      { numRuns: 150 },
    )
  })

  test('does not publish what came and went between two publishes', () => {
    const summary = new Summary(geometry)
    summary.add(keyOf('a'))
    summary.remove(keyOf('a'))
    expect(summary.openChangeCount).toBe(0)
    expect(summary.publishDelta()).toHaveLength(0)
  })

  test('cancels a pending clear when the key comes back', () => {
    const summary = new Summary(geometry)
    summary.add(keyOf('a'))
    summary.publishDelta()
    summary.remove(keyOf('a'))
    expect(summary.pendingClearCount).toBe(4)
    expect(summary.claimCause(keyOf('a'))).toBe('pending-clear')
    summary.add(keyOf('a'))
    expect(summary.pendingClearCount).toBe(0)
    expect(turnOver(summary)).toEqual({ set: new Uint32Array(), clear: new Uint32Array() })
    expect(summary.publishedMayContain(keyOf('a'))).toBe(true)
  })

  test('still publishes rightly after a key has come and gone many thousand times', () => {
    const summary = new Summary(geometry)
    for (const text of ['b', 'gone']) summary.add(keyOf(text))
    summary.publishDelta()
    // These two changes are there all the while.
    summary.add(keyOf('new'))
    summary.remove(keyOf('gone'))
    for (let n = 0; n < 5000; n++) {
      summary.add(keyOf('a'))
      summary.remove(keyOf('b'))
      summary.add(keyOf('b'))
      summary.remove(keyOf('a'))
    }
    summary.remove(keyOf('b'))
    summary.add(keyOf('a'))
    const { set, clear } = turnOver(summary)
    const before = new Set(['b', 'gone'].flatMap((text) => positionsOf(keyOf(text))))
    const after = new Set(['a', 'new'].flatMap((text) => positionsOf(keyOf(text))))
    expect([...set]).toEqual(sorted(after.difference(before)))
    expect([...clear]).toEqual(sorted(before.difference(after)))
  })

  test('is left unchanged by the removal of a key that it does not hold', () => {
    const summary = new Summary(geometry)
    summary.add(keyOf('a'))
    expect(() => summary.remove(keyOf('z'))).toThrow(KeyNotHeldError)
    expect([summary.entryCount, summary.openChangeCount, summary.mayContain(keyOf('a'))]).toEqual([1, 4, true])
  })
})
