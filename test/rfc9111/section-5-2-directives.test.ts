import { describe, expect, test } from 'vitest'
import {
  CONDITIONAL,
  freshUntilMs,
  HAS_AUTHORIZATION,
  HAS_RANGE,
  NO_CACHE,
  NO_STORE,
  ONLY_IF_CACHED,
  PRECONDITION,
  requestFacts,
} from '../../src/core/http/freshness.ts'
import { judgeReuse } from '../../src/core/http/reuse.ts'
import { at, date, get, storedAt } from '../core/http/support.ts'
import type { FieldTable } from '../core/http/support.ts'

const judge = (cacheControl: string, seconds: number, request: FieldTable = {}) =>
  judgeReuse(
    storedAt(0, { Date: date(0), 'Cache-Control': cacheControl }).facts,
    requestFacts(get(request)),
    at(seconds),
  )

describe('§5.2.1', () => {
  const asking = (directive: string, seconds = 10) => judge('max-age=60', seconds, { 'Cache-Control': directive })

  test('§5.2.1.1: max-age refuses what is older', () => {
    expect(asking('max-age=10')).toBe('serve')
    expect(asking('max-age=9')).toBe('request-max-age')
    expect(asking('max-age=0')).toBe('request-max-age')
  })

  test('§5.2.1.1: max-age alone accepts nothing stale', () => {
    expect(asking('max-age=600', 70)).toBe('stale')
    expect(asking('max-age=600, max-stale=60', 70)).toBe('serve')
  })

  test('§5.2.1.3: min-fresh refuses what would be stale so soon', () => {
    expect(asking('min-fresh=50')).toBe('serve')
    expect(asking('min-fresh=51')).toBe('request-min-fresh')
  })

  test('§5.2.1.4: no-cache refuses what is not validated', () => {
    expect(asking('No-Cache')).toBe('request-no-cache')
  })

  test('§5.2.1.5: no-store is about storing, not about reuse', () => {
    expect(asking('no-store')).toBe('serve')
  })
})

describe('§5.2.2', () => {
  test.each(['no-cache', 'No-CaChE', 'no-cache="Set-Cookie"', 'public, no-cache'])(
    '§5.2.2.4: a response with %s is never used without validation',
    (directive) => {
      expect(judge(`${directive}, max-age=600`, 0)).toBe('no-cache')
      expect(freshUntilMs(storedAt(0, { 'Cache-Control': `${directive}, max-age=600` }).facts)).toBe(-Infinity)
      expect(judge(`${directive}, max-age=600`, 0, { 'Cache-Control': 'max-stale' })).toBe('no-cache')
    },
  )

  test('§5.2.2.10: s-maxage alone makes a response fresh for a shared cache', () => {
    expect(judge('s-maxage=3600', 10)).toBe('serve')
  })

  test('§5.2.3: unknown directives are ignored', () => {
    expect(judge('foobar=3600, no-such-thing, max-age=60', 10)).toBe('serve')
  })
})

describe('§5.4', () => {
  test('Pragma: no-cache in a request counts where there is no Cache-Control', () => {
    expect(judge('max-age=60', 0, { Pragma: 'foo, No-Cache' })).toBe('request-no-cache')
    expect(judge('max-age=60', 0, { Pragma: 'no-cache', 'Cache-Control': 'max-age=600' })).toBe('serve')
    expect(judge('max-age=60', 0, { Pragma: 'foo' })).toBe('serve')
  })

  test('Pragma in a response says nothing', () => {
    const { facts } = storedAt(0, { 'Cache-Control': 'max-age=60', Pragma: 'no-cache' })
    expect(judgeReuse(facts, requestFacts(get()), at(0))).toBe('serve')
  })
})

test('what a request has is told by its flags', () => {
  const flags = (table: FieldTable) => requestFacts(get(table)).flags
  expect(flags({ Accept: '*/*' })).toBe(0)
  expect(flags({ 'cache-control': 'only-if-cached, no-store' })).toBe(ONLY_IF_CACHED | NO_STORE)
  expect(flags({ 'Cache-Control': ['no-cache', 'no-store'] })).toBe(NO_CACHE | NO_STORE)
  expect(flags({ AUTHORIZATION: 'x', Range: 'bytes=0-1' })).toBe(HAS_AUTHORIZATION | HAS_RANGE)
  expect(flags({ 'If-None-Match': '*' })).toBe(CONDITIONAL)
  expect(flags({ 'If-Modified-Since': date(0) })).toBe(CONDITIONAL)
  expect(flags({ 'If-Match': '*' })).toBe(PRECONDITION)
  expect(flags({ 'If-Unmodified-Since': date(0) })).toBe(PRECONDITION)
})
