import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  currentAgeMs,
  freshUntilMs,
  MUST_REVALIDATE,
  NO_CACHE,
  requestFacts,
} from '../../../src/core/http/freshness.ts'
import type { RequestFacts, ReuseFacts } from '../../../src/core/http/freshness.ts'
import { judgeReuse } from '../../../src/core/http/reuse.ts'
import { servedHead } from '../../../src/core/http/stored-head.ts'
import { at, date, get, START_WALL_MS, storedAt } from './support.ts'
import type { FieldTable } from './support.ts'
import { storedHead } from '../../../src/core/http/stored-head.ts'
import { response } from './support.ts'

const judge = (table: FieldTable, seconds: number, request: FieldTable = {}) =>
  judgeReuse(storedAt(0, table).facts, requestFacts(get(request)), at(seconds))

/** RFC 9111 §4, §5.2.1 and §5.2.2, sentence by sentence, without a thought for speed. */
function mayReuse(facts: ReuseFacts, request: RequestFacts, nowMs: number): boolean {
  // "the stored response does not contain the no-cache directive, unless it is successfully validated"
  if (facts.flags & NO_CACHE) return false
  // "no-cache ... the client prefers a stored response not be used ... without successful validation"
  if (request.flags & NO_CACHE) return false
  // §4.2.3: "resident_time = now - response_time; current_age = corrected_initial_age + resident_time"
  const residentTime = nowMs - facts.receivedMs
  const currentAge = facts.initialAgeMs + residentTime
  // §4.2: "response_is_fresh = (freshness_lifetime > current_age)"
  const isFresh = facts.lifetimeMs > currentAge
  if (!isFresh) {
    // "a cache MUST NOT generate a stale response if it is prohibited by an explicit in-protocol directive"
    if (facts.flags & MUST_REVALIDATE) return false
    const askedForMaxStale = request.maxStaleMs >= 0
    if (!askedForMaxStale) return false
    // "will accept a response that has exceeded its freshness lifetime by no more than the specified number"
    const exceededBy = currentAge - facts.lifetimeMs
    if (exceededBy > request.maxStaleMs) return false
  }
  // "prefers a response whose age is less than or equal to the specified number of seconds"
  if (!(currentAge <= request.maxAgeMs)) return false
  // "freshness lifetime is no less than its current age plus the specified time in seconds"
  return facts.lifetimeMs >= currentAge + request.minFreshMs
}

test('a verdict is "serve" exactly when RFC 9111 lets a shared cache reuse the response', () => {
  const ms = fc.integer({ min: 0, max: 6 })
  const flags = fc.constantFrom(0, 0, 0, NO_CACHE, MUST_REVALIDATE, NO_CACHE | MUST_REVALIDATE)
  const facts = fc.record({ flags, lifetimeMs: ms, initialAgeMs: ms, receivedMs: ms })
  const request = fc.record({
    flags: fc.constantFrom(0, 0, NO_CACHE),
    maxAgeMs: fc.oneof(fc.constant(Infinity), ms),
    minFreshMs: fc.oneof(fc.constant(-Infinity), ms),
    maxStaleMs: fc.oneof(fc.constant(-1), ms, fc.constant(Infinity)),
    refusedCodings: fc.constant(0),
  })
  fc.assert(
    fc.property(facts, request, ms, (stored, asked, laterMs) => {
      const nowMs = stored.receivedMs + laterMs
      expect(judgeReuse(stored, asked, nowMs) === 'serve').toBe(mayReuse(stored, asked, nowMs))
      const plain: RequestFacts = {
        flags: 0,
        maxAgeMs: Infinity,
        minFreshMs: -Infinity,
        maxStaleMs: -1,
        refusedCodings: 0,
      }
      expect(nowMs < freshUntilMs(stored)).toBe(mayReuse(stored, plain, nowMs))
    }),
    { numRuns: 3000 },
  )
})

