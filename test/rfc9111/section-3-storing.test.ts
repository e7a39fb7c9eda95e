import { describe, expect, test } from 'vitest'
import type { RequestHead } from '../../src/core/http/message-head.ts'
import { DEFAULT_STORABILITY, judgeStorability } from '../../src/core/http/storability.ts'
import type { StorabilityPolicy } from '../../src/core/http/storability.ts'
import { date, fieldsOf, get, response, START_WALL_MS, storedAt } from '../core/http/support.ts'
import type { FieldTable } from '../core/http/support.ts'

const FRESH = 'max-age=600'

function judge(table: FieldTable, request: FieldTable = {}, status = 200, policy?: StorabilityPolicy) {
  return judgeStorability(get(request), response(table, status), START_WALL_MS, policy)
}

function judgeMethod(method: string) {
  const request: RequestHead = { ...get(), method }
  return judgeStorability(request, response({ 'Cache-Control': FRESH }), START_WALL_MS)
}

describe('§3', () => {
  test('a cache stores nothing whose request method it does not know to be cacheable', () => {
    expect(judgeMethod('GET')).toBe('store')
    for (const method of ['POST', 'HEAD', 'PUT', 'TRACE', 'OPTIONS', 'get', 'M-SEARCH']) {
      expect(judgeMethod(method)).toBe('method')
    }
  })

  test('the response status code is final', () => {
    for (const status of [100, 102, 103, 199, 304, 600, 999]) {
      expect(judge({ 'Cache-Control': FRESH }, {}, status)).toBe('status')
    }
  })

  test('a 206 is stored by a cache that understands it: not yet this one', () => {
    expect(judge({ 'Cache-Control': FRESH }, {}, 206)).toBe('partial')
  })

  test('any other final status is stored when the origin gives a lifetime', () => {
    for (const status of [
      200, 203, 204, 299, 301, 302, 303, 307, 308, 403, 404, 410, 451, 499, 500, 501, 502, 503, 504, 599,
    ]) {
      expect(judge({ 'Cache-Control': FRESH }, {}, status)).toBe('store')
      expect(judge({ Date: date(0), Expires: date(60) }, {}, status)).toBe('store')
      expect(judge({ 'Cache-Control': 's-maxage=60' }, {}, status)).toBe('store')
    }
  })

  test('without a lifetime only heuristically cacheable statuses, or public ones, are stored', () => {
    const modified = { Date: date(0), 'Last-Modified': date(-86_400) }
    for (const status of [200, 203, 204, 300, 301, 308, 404, 405, 410, 501])
      expect(judge(modified, {}, status)).toBe('store')
    for (const status of [201, 202, 302, 303, 307, 403, 500, 502, 503, 504, 599]) {
      expect(judge(modified, {}, status)).toBe('status')
      expect(judge({ ...modified, 'Cache-Control': 'public' }, {}, status)).toBe('store')
    }
  })

  test('a response that could neither be reused nor validated is not kept', () => {
    expect(judge({})).toBe('no-lifetime-or-validator')
    expect(judge({ 'Cache-Control': 'max-age=0' })).toBe('no-lifetime-or-validator')
    expect(judge({ Expires: '0' })).toBe('no-lifetime-or-validator')
    expect(judge({ 'Cache-Control': 'max-age=0', ETag: '"a"' })).toBe('store')
    expect(judge({ ETag: '"a"' })).toBe('store')
    expect(judge({ 'Last-Modified': 'yesterday' })).toBe('no-lifetime-or-validator')
  })

  test('a response that came stale is kept, for who accepts that', () => {
    expect(judge({ 'Cache-Control': 'max-age=1500', Age: '2000' })).toBe('store')
  })
})

describe('§3.1', () => {
  const stored = (table: FieldTable) => storedAt(0, { 'Cache-Control': FRESH, ...table }).head.fields

  test('Connection and the fields it names are not stored', () => {
    const fields = stored({ Connection: 'close, X-Hop', 'x-hop': '1', 'X-End': '2' })
    expect(fields.has('connection')).toBe(false)
    expect(fields.has('x-hop')).toBe(false)
    expect(fields.get('x-end')).toBe('2')
  })

  test.each([
    'Proxy-Authenticate',
    'Proxy-Authentication-Info',
    'Proxy-Authorization',
    'Proxy-Connection',
    'Keep-Alive',
    'TE',
    'Transfer-Encoding',
    'Upgrade',
  ])('%s is not stored; the response is', (name) => {
    expect(stored({ [name]: 'foo' }).has(name)).toBe(false)
  })

  test.each([
    'Content-Length',
    'Content-Range',
    'Content-Encoding',
    'ETag',
    'Expires',
    'Set-Cookie2',
    'Public-Key-Pins',
    'X-Test-Header',
  ])('a cache stores all other fields, such as %s, as they came', (name) => {
    expect(stored({ [name]: 'foo' }).lines(name)).toEqual(['foo'])
  })

  test('[stored-framing-replayed] no transfer coding or trailer is stored', () => {
    const fields = stored({ 'Transfer-Encoding': 'chunked', Trailer: 'X-Sum' })
    expect(fields.has('transfer-encoding') || fields.has('trailer')).toBe(false)
  })
})

