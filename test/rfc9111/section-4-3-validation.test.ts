import { describe, expect, test } from 'vitest'
import { currentAgeMs, requestFacts } from '../../src/core/http/freshness.ts'
import { judgeReuse } from '../../src/core/http/reuse.ts'
import { servedHead } from '../../src/core/http/stored-head.ts'
import type { StoredHead } from '../../src/core/http/stored-head.ts'
import {
  clientHas,
  confirmsStored,
  isValidatable,
  notModifiedHead,
  refreshedHead,
  validationRequest,
  withoutConditions,
} from '../../src/core/http/validation.ts'
import { at, date, get, response, START_WALL_MS, storedAt, timesAt } from '../core/http/support.ts'
import type { FieldTable } from '../core/http/support.ts'

const notModified = (table: FieldTable) => response(table, 304)
const refreshed = (stored: StoredHead, seconds: number, table: FieldTable, request = get()) =>
  refreshedHead(stored, notModified(table), request, timesAt(seconds))
const judge = (stored: StoredHead, seconds: number) => judgeReuse(stored.facts, requestFacts(get()), at(seconds))

describe('§4.3.1', () => {
  const stored = storedAt(
    0,
    { 'Cache-Control': 'max-age=1', ETag: 'W/"a"', 'Last-Modified': date(-60), Vary: 'Abc' },
    get({ Abc: '123' }),
  )

  test('a validation sends both validators as stored, alone in their fields', () => {
    const { fields } = validationRequest(
      get({ Abc: '123', 'If-None-Match': '"b"', 'if-modified-since': date(-5) }),
      stored,
    )
    expect(fields.lines('if-none-match')).toEqual(['W/"a"'])
    expect(fields.lines('if-modified-since')).toEqual([date(-60)])
  })

  test('a validation carries the fields that the stored Vary names', () => {
    expect(validationRequest(get({ Abc: '123' }), stored).fields.get('abc')).toBe('123')
  })

  test('an entity-tag is opaque: one without quotes is sent as it came', () => {
    const odd = storedAt(0, { 'Cache-Control': 'max-age=1', ETag: 'abcdef' })
    expect(validationRequest(get(), odd).fields.get('if-none-match')).toBe('abcdef')
  })

  test('a Last-Modified that is no date validates nothing', () => {
    const bad = storedAt(0, { 'Cache-Control': 'max-age=1', 'Last-Modified': 'yesterday' })
    expect(isValidatable(bad)).toBe(false)
    expect(isValidatable(stored)).toBe(true)
    expect(validationRequest(get(), bad).fields.raw).toEqual([])
  })

  test('a fetch that shall be stored whole has neither conditions nor a range', () => {
    const request = get({
      'If-Match': '"a"',
      'If-None-Match': '"a"',
      'If-Modified-Since': date(0),
      'If-Unmodified-Since': date(0),
      'If-Range': '"a"',
      Range: 'bytes=0-1',
      Accept: '*/*',
    })
    expect(withoutConditions(request).fields.raw).toEqual(['Accept', '*/*'])
  })
})

