import { geometryFor, sameGeometry, type FilterGeometry } from '../filter/filter-geometry.ts'

export interface GenerationLimits {
  /** A generation ends when this share of the published bits is pending clear; 0.03 by default (PROTOCOL rule 3). */
  readonly pendingClearShare: number
  /** And at this age at the latest; stuck counters are freed then. */
  readonly generationAgeMs: number
  /** Of what a proxy that is configured as we are accepts: no digest grows beyond. */
  readonly maxBitCount: number
}

export interface GenerationFacts {
  readonly geometry: FilterGeometry
  readonly entryCount: number
  /** Of the published bits, and of those that the next delta would set: a peer is never sent one that it must refuse. */
  readonly setBitCount: number
  /** Of those, the ones that no entry needs. */
  readonly pendingClearCount: number
  /** Bits that the next generation would start with. */
  readonly liveBitCount: number
  /** For how long pending clears have been beyond their share. */
  readonly clearsForMs: number
  readonly ageMs: number
  /** Since summary and directory were compared last; undefined: there is no directory to compare with. */
  readonly sinceAuditMs: number | undefined
  /** For how long the digest has been far too large for its entries. */
  readonly sparseForMs: number
}

export type GenerationReason = 'pending-clears' | 'fill' | 'sparse' | 'generation-age' | 'audit' | 'command'

export interface GenerationPlan {
  readonly reason: GenerationReason
  /** The geometry of a new filter from the directory; undefined: the filter in use goes on. */
  readonly refill: FilterGeometry | undefined
}

/** PROTOCOL rule 5. At one half each lookup of an absent key has a chance of 2^-k. */
const MAX_FILL = 0.5
/** A turnover that brings it so far below is enough. */
const FILL_AFTER_TURNOVER = 0.45
// Entries may fall to an eighth of what the digest is made for, at 16 bits each, before it is too large by far: half of
// what it costs is wasted then, and a smaller one is not outgrown at once.
const SPARSE_BITS_PER_ENTRY = 128
const SPARSE_FOR_MS = 3_600_000
/** Room for as many again. */
const GROWTH = 2
const SMALLEST_ENTRIES = 64
/** Summary and directory are compared by a rebuild beside the filter in use: some microseconds an entry, in slices. */
const AUDIT_MS = 3_600_000

/** Whether it is time for the next generation, and why; undefined: not yet (PROTOCOL rules 3 and 5). */
export function generationDue(
  facts: GenerationFacts,
  limits: GenerationLimits,
  maxAgeMs: number,
): GenerationPlan | undefined {
  const { ageMs, geometry, liveBitCount, setBitCount, sinceAuditMs } = facts
  const canRefill = sinceAuditMs !== undefined
  const sameSize = canRefill ? geometry : undefined
  if (setBitCount > MAX_FILL * geometry.bitCount) {
    if (liveBitCount < FILL_AFTER_TURNOVER * geometry.bitCount) return { reason: 'pending-clears', refill: undefined }
    const larger = withinBound(fittingGeometry(facts), limits)
    if (canRefill && larger.bitCount > geometry.bitCount) return { reason: 'fill', refill: larger }
  }
  if (facts.sparseForMs >= SPARSE_FOR_MS && canRefill) {
    const smaller = fittingGeometry(facts)
    if (!sameGeometry(smaller, geometry)) return { reason: 'sparse', refill: smaller }
  }
  if (ageMs >= limits.generationAgeMs) return { reason: 'generation-age', refill: sameSize }
  if (canRefill && sinceAuditMs >= AUDIT_MS) return { reason: 'audit', refill: geometry }
  return facts.clearsForMs >= maxAgeMs ? { reason: 'pending-clears', refill: undefined } : undefined
}

/** Do pending clears ask for a turnover, with the next update or by itself? */
export function clearsExceedShare(
  { pendingClearCount, setBitCount }: Pick<GenerationFacts, 'pendingClearCount' | 'setBitCount'>,
  limits: GenerationLimits,
): boolean {
  return pendingClearCount > 0 && pendingClearCount > limits.pendingClearShare * setBitCount
}

export function isSparse({ entryCount, geometry }: Pick<GenerationFacts, 'entryCount' | 'geometry'>): boolean {
  return geometry.bitCount > SPARSE_BITS_PER_ENTRY * Math.max(SMALLEST_ENTRIES, entryCount)
}

function withinBound(geometry: FilterGeometry, { maxBitCount }: GenerationLimits): FilterGeometry {
  return geometry.bitCount <= maxBitCount ? geometry : { ...geometry, bitCount: maxBitCount }
}

/** For twice the entries there are now. */
export function fittingGeometry({
  entryCount,
  geometry,
}: Pick<GenerationFacts, 'entryCount' | 'geometry'>): FilterGeometry {
  const { bitCount } = geometryFor(GROWTH * Math.max(SMALLEST_ENTRIES, entryCount))
  return { ...geometry, bitCount }
}
