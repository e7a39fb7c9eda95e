import { expect, test } from 'vitest'
import { Fields } from '../../../src/core/http/fields.ts'
import { servedHead, storedHead } from '../../../src/core/http/stored-head.ts'
import { at, date, get, response, storedAt, timesAt } from './support.ts'

test('RFC 9110 §6.6.1: a Date that is missing or unreadable is the time of receipt, a good one stays', () => {
  const dates = (table: Record<string, string>) =>
    storedAt(5, { 'Cache-Control': 'max-age=9', ...table }).head.fields.lines('date')
  expect(dates({})).toEqual([date(5)])
  expect(dates({ Date: 'now' })).toEqual([date(5)])
  expect(dates({ Date: date(-100) })).toEqual([date(-100)])
})

test('a hit is what was stored, and its Age', () => {
  const table = { Date: date(0), Expires: date(60), 'Set-Cookie': ['a=1', 'b=2'], 'X-A': '1' }
  const served = servedHead(storedAt(0, table, get(), 203), at(7))
  expect(served).toEqual({ ...response({ ...table, Age: '7' }, 203) })
})

test('the variant is that of the request which brought the response', () => {
  const stored = storedAt(0, { 'Cache-Control': 'max-age=9', Vary: 'B, a' }, get({ A: '1' }))
  expect(stored.varyNames).toEqual(['a', 'b'])
  expect(stored.variant).toBe(JSON.stringify(['a', '1', 'b', null]))
})

test('a response that never matches is a mistake of ours here', () => {
  expect(() => storedHead(get(), response({ Vary: '*' }), timesAt(0))).toThrow('never matches')
})

test('fields compare without case and keep their lines', () => {
  const fields = new Fields(['A', '1', 'b', '2', 'a', '3'])
  expect(fields.get('a')).toBe('1, 3')
  expect(fields.first('A')).toBe('1')
  expect(fields.lines('a')).toEqual(['1', '3'])
  expect(fields.has('B')).toBe(true)
  expect(fields.has('c')).toBe(false)
  expect(fields.set('A', '4').raw).toEqual(['b', '2', 'A', '4'])
  expect(fields.without(new Set(['c']))).toBe(fields)
})
