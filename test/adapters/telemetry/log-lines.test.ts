import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { jsonLogLine } from '../../../src/adapters/telemetry/json-log-line.ts'
import { squidLogLine } from '../../../src/adapters/telemetry/squid-log-line.ts'
import { OUTCOMES } from '../../../src/proxy/proxy-event.ts'
import type { RequestEnded } from '../../../src/proxy/proxy-event.ts'
import { requestEnded } from './request-ended.ts'

describe("Squid's native format", () => {
  test.each<[string, Partial<RequestEnded>, string]>([
    ['a local hit', {}, 'TCP_MEM_HIT/200 493 GET http://www.example.com/obj/1 - HIER_NONE/- text/plain'],
    [
      'a local hit that the client had already',
      { status: 304, contentType: undefined },
      'TCP_IMS_HIT/304 493 GET http://www.example.com/obj/1 - HIER_NONE/- -',
    ],
    [
      'a hit that the origin validated',
      { outcome: 'validated-hit', server: 'www.example.com' },
      'TCP_REFRESH_UNMODIFIED/200 493 GET http://www.example.com/obj/1 - HIER_DIRECT/www.example.com text/plain',
    ],
    [
      "a hit of a peer's, found by its digest",
      { outcome: 'remote-hit', server: 'edge-b' },
      'TCP_MISS/200 493 GET http://www.example.com/obj/1 - CD_SIBLING_HIT/edge-b text/plain',
    ],
    [
      'a miss',
      { outcome: 'miss', server: '127.0.0.20', contentType: 'text/html; charset=utf-8' },
      'TCP_MISS/200 493 GET http://www.example.com/obj/1 - HIER_DIRECT/127.0.0.20 text/html',
    ],
    [
      'a POST, which no cache may answer',
      { outcome: 'pass', method: 'POST', server: 'www.example.com' },
      'TCP_MISS/200 493 POST http://www.example.com/obj/1 - HIER_DIRECT/www.example.com text/plain',
    ],
    [
      'a tunnel',
      {
        outcome: 'tunnel',
        method: 'CONNECT',
        url: 'www.example.com:443',
        server: 'www.example.com',
        contentType: undefined,
      },
      'TCP_TUNNEL/200 493 CONNECT www.example.com:443 - HIER_DIRECT/www.example.com -',
    ],
    [
      "a peer's question for what is not held",
      { outcome: 'unheld', fromPeer: true, status: 504 },
      'TCP_MISS/504 493 GET http://www.example.com/obj/1 - HIER_NONE/- text/plain',
    ],
    [
      'a loop',
      { outcome: 'refused', status: 508 },
      'TCP_DENIED/508 493 GET http://www.example.com/obj/1 - HIER_NONE/- text/plain',
    ],
    [
      'a request that could not be read',
      { outcome: 'refused', status: 400, method: '', url: '', contentType: undefined },
      'NONE_NONE/400 493 - - - HIER_NONE/- -',
    ],
    [
      'an origin that gave no answer',
      { outcome: 'failed', status: 502, server: 'www.example.com' },
      'TCP_MISS/502 493 GET http://www.example.com/obj/1 - HIER_DIRECT/www.example.com text/plain',
    ],
    [
      'a client that went away before the first byte',
      { outcome: 'miss', status: 0, bytesToClient: 0, aborted: true },
      'TCP_MISS_ABORTED/000 0 GET http://www.example.com/obj/1 - HIER_NONE/- text/plain',
    ],
  ])('%s', (_name, fields, rest) => {
    expect(squidLogLine(requestEnded(fields))).toBe(`1796095574.469     28 127.0.0.1 ${rest}`)
  })

  test('time has three decimals and the elapsed time is padded to six places', () => {
    expect(squidLogLine(requestEnded({ wallMs: 1_796_095_574_007, elapsedMs: 0.4 }))).toMatch(/^1796095574\.007 {6}0 /)
    expect(squidLogLine(requestEnded({ wallMs: 5000.9, elapsedMs: 1_234_567 }))).toMatch(/^ {8}5\.000 1234567 /)
  })

  test('a space, a newline or a letter that is not ASCII is escaped, so that nobody forges a line', () => {
    const line = squidLogLine(
      requestEnded({
        url: 'http://a/x y\r\n1 forged\u0000\u00e9\ud800',
        contentType: 'text/\u0007html x',
        client: '::1 x',
      }),
    )
    expect(line).toContain(' ::1%20x ')
    expect(line).toContain(' http://a/x%20y%0D%0A1%20forged%00%C3%A9%EF%BF%BD ')
    expect(line.endsWith(' text/%07html%20x')).toBe(true)
  })

  test('any line is ten fields of printable ASCII', () => {
    const hostile = fc.string({ unit: 'binary', maxLength: 20 })
    fc.assert(
      fc.property(
        fc.record({
          method: hostile,
          url: hostile,
          client: hostile,
          server: fc.option(hostile, { nil: undefined }),
          contentType: fc.option(hostile, { nil: undefined }),
          outcome: fc.constantFrom(...OUTCOMES),
          status: fc.integer({ min: 0, max: 999 }),
          elapsedMs: fc.double({ min: 0, max: 1e7, noNaN: true }),
          aborted: fc.boolean(),
        }),
        (fields) => {
          const line = squidLogLine(requestEnded(fields))
          expect(line).toMatch(/^[\x20-\x7e]+$/)
          expect(line.trim().split(/ +/)).toHaveLength(10)
        },
      ),
    )
  })
})

describe('JSON lines', () => {
  test('every line has every key, and what is not known is null', () => {
    expect(jsonLogLine(requestEnded({ contentType: undefined }))).toBe(
      '{"time":"2026-12-01T03:26:14.469Z","elapsedMs":28,"client":"127.0.0.1","fromPeer":false,"method":"GET",' +
        '"url":"http://www.example.com/obj/1","status":200,"outcome":"local-hit","bytesToClient":493,"bodyBytes":200,' +
        '"contentType":null,"server":null,"aborted":false}',
    )
  })

  test('a newline in a URL does not begin a line', () => {
    expect(jsonLogLine(requestEnded({ url: 'http://a/\n{"forged":1}' }))).not.toContain('\n')
  })
})
