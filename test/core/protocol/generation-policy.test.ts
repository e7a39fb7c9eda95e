import { describe, expect, test } from 'vitest'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import {
  fittingGeometry,
  generationDue,
  isSparse,
  type GenerationFacts,
} from '../../../src/core/protocol/generation-policy.ts'

const geometry = geometryFor(1_000)
const limits = { pendingClearShare: 0.03, generationAgeMs: 86_400_000, maxBitCount: 16 * geometry.bitCount }
const MAX_AGE_MS = 1_000

function facts(some: Partial<GenerationFacts> = {}): GenerationFacts {
  return {
    geometry,
    entryCount: 1_000,
    setBitCount: 3_600,
    pendingClearCount: 0,
    liveBitCount: 3_600,
    clearsForMs: -Infinity,
    ageMs: 0,
    sinceAuditMs: 0,
    sparseForMs: -Infinity,
    ...some,
  }
}

function due(some: Partial<GenerationFacts>): string | undefined {
  return generationDue(facts(some), limits, MAX_AGE_MS)?.reason
}

describe('rule 3: a new generation starts', () => {
  test('not while nothing asks for it', () => {
    expect(due({})).toBe(undefined)
  })

  test('when pending clears have been beyond their share for as long as a change may wait', () => {
    expect(due({ clearsForMs: 999 })).toBe(undefined)
    expect(due({ clearsForMs: 1_000 })).toBe('pending-clears')
  })

  test('at its age limit, by a rebuild from the directory where there is one', () => {
    expect(due({ ageMs: 86_399_999 })).toBe(undefined)
    expect(generationDue(facts({ ageMs: 86_400_000 }), limits, MAX_AGE_MS)).toEqual({
      reason: 'generation-age',
      refill: geometry,
    })
    expect(generationDue(facts({ ageMs: 86_400_000, sinceAuditMs: undefined }), limits, MAX_AGE_MS)).toEqual({
      reason: 'generation-age',
      refill: undefined,
    })
  })
})

describe('rule 5: the size follows the entries', () => {
  const half = geometry.bitCount / 2

  test('fill above one half means a new geometry with 16 bits and more for each entry', () => {
    expect(due({ setBitCount: half })).toBe(undefined)
    const full = facts({ setBitCount: half + 1, liveBitCount: half, entryCount: 2_900 })
    const plan = generationDue(full, limits, MAX_AGE_MS)
    expect(plan?.reason).toBe('fill')
    expect(plan!.refill!.bitCount).toBe(geometryFor(2 * 2_900).bitCount)
    expect(plan!.refill!.bitCount).toBeGreaterThanOrEqual(16 * 2_900)
  })

  test('but none that proxies configured alike would refuse', () => {
    const flood = facts({ setBitCount: half + 1, liveBitCount: half, entryCount: 1e9 })
    expect(generationDue(flood, limits, MAX_AGE_MS)?.refill?.bitCount).toBe(16 * geometry.bitCount)
    const largest = { ...geometry, bitCount: 16 * geometry.bitCount }
    const full = {
      ...flood,
      geometry: largest,
      setBitCount: 0.6 * largest.bitCount,
      liveBitCount: 0.6 * largest.bitCount,
    }
    expect(generationDue(full, limits, MAX_AGE_MS)).toBe(undefined)
  })

  test('unless a turnover would bring it below 0.45', () => {
    expect(
      generationDue(facts({ setBitCount: half + 1, liveBitCount: 0.44 * geometry.bitCount }), limits, MAX_AGE_MS),
    ).toEqual({ reason: 'pending-clears', refill: undefined })
  })

  test('fill far below for an hour means a smaller one, which is neither outgrown nor found too large at once', () => {
    expect(isSparse({ geometry, entryCount: 100 })).toBe(true)
    expect(isSparse({ geometry, entryCount: 130 })).toBe(false)
    expect(due({ entryCount: 100, sparseForMs: 3_599_999 })).toBe(undefined)
    const plan = generationDue(facts({ entryCount: 100, sparseForMs: 3_600_000 }), limits, MAX_AGE_MS)
    expect(plan?.reason).toBe('sparse')
    const smaller = plan!.refill!
    expect(smaller.bitCount).toBeLessThan(geometry.bitCount)
    expect(isSparse({ geometry: smaller, entryCount: 100 })).toBe(false)
    expect(100 / smaller.bitCount).toBeLessThan(1 / 16)
  })

  test('an empty directory is given the smallest size and left in peace', () => {
    const smallest = fittingGeometry({ geometry, entryCount: 0 })
    expect(isSparse({ geometry: smallest, entryCount: 0 })).toBe(false)
  })

  test('summary and directory are compared every hour', () => {
    expect(due({ sinceAuditMs: 3_599_999 })).toBe(undefined)
    expect(generationDue(facts({ sinceAuditMs: 3_600_000 }), limits, MAX_AGE_MS)).toEqual({
      reason: 'audit',
      refill: geometry,
    })
  })
})