describe('§4.3.2', () => {
  const has = (request: FieldTable, stored: FieldTable, status = 200, method = 'GET') =>
    clientHas({ ...get(request), method }, response(stored, status), START_WALL_MS)
  const tagged = { ETag: '"abcdef"', 'Last-Modified': date(-5000), Date: date(0) }

  test.each([
    '"abcdef"',
    '"abcdef", "1234"',
    '"1234","abcdef" , "5678"',
    '"1234", "5678", "abcdef"',
    '*',
    'W/"abcdef"',
    '"a,b", "abcdef"',
    '"\\", "abcdef"',
  ])('If-None-Match: %s lists the stored entity-tag', (tags) => {
    expect(has({ 'If-None-Match': tags }, tagged)).toBe(true)
  })

  test.each(['"abcde"', 'abcdef', '"x, "abcdef', '"ABCDEF"', '', 'w/"abcdef"'])(
    'If-None-Match: %s does not',
    (tags) => {
      expect(has({ 'If-None-Match': tags }, tagged)).toBe(false)
    },
  )

  test('weak tags compare without their weakness, odd ones by their bytes', () => {
    expect(has({ 'If-None-Match': '"a"' }, { ETag: 'W/"a"' })).toBe(true)
    for (const odd of ['abcdef', 'w/"abcdef"', 'W\\"abcdef"', 'W"abcdef"']) {
      expect(has({ 'If-None-Match': odd }, { ETag: odd })).toBe(true)
    }
  })

  test('a comma within an entity-tag is part of it', () => {
    expect(has({ 'If-None-Match': '"x", "a,b"' }, { ETag: '"a,b"' })).toBe(true)
  })

  test('If-None-Match is a list over its lines', () => {
    expect(has({ 'If-None-Match': ['"x"', '"abcdef"'] }, tagged)).toBe(true)
  })

  test('If-None-Match wins over If-Modified-Since, both ways', () => {
    expect(has({ 'If-None-Match': '"abcdef"', 'If-Modified-Since': date(-9000) }, tagged)).toBe(true)
    expect(has({ 'If-None-Match': '"other"', 'If-Modified-Since': date(0) }, tagged)).toBe(false)
    expect(has({ 'If-None-Match': '"other"', 'If-Modified-Since': date(0) }, { 'Last-Modified': date(-5000) })).toBe(
      false,
    )
  })

  test('If-Modified-Since is met by a Last-Modified that is no later', () => {
    expect(has({ 'If-Modified-Since': date(-5000) }, tagged)).toBe(true)
    expect(has({ 'If-Modified-Since': date(-4999) }, tagged)).toBe(true)
    expect(has({ 'If-Modified-Since': date(-5001) }, tagged)).toBe(false)
    expect(has({ 'If-Modified-Since': 'Monday, 01-Jun-26 12:00:00 GMT' }, tagged)).toBe(true)
  })

  test('without a Last-Modified the stored Date stands for it', () => {
    expect(has({ 'If-Modified-Since': date(1) }, { Date: date(0) })).toBe(true)
    expect(has({ 'If-Modified-Since': date(-3000) }, { Date: date(0) })).toBe(false)
  })

  test('[dates-that-parse-too-well] a bad If-Modified-Since is ignored', () => {
    expect(has({ 'If-Modified-Since': '2050-01-01' }, tagged)).toBe(false)
    expect(has({ 'If-Modified-Since': [date(0), date(0)] }, tagged)).toBe(false)
  })

  test('conditions are for GET and HEAD, and for responses that are successful (RFC 9110 §13.2.1)', () => {
    expect(has({ 'If-None-Match': '*' }, tagged, 200, 'HEAD')).toBe(true)
    expect(has({ 'If-None-Match': '*' }, tagged, 200, 'POST')).toBe(false)
    expect(has({ 'If-None-Match': '*' }, tagged, 404)).toBe(false)
    expect(has({}, tagged)).toBe(false)
  })

  test('a 304 has the fields it must, and none that describe a body (RFC 9110 §15.4.5)', () => {
    const kept = {
      'Cache-Control': 'max-age=1',
      'Content-Location': '/a',
      Date: date(0),
      ETag: '"a"',
      Expires: date(1),
      Vary: 'Abc',
      Age: '3',
    }
    const head = response({ ...kept, 'Content-Length': '5', 'Content-Type': 'text/html', 'Last-Modified': date(-1) })
    expect(notModifiedHead(head)).toEqual({ ...notModified(kept), reason: 'Not Modified' })
    expect(notModifiedHead(response({ 'Last-Modified': date(-1) })).fields.has('last-modified')).toBe(true)
  })
})

describe('§4.3.4', () => {
  const confirms = (stored: FieldTable, table: FieldTable) =>
    confirmsStored(storedAt(0, { 'Cache-Control': 'max-age=1', ...stored }), notModified(table))

  test('a strong validator in the 304 must be the stored one', () => {
    expect(confirms({ ETag: '"a"' }, { ETag: '"a"' })).toBe(true)
    expect(confirms({ ETag: '"a"' }, { ETag: '"b"' })).toBe(false)
    expect(confirms({ ETag: 'W/"a"' }, { ETag: '"a"' })).toBe(false)
    expect(confirms({ 'Last-Modified': date(-1) }, { ETag: '"b"' })).toBe(false)
  })

  test('a weak one must correspond to it', () => {
    expect(confirms({ ETag: '"a"' }, { ETag: 'W/"a"' })).toBe(true)
    expect(confirms({ ETag: 'W/"a"' }, { ETag: 'W/"b"' })).toBe(false)
    expect(confirms({ 'Last-Modified': date(-1) }, { 'Last-Modified': date(-1) })).toBe(true)
    expect(confirms({ 'Last-Modified': date(-1) }, { 'Last-Modified': date(0) })).toBe(false)
  })

  test('without one it answers for the response that was asked about', () => {
    expect(confirms({ ETag: '"a"', 'Last-Modified': date(-1) }, { Date: date(9) })).toBe(true)
  })

  test('[age-after-304] the age counts from the 304', () => {
    const first = storedAt(0, { Date: date(0), Age: '500', 'Cache-Control': 'max-age=600', ETag: '"a"' })
    expect(judge(first, 120)).toBe('stale')
    expect(validationRequest(get(), first).fields.get('if-none-match')).toBe('"a"')
    const second = refreshed(first, 120, { Date: date(120), ETag: '"a"' })
    expect(judge(second, 130)).toBe('serve')
    expect(servedHead(second, at(130)).fields.lines('age')).toEqual(['10'])
  })

  test('the Age of the 304 itself counts, and a Date that it lacks is the time of receipt', () => {
    const first = storedAt(0, { Date: date(0), 'Cache-Control': 'max-age=60', ETag: '"a"' })
    expect(currentAgeMs(refreshed(first, 100, { Date: date(100), Age: '7' }).facts, at(100))).toBe(7000)
    const undated = refreshed(first, 100, {})
    expect(undated.head.fields.lines('date')).toEqual([date(100)])
    expect(currentAgeMs(undated.facts, at(100))).toBe(0)
  })

  test('[bare-304-keeps-lifetime] what the 304 does not say stays', () => {
    const first = storedAt(0, { Date: date(0), 'Cache-Control': 'max-age=600', ETag: '"l"', 'Test-Header': 'A' })
    const second = refreshed(first, 601, { Date: date(601), ETag: '"l"' })
    expect(judge(second, 700)).toBe('serve')
    expect(judge(second, 1201)).toBe('stale')
    expect(second.head.fields.get('test-header')).toBe('A')
  })
})

