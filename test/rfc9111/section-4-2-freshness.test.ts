import { describe, expect, test } from 'vitest'
import { currentAgeMs, freshUntilMs, requestFacts, reuseFacts } from '../../src/core/http/freshness.ts'
import { judgeReuse } from '../../src/core/http/reuse.ts'
import { servedHead } from '../../src/core/http/stored-head.ts'
import { at, date, get, response, START_MS, START_WALL_MS, storedAt, timesAt } from '../core/http/support.ts'
import type { FieldTable } from '../core/http/support.ts'

const factsOf = (table: FieldTable, status = 200, request: FieldTable = {}) =>
  reuseFacts({ request: get(request), response: response({ Date: date(0), ...table }, status), ...timesAt(0) })
const lifetime = (table: FieldTable, status?: number, request?: FieldTable) =>
  factsOf(table, status, request).lifetimeMs / 1000
const judge = (table: FieldTable, seconds: number, request: FieldTable = {}) =>
  judgeReuse(factsOf(table), requestFacts(get(request)), at(seconds))

describe('§4.2', () => {
  test('a response is fresh while its lifetime is greater than its age, and not when they are equal', () => {
    expect(judge({ 'Cache-Control': 'max-age=60' }, 59.999)).toBe('serve')
    expect(judge({ 'Cache-Control': 'max-age=60' }, 60)).toBe('stale')
    expect(judge({ Expires: date(0) }, 0)).toBe('stale')
    expect(freshUntilMs(factsOf({ 'Cache-Control': 'max-age=60', Age: '20' }))).toBe(at(40))
  })
})

describe('§4.2.1', () => {
  test('a shared cache takes s-maxage before max-age before Expires', () => {
    expect(lifetime({ 'Cache-Control': 'max-age=3600, s-maxage=1', Expires: date(7200) })).toBe(1)
    expect(lifetime({ 'Cache-Control': ['s-maxage=3600', 'max-age=0'], Expires: date(-7200) })).toBe(3600)
    expect(lifetime({ 'Cache-Control': 'max-age=3600', Expires: '0' })).toBe(3600)
    expect(lifetime({ 'Cache-Control': 'max-age=0', Expires: date(3600) })).toBe(0)
  })

  test('Expires less Date is the lifetime, wherever both lie', () => {
    expect(lifetime({ Expires: date(30) })).toBe(30)
    expect(lifetime({ Date: date(1000), Expires: date(900) })).toBe(-100)
    expect(lifetime({ Expires: 'Sat, 20 Nov 2286 17:46:39 GMT' })).toBeGreaterThan(8e9)
  })

  test('without a readable Date, the time of receipt stands for it', () => {
    expect(lifetime({ Date: 'foo', Expires: date(10) })).toBe(10)
    expect(lifetime({ Date: [], Expires: date(10) })).toBe(10)
  })

  test('a response with Expires twice, or unreadable, is stale', () => {
    expect(lifetime({ Expires: [date(30), date(30)] })).toBe(0)
    expect(lifetime({ Expires: '0' })).toBe(0)
  })
})

describe('§4.2.2', () => {
  test('a heuristic takes a tenth of the time since the last modification, at most a day', () => {
    expect(lifetime({ 'Last-Modified': date(-1000) })).toBe(100)
    expect(lifetime({ 'Last-Modified': date(-86_400 * 365) })).toBe(86_400)
    expect(lifetime({ 'Last-Modified': date(10) })).toBe(0)
    expect(lifetime({})).toBe(0)
  })

  test('a cache must not use heuristics when there is an explicit expiration time', () => {
    expect(lifetime({ 'Last-Modified': date(-86_400), Expires: '0' })).toBe(0)
    expect(lifetime({ 'Last-Modified': date(-86_400), 'Cache-Control': 'max-age=x' })).toBe(0)
  })

  test('heuristics are for statuses defined as heuristically cacheable, or public ones', () => {
    const modified = { 'Last-Modified': date(-1000) }
    for (const status of [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501])
      expect(lifetime(modified, status)).toBe(100)
    for (const status of [201, 302, 403, 500, 599]) {
      expect(lifetime(modified, status)).toBe(0)
      expect(lifetime({ ...modified, 'Cache-Control': 'public' }, status)).toBe(100)
    }
  })

  test('[cache-deception-by-suffix] no guess for a request with Cookie', () => {
    expect(lifetime({ 'Last-Modified': date(-1000) }, 200, { Cookie: 'a=b' })).toBe(0)
  })
})