describe('§3.5', () => {
  const authorized = { Authorization: 'Basic QTpB' }

  test('[authorization-looked-for-in-response] a response to a request with Authorization is not stored', () => {
    expect(judge({ 'Cache-Control': FRESH }, authorized)).toBe('authorization')
    expect(judge({ 'Cache-Control': `${FRESH}, proxy-revalidate` }, authorized)).toBe('authorization')
    expect(judge({ 'Cache-Control': FRESH, Authorization: 'x' })).toBe('store')
    expect(judge({ 'Cache-Control': FRESH }, { 'Proxy-Authorization': 'Basic QTpB' })).toBe('store')
  })

  test.each(['must-revalidate', 'public', 's-maxage=600'])('unless %s allows it', (directive) => {
    expect(judge({ 'Cache-Control': `${FRESH}, ${directive}` }, authorized)).toBe('store')
  })
})

test('§4.1: a Vary that has a * never matches, and is not stored', () => {
  expect(judge({ 'Cache-Control': FRESH, Vary: 'Foo, *' })).toBe('vary-star')
})

describe('§5.2', () => {
  test('§5.2.1.5: a cache must not store any response to a request with no-store', () => {
    expect(judge({ 'Cache-Control': FRESH }, { 'Cache-Control': 'No-Store' })).toBe('request-no-store')
  })

  test('§5.2.2.5: a cache must not store a response with no-store, whatever its lifetime', () => {
    expect(judge({ 'Cache-Control': 'No-StOrE' })).toBe('no-store')
    expect(judge({ 'Cache-Control': `${FRESH}, no-store`, Expires: date(60) })).toBe('no-store')
  })

  test('§5.2.2.3: must-understand lifts no-store for a known status and forbids an unknown one', () => {
    expect(judge({ 'Cache-Control': `${FRESH}, no-store, must-understand` })).toBe('store')
    expect(judge({ 'Cache-Control': `${FRESH}, no-store, must-understand` }, {}, 599)).toBe('must-understand')
    expect(judge({ 'Cache-Control': `${FRESH}, must-understand` }, {}, 599)).toBe('must-understand')
  })

  test('§5.2.2.7: a shared cache must not store a private response', () => {
    expect(judge({ 'Cache-Control': `private, ${FRESH}` })).toBe('private')
  })

  test('[qualified-and-odd-directives] odd spellings of private and no-store are seen', () => {
    const table = { Date: date(0), ETag: '"q"' }
    const storedAs = (...lines: string[]) => judge({ ...table, 'Cache-Control': lines })
    expect(storedAs('PRIVATE, max-age=600')).toBe('private')
    expect(storedAs('max-age=600, No-Store')).toBe('no-store')
    expect(storedAs('public, max-age=600, private=""')).toBe('private')
    expect(storedAs('max-age=600', 'no-store')).toBe('no-store')
    expect(storedAs('max-age=600, private="x-a, x-b"')).toBe('private')
    expect(storedAs('max-age=600, foo="bar')).toBe('no-store')
    expect(storedAs('max-age=600; private')).toBe('no-store')
  })
})

describe('§7', () => {
  const cookie = { 'Cache-Control': 'public, max-age=60', 'Set-Cookie': 'sid=A' }
  const replaying: StorabilityPolicy = { ...DEFAULT_STORABILITY, storeSetCookie: true }

  test('[set-cookie-replayed] a response that sets a cookie is not stored', () => {
    expect(judge(cookie)).toBe('set-cookie')
  })

  test('§7.3: Set-Cookie does not inhibit caching where the operator says so and the origin gives a lifetime', () => {
    expect(judge(cookie, {}, 200, replaying)).toBe('store')
    const guessed = { Date: date(0), 'Last-Modified': date(-86_400), 'Set-Cookie': 'sid=A' }
    expect(judge(guessed, {}, 200, replaying)).toBe('set-cookie')
  })

  test('[oversized-header-error-stored] errors that blame the request are not stored', () => {
    const asked: StorabilityPolicy = { ...DEFAULT_STORABILITY, storeRequestErrors: true }
    for (const status of [400, 413, 414, 431]) {
      expect(judge({ 'Last-Modified': date(-864_000) }, {}, status)).toBe('request-error')
      expect(judge({ 'Cache-Control': FRESH }, {}, status)).toBe('request-error')
      expect(judge({ 'Cache-Control': FRESH }, {}, status, asked)).toBe('store')
    }
    expect(judge({ 'Last-Modified': date(-864_000) }, {}, 400, asked)).toBe('status')
    expect(judge({ 'Last-Modified': date(-864_000) }, {}, 414, asked)).toBe('store')
  })

  test('[cache-deception-by-suffix] nothing is stored for the shape of its URL', () => {
    const victim = { Cookie: 'session=victim' }
    for (const path of ['/account/x.css', '/account;x.js', '/account%2Fx.png', '/static/..%2faccount']) {
      const request: RequestHead = { method: 'GET', url: `http://www.example.com${path}`, fields: fieldsOf(victim) }
      const page = response({ Date: date(0), 'Content-Type': 'text/html' })
      expect(judgeStorability(request, page, START_WALL_MS)).toBe('cookie')
    }
  })

  test('[cache-deception-by-suffix] a guess stores nothing that a Cookie may have shaped, the origin’s word does', () => {
    const modified = { Date: date(0), 'Last-Modified': date(-86_400) }
    expect(judge(modified, { Cookie: 'a=b' })).toBe('cookie')
    expect(judge({ 'Cache-Control': FRESH }, { Cookie: 'a=b' })).toBe('store')
    expect(judge({ ...modified, 'Cache-Control': 'no-cache' }, { Cookie: 'a=b' })).toBe('store')
  })
})
