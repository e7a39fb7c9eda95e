import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { cacheStatus, parseCacheStatusDetail } from '../../../src/core/http/cache-status.ts'

test('RFC 9211 §4: the examples are written as there', () => {
  expect(cacheStatus('ExampleCache', { hit: true })).toBe('ExampleCache; hit')
  expect(cacheStatus('ExampleCache', { hit: true, ttlSeconds: 376 })).toBe('ExampleCache; hit; ttl=376')
  expect(cacheStatus('ExampleCache', { hit: true, ttlSeconds: -412 })).toBe('ExampleCache; hit; ttl=-412')
  expect(cacheStatus('ExampleCache', { fwd: 'stale', fwdStatus: 304 })).toBe('ExampleCache; fwd=stale; fwd-status=304')
  expect(cacheStatus('ExampleCache', { fwd: 'uri-miss', collapsed: true, stored: true })).toBe(
    'ExampleCache; fwd=uri-miss; stored; collapsed',
  )
})

test('what is no token is a string, and what no string can hold is replaced', () => {
  expect(cacheStatus('1 proxy', { key: 'http://a/"\\é\r\n', detail: 'no room' })).toBe(
    String.raw`"1 proxy"; key="http://a/\"\\???"; detail="no room"`,
  )
  expect(cacheStatus('a', { ttlSeconds: Infinity })).toBe('a; ttl=999999999999999')
  expect(cacheStatus('a', { hit: false, ttlSeconds: 1.9 })).toBe('a; ttl=1')
})

test('the last member is that of the cache that answered', () => {
  expect(parseCacheStatusDetail('origin-cache; detail=absent, "b, c"; fwd=uri-miss; detail=stale').detail).toBe('stale')
  const { detail, params } = parseCacheStatusDetail('a; hit; ttl=-3; key="x, \\"y\\"; z"')
  expect(detail).toBeUndefined()
  expect(params).toEqual({ hit: true, ttl: '-3', key: 'x, "y"; z' })
})

test.each([
  undefined,
  '',
  'a; detail=',
  'a; Detail=x',
  'a; detail="x',
  '"a',
  'a b; detail=x',
  'a; detail=x y',
  `a; detail=${'x'.repeat(5000)}`,
  `a${'; k=1'.repeat(9)}${Array.from({ length: 40 }, (_, i) => `; p${i}`).join('')}; detail=x`,
])('a peer that writes %s says nothing', (value) => {
  expect(parseCacheStatusDetail(value)).toEqual({ detail: undefined, params: {} })
})

test('booleans are read as such, and only text is a detail', () => {
  expect(parseCacheStatusDetail('a; hit=?1; stored=?0; detail')).toEqual({
    detail: undefined,
    params: { hit: true, stored: false, detail: true },
  })
  expect(
    parseCacheStatusDetail(cacheStatus('a', { fwd: 'uri-miss', detail: 'absent', claim: 'collision' })).params,
  ).toEqual({
    fwd: 'uri-miss',
    detail: 'absent',
    claim: 'collision',
  })
  expect(cacheStatus('a', { hit: true, peer: 'sibling 2' })).toBe('a; hit; peer="sibling 2"')
})

test('what is written is read back, whatever stands before it', () => {
  const text = fc.string({ unit: fc.constantFrom(...' "\\,;=a1*é('.split('')), minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(text, text, text, fc.boolean(), (name, detail, other, hit) => {
      const value = `${cacheStatus(other, { hit: true, detail: 'other' })}, ${cacheStatus(name, { hit, detail })}`
      const last = parseCacheStatusDetail(value)
      expect(last.detail).toBe(detail.replaceAll('é', '?'))
      expect(last.params['hit'] === true).toBe(hit)
    }),
  )
})

test('any bytes are read without an exception', () => {
  const bytes = fc.string({ unit: fc.constantFrom(...'a;=",\\ ?:1*.-\0'.split('')), maxLength: 40 })
  fc.assert(
    fc.property(bytes, (value) => {
      expect(parseCacheStatusDetail(value).params).toBeTypeOf('object')
    }),
  )
})