describe('§4.2.3', () => {
  const age = (table: FieldTable, delayMs = 0, residentMs = 0) => {
    const times = { requestedMs: START_MS - delayMs, receivedMs: START_MS, receivedWallMs: START_WALL_MS }
    return (
      currentAgeMs(reuseFacts({ request: get(), response: response(table), ...times }), START_MS + residentMs) / 1000
    )
  }

  test('the age is the greater of apparent and corrected age, and resident time', () => {
    expect(age({ Date: date(0) })).toBe(0)
    expect(age({ Date: date(-10) })).toBe(10)
    expect(age({ Date: date(-10), Age: '25' })).toBe(25)
    expect(age({ Date: date(10), Age: '15' })).toBe(15)
    expect(age({ Date: date(-30), Age: '25' }, 0, 7000)).toBe(37)
    expect(age({ Date: date(0), Age: '25' }, 3000, 7000)).toBe(35)
  })

  test('an apparent age below the resolution of Date is none', () => {
    const times = { requestedMs: START_MS, receivedMs: START_MS, receivedWallMs: START_WALL_MS + 999 }
    expect(reuseFacts({ request: get(), response: response({ Date: date(0) }), ...times }).initialAgeMs).toBe(0)
  })
})

describe('§5.1', () => {
  const age = (lines: string | readonly string[]) => factsOf({ Age: lines }).initialAgeMs / 1000

  test.each(['abc', '-7200', '7200.0', '', '7200;foo=bar', '+1', '0x10', '1 2'])('Age: %s is ignored', (line) => {
    expect(age(line)).toBe(0)
  })

  test('the first member of Age counts', () => {
    expect(age('7200, 0')).toBe(7200)
    expect(age('0, 7200')).toBe(0)
    expect(age(['7200', '0'])).toBe(7200)
    expect(age(['0', '7200'])).toBe(0)
    expect(age('7200')).toBe(7200)
  })

  test('an Age beyond 2^31 is 2^31', () => {
    for (const text of ['2147483648', '2147483649', '99999999999999999999']) expect(age(text)).toBe(2 ** 31)
  })

  test('a response from the store carries its Age in whole seconds, and no other', () => {
    const stored = storedAt(0, { Date: date(0), 'Cache-Control': 'max-age=60', Age: '30' })
    expect(stored.head.fields.has('age')).toBe(false)
    expect(servedHead(stored, at(2.9)).fields.lines('age')).toEqual(['32'])
  })
})

describe('§4.2.4', () => {
  const maxStale = { 'Cache-Control': 'max-stale=1000' }

  test('stale responses are for who asked for them', () => {
    expect(judge({ 'Cache-Control': 'max-age=1' }, 3, maxStale)).toBe('serve')
    expect(judge({ 'Cache-Control': 'max-age=1500', Age: '2000' }, 0, maxStale)).toBe('serve')
    expect(judge({ 'Cache-Control': 'max-age=1' }, 1002, maxStale)).toBe('stale')
    expect(judge({ 'Cache-Control': 'max-age=1' }, 1e6, { 'Cache-Control': 'max-stale' })).toBe('serve')
  })

  test.each(['must-revalidate', 'proxy-revalidate', 's-maxage=1'])('%s forbids them to all', (directive) => {
    expect(judge({ 'Cache-Control': `${directive}, max-age=1` }, 3, maxStale)).toBe('stale')
    expect(judge({ 'Cache-Control': `${directive}, max-age=1` }, 0.5)).toBe('serve')
  })
})
