import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KeyHasher } from '../../../src/core/filter/key-hasher.ts'
import { cacheKey, secretKeys, MAX_URL_LENGTH, normalUrl } from '../../../src/core/http/cache-key.ts'
import { murmur3 } from '../../../src/core/filter/murmur3.ts'

describe("Squid's normal form", () => {
  test.each([
    ['HTTP://WWW.Example.COM/obj/case', 'http://www.example.com/obj/case'],
    ['http://www.example.com./obj/dot', 'http://www.example.com/obj/dot'],
    ['http://www.example.com', 'http://www.example.com/'],
    ['http://www.example.com?noslash=1', 'http://www.example.com/?noslash=1'],
    ['http://user:pass@www.example.com/obj', 'http://www.example.com/obj'],
    ['http://a@b@www.example.com/obj', 'http://www.example.com/obj'],
    ['http://www.example.com:80/obj', 'http://www.example.com/obj'],
    ['https://www.example.com:443/obj', 'https://www.example.com/obj'],
    ['https://www.example.com:80/obj', 'https://www.example.com:80/obj'],
    ['http://www.example.com:08080/', 'http://www.example.com:8080/'],
    ['http://[2001:DB8::1]:80/x', 'http://[2001:db8::1]/x'],
    ['http://www.example.com/a b\tc', 'http://www.example.com/abc'],
    ['http://www.example.com/Path/Case', 'http://www.example.com/Path/Case'],
    ['http://www.example.com/a/../b/./c//d', 'http://www.example.com/a/../b/./c//d'],
    ['http://www.example.com/%7Euser/~user/%7euser', 'http://www.example.com/%7Euser/~user/%7euser'],
    ['http://www.example.com/q?', 'http://www.example.com/q?'],
    ['http://www.example.com/q?a=1&b=2;c=%20&d@e', 'http://www.example.com/q?a=1&b=2;c=%20&d@e'],
    ['http://www.example.com/é?ü', 'http://www.example.com/%C3%A9?%C3%BC'],
  ])('%s', (given, normal) => {
    expect(normalUrl(given)).toBe(normal)
  })

  test('a fragment is dropped, other than by Squid: it is no part of a request', () => {
    expect(normalUrl('http://www.example.com/obj/frag#section')).toBe('http://www.example.com/obj/frag')
    expect(normalUrl('http://www.example.com#a/b?c')).toBe('http://www.example.com/')
  })
})

test.each([
  'ftp://www.example.com/',
  'www.example.com/',
  'http:/www.example.com/',
  'http:///m',
  'http://:80/',
  'http://./',
  'http://.example.com/',
  'http://a..b/',
  'http://a:8x/',
  'http://a:0/',
  'http://a:65536/',
  'http://a b/',
  'http://a, b/',
  'http://a\\b/',
  'http://a%2Fb/',
  'http://::1/',
  'http://[::1/',
  'http://[]/',
  'http://ban\u212A.example/',
  'http://é.example/',
  'http://a/\0',
  'http://a/\r\n',
  'http://a/\x7f',
  'http://a/\ud800',
  `http://${'a'.repeat(256)}/`,
  `http://a/${'b'.repeat(MAX_URL_LENGTH)}`,
  `http://a/${'é'.repeat(MAX_URL_LENGTH / 2)}`,
  '',
])('has no normal form: %j', (url) => {
  expect(normalUrl(url)).toBeUndefined()
})

test('[host-spelling] all spellings of a host and its default port have one key', () => {
  const key = cacheKey('http://www.example.com/h')
  for (const host of ['WWW.Example.COM', 'www.example.com:80', 'www.example.com:', 'www.example.com.:080']) {
    expect(cacheKey(normalUrl(`http://${host}/h`)!)).toEqual(key)
  }
  expect(normalUrl('http://www.example.com:8080/h')).not.toBe(key.url)
})

test('[percent-encoding-merged] what the origin can tell apart has keys of its own', () => {
  const paths = ['/a/plus%2bplus.txt', '/a/plus%2Bplus.txt', '/a%2Fb', '/a/b', '/a%2F..%2Fb', '/b', '/%41', '/A']
  expect(new Set(paths.map((path) => normalUrl(`http://www.example.com${path}`))).size).toBe(paths.length)
})

test('[host-and-scheme-not-in-key] host and scheme are part of the key', () => {
  const urls = ['http://a.example.com/', 'http://b.example.com/', 'https://a.example.com/']
  expect(new Set(urls.map((url) => cacheKey(normalUrl(url)!).h0)).size).toBe(3)
})

test('a normal form is its own normal form', () => {
  const piece = fc.constantFrom(
    'http://',
    'HTTPS://',
    'a',
    'B.',
    '@',
    ':',
    '80',
    '0',
    '/',
    '?',
    '#',
    ' ',
    '%2f',
    'é',
    '[::1]',
    '..',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.string({ maxLength: 12 }), (pieces, rest) => {
      const normal = normalUrl(pieces.join('') + rest)
      fc.pre(normal !== undefined)
      expect(normalUrl(normal)).toBe(normal)
      expect(normal).toMatch(/^https?:\/\/[!-~]+$/)
    }),
    { numRuns: 2000 },
  )
})

test('the key is the hash of GET, a space and the URL', () => {
  const bytes = new TextEncoder().encode('GET http://www.example.com/obj?1')
  const words = new Int32Array(4)
  murmur3(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0, bytes.length, words)
  const [h0, h1, h2, h3] = words
  // A longer one before it leaves nothing behind.
  cacheKey(`http://www.example.com/${'x'.repeat(500)}`)
  expect(cacheKey('http://www.example.com/obj?1')).toEqual({ h0, h1, h2, h3, url: 'http://www.example.com/obj?1' })
})

test('a key is made of a URL in normal form only', () => {
  expect(() => cacheKey('http://a/é')).toThrow('not in normal form')
  expect(() => cacheKey(`http://a/${'b'.repeat(MAX_URL_LENGTH)}`)).toThrow('too long')
})

describe('rule 8: keys of a cluster with a secret', () => {
  const secret = Uint8Array.from({ length: 16 }, (_, i) => i)

  test('are SipHash of the same bytes', () => {
    const { h0, h1, h2, h3, url } = secretKeys(secret, 7)('http://a.example/')
    const expected = KeyHasher.siphash(secret, 7).hashText('GET http://a.example/')
    expect([h0, h1, h2, h3, url]).toEqual([expected.h0, expected.h1, expected.h2, expected.h3, 'http://a.example/'])
  })

  test('say nothing to who lacks it: no position of a digest is the same but by chance', () => {
    const other = Uint8Array.from(secret, (byte) => byte ^ 1)
    const keys = [secretKeys(secret, 7), secretKeys(other, 7), cacheKey]
    const first = keys.map((keyOf) => keyOf('http://a.example/').h0)
    expect(new Set(first).size).toBe(3)
  })
})
