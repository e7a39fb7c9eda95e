import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseCommonLine } from '../../../src/sim/traces/common-log.ts'

const ORIGIN = 'http://origin.example'
const parse = (line: string) => parseCommonLine(line, ORIGIN)
/** A line about `request`, as the log writes it. */
const about = (request: string, rest = '200 100') => `192.0.2.1 - - [05/Aug/2026:09:32:06 -0300] "${request}" ${rest}`
const AT = Date.UTC(2026, 7, 5, 12, 32, 6)

test('a line of a combined log is read, its referrer and user agent left', () => {
  const line =
    '83.149.9.216 - frank [17/May/2015:10:05:03 +0000] "GET /a.png HTTP/1.1" 200 203023 "http://ref/" "Mozilla (X; \\"Y\\")"'
  expect(parse(line)).toEqual({
    timeMs: Date.UTC(2015, 4, 17, 10, 5, 3),
    client: '83.149.9.216',
    method: 'GET',
    url: 'http://origin.example/a.png',
    status: 200,
    bodyBytes: 203_023,
  })
})

describe('targets', () => {
  test.each([
    ['GET / HTTP/1.1', 'http://origin.example/'],
    ['GET /', 'http://origin.example/'], // HTTP/0.9
    ['GET http://WWW.example.com:80/a HTTP/1.1', 'http://www.example.com/a'],
    ['GET /a\\"b HTTP/1.1', 'http://origin.example/a"b'],
    ['GET /a"b HTTP/1.0', 'http://origin.example/a"b'], // a server that does not escape
    ['GET /a\\x22b\\\\c HTTP/1.1', 'http://origin.example/a"b\\c'],
    ['GET /caf\\xc3\\xa9 HTTP/1.1', 'http://origin.example/caf%C3%A9'],
    ['GET /caf\u00c3\u00a9 HTTP/1.1', 'http://origin.example/caf%C3%A9'], // raw UTF-8, a byte a character
    ['GET /two words HTTP/1.0', 'http://origin.example/twowords'], // as Squid strips white space
    ['GET /page#part HTTP/1.1', 'http://origin.example/page'],
  ])('of "%s" the URL is %s', (request, url) => {
    expect(parse(about(request))).toMatchObject({ url, status: 200, bodyBytes: 100, timeMs: AT })
  })
})

describe('what is no request is told by its reason', () => {
  test.each([
    ['total garbage without any structure', 'structure'],
    ['', 'structure'],
    [' - - [05/Aug/2026:09:32:06 -0300] "GET / HTTP/1.1" 200 1', 'structure'],
    ['192.0.2.1 - - 05/Aug/2026:09:32:06 -0300 "GET / HTTP/1.1" 200 1', 'structure'],
    ['192.0.2.1 - - [05/Aug/2026:09:32:06 -0300] "GET / HTTP/1.1', 'structure'],
    ['192.0.2.1 - - [31/Feb/2026:23:01:01 -0300] "GET / HTTP/1.1" 200 1', 'time'],
    ['192.0.2.1 - - [01/Feb/2026:25:61:61 -0300] "GET / HTTP/1.1" 200 1', 'time'],
    [about('GET / HTTP/1.1', '200'), 'size'],
    [about('GET / HTTP/1.1', '999 1'), 'status'],
    [about('-', '408 -'), 'no-request'],
    [about('', '400 0'), 'no-request'],
    [about('\\x16\\x03\\x01\\x02', '400 226'), 'no-request'],
    [about('CONNECT www.example.com:443 HTTP/1.1'), 'tunnel'],
    [about('OPTIONS * HTTP/1.1'), 'url'],
    [about('GET ftp://www.example.com/ HTTP/1.1'), 'url'],
    [about('GET /\\x07 HTTP/1.1'), 'url'],
  ])('%s', (line, reason) => {
    expect(parse(line)).toBe(reason)
  })
})

test("a size of - is unknown, and the one of a 304 is not the document's", () => {
  expect(parse(about('GET / HTTP/1.1', '200 -'))).toMatchObject({ bodyBytes: undefined })
  expect(parse(about('GET / HTTP/1.1', '304 150'))).toMatchObject({ status: 304, bodyBytes: undefined })
  expect(parse(about('GET / HTTP/1.1', '200 0'))).toMatchObject({ bodyBytes: 0 })
})

test('each line counts by its own zone: an hour between two of 02:30 when summer time ends', () => {
  const summer = parse('192.0.2.1 - - [01/Nov/2026:02:30:00 -0400] "GET /c HTTP/1.1" 200 5')
  const winter = parse('192.0.2.1 - - [01/Nov/2026:02:30:00 -0500] "GET /c HTTP/1.1" 200 5')
  expect(summer).toMatchObject({ timeMs: Date.UTC(2026, 10, 1, 6, 30) })
  expect(winter).toMatchObject({ timeMs: Date.UTC(2026, 10, 1, 7, 30) })
})

test('a client has one name, however its address is written', () => {
  const clients = [
    '2001:db8:0:0:0:0:0:1',
    '2001:db8::1',
    'fe80::1%eth0',
    '::ffff:192.0.2.1',
    '192.0.2.1',
    '[2001:db8::2]',
    'proxy.example.com',
    'not:an:address',
  ].map((client) => parse(`${client} - - [01/Dec/2026:00:00:00 +0000] "GET http://www.example.com/ HTTP/1.1" 200 100`))
  expect(clients.map((record) => (typeof record === 'string' ? record : record.client))).toEqual([
    '2001:db8::1',
    '2001:db8::1',
    'fe80::1%eth0',
    '192.0.2.1',
    '192.0.2.1',
    '2001:db8::2',
    'proxy.example.com',
    'not:an:address',
  ])
})

test('no line makes it throw', () => {
  const piece = fc.constantFrom(
    '"',
    '[',
    ']',
    ' ',
    '\\',
    '\\x0',
    '17/May/2015:10:05:03 +0000',
    'GET',
    '/',
    '200',
    '-',
    'a:b%',
  )
  const line = fc.oneof(
    fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join('')),
    fc.string({ unit: 'binary', maxLength: 80 }).map((text) => about(text)),
    fc.string({ unit: 'binary', maxLength: 80 }),
  )
  fc.assert(
    fc.property(line, (text) => {
      const parsed = parse(Buffer.from(text).toString('latin1'))
      if (typeof parsed !== 'string') expect(parsed.url).toMatch(/^https?:\/\/[!-~]+$/)
    }),
  )
})
