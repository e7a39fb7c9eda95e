import { describe, expect, test } from 'vitest'
import {
  cdnLoopAppended,
  cdnLoopContains,
  endToEnd,
  viaAppended,
  viaContains,
  viaHopCount,
  withoutForwardingClaims,
  xForwardedForAppended,
} from '../../../src/core/http/forwarded-headers.ts'
import { fieldsOf } from './support.ts'

describe('RFC 9110 §7.6.1', () => {
  test('a proxy removes Connection and each field it names, on any line and in any case', () => {
    const fields = fieldsOf({ Connection: ['X-A, close', 'x-b'], 'X-A': '1', 'X-B': '2', 'X-C': '3', Host: 'a' })
    expect(endToEnd(fields).raw).toEqual(['X-C', '3', 'Host', 'a'])
  })

  test.each([
    'Connection',
    'Keep-Alive',
    'Proxy-Connection',
    'Proxy-Authorization',
    'Proxy-Authenticate',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'HTTP2-Settings',
  ])('%s is for the next hop alone', (name) => {
    expect(endToEnd(fieldsOf({ [name]: 'x' })).raw).toEqual([])
  })

  test('Proxy-Status and what else only sounds like it goes on', () => {
    expect(endToEnd(fieldsOf({ 'Proxy-Status': 'x' })).has('proxy-status')).toBe(true)
  })

  test.each(['Host', 'Content-Length', 'Cache-Control', 'Authorization', 'Via', 'CDN-Loop', 'Set-Cookie'])(
    'Connection cannot take away %s, which is for all recipients',
    (name) => {
      expect(endToEnd(fieldsOf({ Connection: name, [name]: 'x' })).get(name)).toBe('x')
    },
  )
})

test('[x-forwarded-host-reflected] a client’s claims of how it came are removed', () => {
  const fields = fieldsOf({
    Host: 'www.example.com',
    'X-Forwarded-Host': 'evil.example',
    'X-Forwarded-Proto': 'http',
    'X-Forwarded-Port': '1',
    Forwarded: 'host=evil.example',
    'X-Original-URL': '/admin',
    'X-Rewrite-URL': '/admin',
  })
  expect(withoutForwardingClaims(fields).raw).toEqual(['Host', 'www.example.com'])
})

describe('RFC 9110 §7.6.3', () => {
  test('each proxy adds itself at the end of Via', () => {
    const once = viaAppended(fieldsOf({}), '1.1', 'one')
    expect(once.lines('via')).toEqual(['1.1 one'])
    expect(viaAppended(once, '1.0', 'two').lines('via')).toEqual(['1.1 one, 1.0 two'])
    expect(viaAppended(fieldsOf({ via: ['1.1 a', '1.1 b'] }), '1.1', 'c').lines('via')).toEqual(['1.1 a, 1.1 b, 1.1 c'])
  })

  test('[loop] our own name in Via is a loop, a foreign one is not', () => {
    const via = fieldsOf({ Via: ['1.1 elsewhere, HTTP/1.1 Ours (squid/5.7)', '2 other:3128'] })
    expect(viaContains(via, 'ours')).toBe(true)
    expect(viaContains(via, 'other:3128')).toBe(true)
    expect(viaContains(via, 'other')).toBe(false)
    expect(viaContains(via, 'squid/5.7')).toBe(false)
    expect(viaContains(fieldsOf({}), 'ours')).toBe(false)
    expect(viaHopCount(via)).toBe(3)
    expect(viaHopCount(fieldsOf({}))).toBe(0)
  })

  test.each(['1.1 x (', '1.1 "x', '1.1 x (\\', '(('])('a client that sends Via: %s does not hide us', (value) => {
    expect(viaContains(viaAppended(fieldsOf({ Via: value }), '1.1', 'ours'), 'ours')).toBe(true)
  })
})

test('[loop] RFC 8586 §2: our own identifier in CDN-Loop is a loop, whatever its parameters', () => {
  const fields = fieldsOf({ 'CDN-Loop': 'other-cdn; trace="ab\\"c", Ours ;v=1' })
  expect(cdnLoopContains(fields, 'ours')).toBe(true)
  expect(cdnLoopContains(fields, 'other-cdn')).toBe(true)
  expect(cdnLoopContains(fields, 'cdn')).toBe(false)
  expect(cdnLoopAppended(fieldsOf({ 'CDN-Loop': ['a', 'b'] }), 'ours').lines('cdn-loop')).toEqual(['a, b, ours'])
})

test('the client’s address is the last of X-Forwarded-For', () => {
  expect(xForwardedForAppended(fieldsOf({}), '192.0.2.1').get('x-forwarded-for')).toBe('192.0.2.1')
  expect(xForwardedForAppended(fieldsOf({ 'x-forwarded-for': '192.0.2.9' }), '192.0.2.1').get('x-forwarded-for')).toBe(
    '192.0.2.9, 192.0.2.1',
  )
})