describe('§3.2', () => {
  const first = storedAt(0, {
    Date: date(0),
    'Cache-Control': 'max-age=1',
    ETag: '"z"',
    'Content-Length': '5',
    'Content-Encoding': 'gzip',
    'Content-Type': 'text/plain',
    'Test-Header': ['A', 'B'],
  })

  test('each field of the 304 replaces the stored one', () => {
    const { head } = refreshed(first, 5, { 'test-header': 'C', 'Content-Type': 'text/html', 'Content-Foo': 'new' })
    expect(head.fields.lines('Test-Header')).toEqual(['C'])
    expect(head.fields.get('content-type')).toBe('text/html')
    expect(head.fields.get('content-foo')).toBe('new')
    expect(head.status).toBe(200)
  })

  test('[304-content-length-zero] fields of the stored body are not those of a 304', () => {
    const second = refreshed(first, 5, {
      'Cache-Control': 'max-age=60',
      'Content-Length': '0',
      'Content-Encoding': 'br',
      'Content-Range': 'bytes 0-1/2',
      ETag: 'W/"z"',
    })
    expect(judge(second, 6)).toBe('coding-refused')
    expect(judgeReuse(second.facts, requestFacts(get({ 'Accept-Encoding': 'gzip' })), at(6))).toBe('serve')
    expect(second.head.fields.get('content-length')).toBe('5')
    expect(second.head.fields.get('content-encoding')).toBe('gzip')
    expect(second.head.fields.has('content-range')).toBe(false)
    expect(second.head.fields.get('etag')).toBe('"z"')
  })

  test('fields that are not stored are not taken from a 304 either', () => {
    const { head } = refreshed(first, 5, { Connection: 'close, X-Hop', 'X-Hop': '1', 'Transfer-Encoding': 'chunked' })
    expect(head.fields.has('connection') || head.fields.has('x-hop') || head.fields.has('transfer-encoding')).toBe(
      false,
    )
  })

  test('[set-cookie-replayed] a cookie does not get into the store by a 304', () => {
    expect(refreshed(first, 5, { 'Set-Cookie': 'sid=B' }).head.fields.has('set-cookie')).toBe(false)
    const replaying = storedAt(0, { 'Cache-Control': 'max-age=1', ETag: '"z"', 'Set-Cookie': 'a=1' })
    expect(refreshed(replaying, 5, { 'Set-Cookie': 'a=2' }).head.fields.lines('set-cookie')).toEqual(['a=2'])
  })

  test.each(['private, max-age=60', 'no-store', 'max-age=60, foo="'])(
    'a 304 with %s ends use without validation',
    (value) => {
      expect(
        judgeReuse(
          refreshed(first, 5, { 'Cache-Control': value }).facts,
          requestFacts(get({ 'Accept-Encoding': 'gzip' })),
          at(5),
        ),
      ).toBe('no-cache')
    },
  )

  test('a 304 with another Vary selects by that, one that never matches ends use without validation', () => {
    const request = get({ Abc: '1', 'Accept-Encoding': 'gzip' })
    const varied = refreshed(first, 5, { 'Cache-Control': 'max-age=60', Vary: 'Abc' }, request)
    expect(varied.varyNames).toEqual(['abc'])
    expect(varied.variant).toContain('1')
    const starred = refreshed(first, 5, { 'Cache-Control': 'max-age=60', Vary: '*' }, request)
    expect(judgeReuse(starred.facts, requestFacts(request), at(5))).toBe('no-cache')
  })
})