describe('cases from the field', () => {
  test('[min-fresh-mixed-up] a response about to expire is not served to who asks for min-fresh', () => {
    expect(judge({ 'Cache-Control': 'max-age=60' }, 45, { 'Cache-Control': 'min-fresh=30' })).toBe('request-min-fresh')
    const second = { 'Cache-Control': 'max-age=30' }
    expect(judge(second, 1, { 'Cache-Control': 'min-fresh=5' })).toBe('serve')
    expect(judge(second, 2, { 'Cache-Control': 'min-fresh=30, max-stale=600' })).toBe('request-min-fresh')
  })

  test('[lifetime-above-timer-limit] half a year of freshness is half a year', () => {
    const table = { Date: date(0), 'Cache-Control': 'max-age=15552000' }
    expect(judge(table, 1)).toBe('serve')
    expect(judge(table, 2_592_000)).toBe('serve')
    expect(judge(table, 15_552_000)).toBe('stale')
  })

  test('[wall-clock-steps-back] age goes by the monotonic clock alone', () => {
    const stored = storedAt(0, { Date: date(0), 'Cache-Control': 'max-age=60', ETag: '"c"' })
    expect(servedHead(stored, at(20)).fields.get('age')).toBe('20')
    expect(judgeReuse(stored.facts, requestFacts(get()), at(70))).toBe('stale')
    // Received while the wall clock is an hour behind, from an origin whose clock went along.
    const times = { requestedMs: at(70), receivedMs: at(70), receivedWallMs: START_WALL_MS - 3_530_000 }
    const later = storedHead(get(), response({ Date: date(-3530), 'Cache-Control': 'max-age=60' }), times)
    expect(currentAgeMs(later.facts, at(70))).toBe(0)
  })

  test('[gzip-to-identity-client] a coded body without Vary is not for who cannot decode it', () => {
    const coded = { 'Cache-Control': 'max-age=60', 'Content-Encoding': 'gzip' }
    const accepting = (value: string) => judge(coded, 2, { 'Accept-Encoding': value })
    expect(accepting('gzip')).toBe('serve')
    expect(accepting('deflate, X-GZIP;q=0.5')).toBe('serve')
    expect(accepting('*')).toBe('serve')
    expect(accepting('identity')).toBe('coding-refused')
    expect(accepting('')).toBe('coding-refused')
    expect(accepting('gzip;q=0, *;q=0.1')).toBe('coding-refused')
    expect(accepting('br')).toBe('coding-refused')
    expect(accepting('gzip;q=nonsense')).toBe('coding-refused')
    expect(judge(coded, 2)).toBe('coding-refused')
    // Also where it is stale: a validation would bring the same body.
    expect(judge(coded, 90, { 'Accept-Encoding': 'identity' })).toBe('coding-refused')
  })

  test('where the response varies by Accept-Encoding, or is in no coding, nothing is refused', () => {
    expect(judge({ 'Cache-Control': 'max-age=60', 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' }, 2)).toBe(
      'serve',
    )
    expect(judge({ 'Cache-Control': 'max-age=60', 'Content-Encoding': 'us-ascii' }, 2)).toBe('serve')
    expect(judge({ 'Cache-Control': 'max-age=60' }, 2, { 'Accept-Encoding': 'identity' })).toBe('serve')
  })

  test('[dates-that-parse-too-well] an Expires that is no date is stale at once, the three forms last an hour', () => {
    const expires = (value: string, seconds: number) => judge({ Date: date(0), Expires: value }, seconds)
    for (const value of [
      '0',
      '-1',
      '3600',
      'Thu, 01 Dec 2099',
      '2099-12-01T00:00:00Z',
      'Tue, 32 Dec 2099 00:00:00 GMT',
      '',
    ]) {
      expect(expires(value, 0)).toBe('stale')
    }
    for (const value of [date(3600), 'Monday, 01-Jun-26 13:00:00 GMT', 'Mon Jun  1 13:00:00 2026']) {
      expect(expires(value, 3599)).toBe('serve')
      expect(expires(value, 3600)).toBe('stale')
    }
  })

  test('[dates-that-parse-too-well] a bad Last-Modified guesses nothing, a bad Date is the time received', () => {
    expect(judge({ Date: date(0), 'Last-Modified': '2020-01-01' }, 0)).toBe('stale')
    expect(judge({ Date: '0', Expires: date(10) }, 9)).toBe('serve')
    expect(judge({ Expires: date(10) }, 9)).toBe('serve')
  })
})
