import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseSquidLine } from '../../../src/sim/traces/squid-access-log.ts'

const parse = (line: string) => parseSquidLine(line, 'http://origin.example')

test('a record stands where the request began: its line was written at the end', () => {
  const line =
    '1764547300.250 290000 192.0.2.1 TCP_MISS/200 900000000 GET http://www.example.com/iso - HIER_DIRECT/192.0.2.9 application/octet-stream'
  expect(parse(line)).toEqual({
    timeMs: 1_764_547_300_250 - 290_000,
    client: '192.0.2.1',
    method: 'GET',
    url: 'http://www.example.com/iso',
    status: 200,
    bodyBytes: 900_000_000,
  })
})

test('lines of old versions end with the URL', () => {
  expect(parse('847036800.100 25 10.0.0.1 TCP_HIT/200 500 GET http://www.example.com/')).toMatchObject({
    bodyBytes: 500,
  })
})

describe('what was not sent whole has no size', () => {
  test.each(['TCP_MEM_HIT_ABORTED/200', 'TCP_IMS_HIT/304', 'TCP_REFRESH_UNMODIFIED/304'])('%s', (result) => {
    const parsed = parse(`1764547300.000 5 192.0.2.1 ${result} 321 GET http://www.example.com/ - HIER_NONE/- text/html`)
    expect(parsed).toMatchObject({ bodyBytes: undefined })
  })
})

describe('what is no request is told by its reason', () => {
  test.each([
    ['1764547300.000 0 192.0.2.1 NONE_NONE/000 0 - error:transaction-end-before-headers - HIER_NONE/- -', 'no-request'],
    ['1764547300.000 0 192.0.2.1 UDP_MISS/000 60 ICP_QUERY http://www.example.com/ - HIER_NONE/- -', 'peer-query'],
    ['1764547300.000 0 192.0.2.1 TCP_DENIED/403 3900 GET http://www.example.com/ - HIER_NONE/- text/html', 'denied'],
    ['1764547300.000 9 192.0.2.1 TCP_TUNNEL/200 4000 CONNECT www.example.com:443 - HIER_DIRECT/192.0.2.9 -', 'tunnel'],
    ['1764547300.000 9 192.0.2.1 TCP_MISS/200 40 GET cache_object://localhost/info - HIER_NONE/- text/plain', 'url'],
    ['1764547300.000 9 192.0.2.1 TCP_MISS/200 -5 GET http://www.example.com/ - HIER_NONE/- text/plain', 'size'],
    ['1764547300.000 9 192.0.2.1 TCP_MISS/777 5 GET http://www.example.com/ - HIER_NONE/- text/plain', 'status'],
    ['yesterday 9 192.0.2.1 TCP_MISS/200 5 GET http://www.example.com/ - HIER_NONE/- text/plain', 'time'],
    ['1764547300.000 9 192.0.2.1 TCP_MISS/200 5 GET', 'structure'],
    ['192.0.2.1 - - [05/Aug/2026:09:32:06 -0300] "GET / HTTP/1.1" 200 100', 'structure'],
    ['', 'structure'],
  ])('%s', (line, reason) => {
    expect(parse(line)).toBe(reason)
  })
})

test('no line makes it throw', () => {
  const field = fc.oneof(
    fc.constantFrom('1764547300.000', '5', '-1', '192.0.2.1', 'TCP_MISS/200', 'GET', 'http://a/', '-', ''),
    fc.string({ unit: 'binary', maxLength: 10 }),
  )
  fc.assert(
    fc.property(fc.array(field, { maxLength: 11 }), (fields) => {
      const parsed = parse(Buffer.from(fields.join(' ')).toString('latin1'))
      if (typeof parsed !== 'string') expect(Number.isFinite(parsed.timeMs)).toBe(true)
    }),
  )
})
