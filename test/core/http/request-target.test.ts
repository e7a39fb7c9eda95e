import { expect, test } from 'vitest'
import { effectiveUrl } from '../../../src/core/http/request-target.ts'

const urlOf = (target: string, ...hosts: string[]) => {
  const result = effectiveUrl(target, hosts, 'http')
  return result.kind === 'url' ? result.url : result.problem
}

test('RFC 9112 §3.3: origin-form takes the authority of Host and the scheme of the connection', () => {
  expect(urlOf('/m?a=1', 'WWW.example.com:80')).toBe('http://www.example.com/m?a=1')
  expect(urlOf('//x/y', 'a')).toBe('http://a//x/y')
  expect(effectiveUrl('/m', ['a'], 'https')).toEqual({ kind: 'url', url: 'https://a/m' })
})

test('RFC 9112 §3.2.2: the authority of absolute-form wins over Host', () => {
  expect(urlOf('http://b/m', 'a')).toBe('http://b/m')
  expect(urlOf('HTTP://B', '')).toBe('http://b/')
  expect(urlOf('https://b/m')).toBe('https://b/m')
})

test.each([
  ['several-hosts', '/m', ['a', 'b']],
  ['several-hosts', '/m', ['a', 'a']],
  ['several-hosts', 'http://a/m', ['a', 'a']],
  ['no-host', '/m', []],
  ['bad-host', '/m', ['']],
  ['bad-host', '/m', ['a b']],
  ['bad-host', '/m', ['a/x']],
  ['bad-host', '/m', ['a?x']],
  ['bad-host', '/m', ['a#x']],
  ['bad-host', '/m', ['u@a']],
  ['bad-host', '/m', ['a, b']],
  ['bad-host', '/m', ['a:8x']],
  ['bad-host', 'http://b/m', ['a:8x']],
  ['bad-authority', 'http:///m', ['a']],
  ['bad-authority', 'http:/m', ['a']],
  ['userinfo', 'http://u:p@a/m', ['a']],
  ['userinfo', 'http://u@a', ['a']],
  ['unsupported-scheme', 'ftp://a/m', ['a']],
  ['bad-target', '*', ['a']],
  ['bad-target', 'm', ['a']],
  ['bad-target', '', ['a']],
  ['bad-target', '/m n', ['a']],
  ['bad-target', '/m\0', ['a']],
  ['bad-target', '/\xe9', ['a']],
  ['fragment', '/m#frag', ['a']],
  ['too-long', `/m${'a'.repeat(100_000)}`, ['a']],
  ['too-long', `/m${'a'.repeat(8185)}`, ['www.example.com']],
])('%s: %s with Host %j', (problem, target, hosts) => {
  expect(urlOf(target, ...hosts)).toBe(problem)
})

test('an at-sign behind the authority is no user info', () => {
  expect(urlOf('http://a/m@b?c@d', 'a')).toBe('http://a/m@b?c@d')
})
