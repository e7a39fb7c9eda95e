import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatHttpDate, parseHttpDate } from '../../../src/core/http/http-date.ts'

const NOW = Date.UTC(2026, 0, 1)
const RFC_EXAMPLE = Date.UTC(1994, 10, 6, 8, 49, 37)

describe('RFC 9110 §5.6.7', () => {
  test.each([
    ['IMF-fixdate', 'Sun, 06 Nov 1994 08:49:37 GMT'],
    ['rfc850-date', 'Sunday, 06-Nov-94 08:49:37 GMT'],
    ['asctime-date', 'Sun Nov  6 08:49:37 1994'],
  ])('a recipient accepts %s', (_form, text) => {
    expect(parseHttpDate(text, NOW)).toBe(RFC_EXAMPLE)
  })

  test('a two-digit year that appears to be more than 50 years ahead is the most recent past one', () => {
    const at = (year: number) => Date.UTC(year, 0, 1)
    expect(parseHttpDate('Thursday, 01-Jan-76 00:00:00 GMT', at(2026))).toBe(at(2076))
    expect(parseHttpDate('Thursday, 01-Jan-76 00:00:01 GMT', at(2026))).toBe(at(1976) + 1000)
    expect(parseHttpDate('Thursday, 01-Jan-01 00:00:00 GMT', at(2099))).toBe(at(2101))
    expect(parseHttpDate('Thursday, 01-Jan-99 00:00:00 GMT', at(2026))).toBe(at(1999))
  })

  test('the 29th of February keeps its day whatever the year 50 years before', () => {
    expect(parseHttpDate('Thursday, 29-Feb-24 00:00:00 GMT', NOW)).toBe(Date.UTC(2024, 1, 29))
    expect(parseHttpDate('Thursday, 29-Feb-23 00:00:00 GMT', NOW)).toBeUndefined()
  })
})

test.each(['THU, 18 Aug 2050 02:01:18 GMT', 'Thu, 18 AUG 2050 02:01:18 GMT', 'Thu, 18 Aug 2050 02:01:18 gMT'])(
  'names are read in any case: %s',
  (text) => {
    expect(parseHttpDate(text, NOW)).toBe(Date.UTC(2050, 7, 18, 2, 1, 18))
  },
)

test.each([
  'Thu, 18 Aug 2050 02:01:18 UTC',
  'Thu, 18 Aug 2050 02:01:18 AEST',
  'Thu, 18 Aug 2050 02:01:18 +0000',
  'Thu, 18 Aug 50 02:01:18 GMT',
  'Thu 18 Aug 2050 02:01:18 GMT',
  'Thu, 18  Aug  2050 02:01:18 GMT',
  'Thu, 18-Aug-2050 02:01:18 GMT',
  'Thu, 18 Aug 2050 02.01.18 GMT',
  'Thu, 18 Aug 2050 2:01:18 GMT',
  'Thu, 18 Aug 2050 24:01:18 GMT',
  'Thu, 18 Aug 2050 02:60:18 GMT',
  'Thu, 18 Aug 2050 02:01:61 GMT',
  'Thu, 31 Feb 2050 02:01:18 GMT',
  'Thu, 00 Feb 2050 02:01:18 GMT',
  'Foo, 18 Aug 2050 02:01:18 GMT',
  'Thu, 18 Anf 2050 02:01:18 GMT',
  ' Thu, 18 Aug 2050 02:01:18 GMT',
  'Thu, 18 Aug 2050 02:01:18 GMT, Thu, 18 Aug 2050 02:01:18 GMT',
  'Thu Aug 8 02:01:18 2050',
])('is no HTTP date: %s', (text) => {
  expect(parseHttpDate(text, NOW)).toBeUndefined()
})

test('[dates-that-parse-too-well] what Date.parse would take is refused', () => {
  for (const text of [
    '0',
    '-1',
    '3600',
    'Thu, 01 Dec 2099',
    '2099-12-01T00:00:00Z',
    'Tue, 32 Dec 2099 00:00:00 GMT',
    '',
  ]) {
    expect(parseHttpDate(text, NOW)).toBeUndefined()
  }
})

test('a leap second and the years of one and two digits are dates', () => {
  expect(parseHttpDate('Sat, 31 Dec 2016 23:59:60 GMT', NOW)).toBe(Date.UTC(2017, 0, 1))
  expect(parseHttpDate('Sat, 01 Jan 0050 00:00:00 GMT', NOW)).toBe(new Date('0050-01-01T00:00:00Z').getTime())
})

test('every second that can be written is read back', () => {
  fc.assert(
    fc.property(fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }), (seconds) => {
      expect(parseHttpDate(formatHttpDate(seconds * 1000), NOW)).toBe(seconds * 1000)
    }),
  )
})
