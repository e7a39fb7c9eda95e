import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { FilterKind } from '../../../src/sim/traces/request-filter.ts'
import { TraceBuilder, UNKNOWN_SIZE, type Trace } from '../../../src/sim/traces/trace.ts'
import type { TraceRecord } from '../../../src/sim/traces/trace-record.ts'

function record(overrides: Partial<TraceRecord>): TraceRecord {
  return { timeMs: 0, client: 'a', method: 'GET', url: 'http://o/', status: 200, bodyBytes: 100, ...overrides }
}

function traceOf(records: readonly Partial<TraceRecord>[], filter: FilterKind = 'paper', sizeSlackBytes = 0): Trace {
  const builder = new TraceBuilder(filter)
  for (const each of records) builder.add(record(each))
  return builder.finish(sizeSlackBytes)
}

test('requests are replayed in order of their times, those of one time as they came', () => {
  const times = fc.array(fc.integer({ min: -3, max: 3 }), { maxLength: 3_000 })
  fc.assert(
    fc.property(times, (timesMs) => {
      const trace = traceOf(timesMs.map((timeMs, i) => ({ timeMs, url: `http://o/${i}` })))
      const expected = timesMs.map((timeMs, i) => ({ timeMs, i })).toSorted((a, b) => a.timeMs - b.timeMs || a.i - b.i)
      expect([...trace.timeMs]).toEqual(expected.map(({ timeMs }) => timeMs))
      expect([...trace.document]).toEqual(expected.map(({ i }) => i))
      const late = timesMs.filter((timeMs, i) => timesMs.slice(0, i).some((before) => before > timeMs))
      expect(trace.outOfOrder).toBe(late.length)
    }),
    { numRuns: 30 },
  )
})

test('clients and documents are numbered as they first appear, whatever is left out', () => {
  const trace = traceOf([
    { client: 'x', method: 'POST' },
    { client: 'y', url: 'http://o/2' },
    { client: 'x' },
    { client: 'y' },
  ])
  expect([...trace.client]).toEqual([1, 0, 1])
  expect(trace.clients).toEqual(['x', 'y'])
  expect(trace.documents.map(({ url }) => url)).toEqual(['http://o/2', 'http://o/'])
})

describe('sizes', () => {
  const sizes = (given: readonly (number | undefined)[], slackBytes = 0): number[] => [
    ...traceOf(
      given.map((bodyBytes) => ({ bodyBytes })),
      'paper',
      slackBytes,
    ).bodyBytes,
  ]

  test('a request without one is for the version known so far, and at first for the next to come', () => {
    expect(sizes([undefined, 5, undefined, 7, undefined])).toEqual([5, 5, 5, 7, 7])
    expect(sizes([undefined, undefined])).toEqual([UNKNOWN_SIZE, UNKNOWN_SIZE])
  })

  test('where they count heads as well, a small difference is no new version', () => {
    expect(sizes([1_000, 1_100, 900, 2_000, 1_999], 512)).toEqual([1_000, 1_000, 1_000, 2_000, 2_000])
    expect(sizes([1_000, 1_001])).toEqual([1_000, 1_001])
  })

  test('what passes has no say in them', () => {
    const trace = traceOf([{}, { method: 'POST', bodyBytes: 7 }, { bodyBytes: undefined }], 'all')
    expect([...trace.bodyBytes]).toEqual([100, 7, 100])
  })
})

describe('filters', () => {
  test("the paper's keeps documents alone and tells the rest by reason", () => {
    const trace = traceOf([
      ...[200, 203, 206, 300, 301, 304, 410].map((status) => ({ status })),
      { method: 'HEAD' },
      { status: 404 },
      { status: 302 },
      { url: 'http://o/a?b' },
      { url: 'http://o/cgi-bin/a' },
    ])
    expect(trace.length).toBe(7)
    expect(trace.dropped).toEqual({ method: 1, status: 2, query: 1, cgi: 1 })
    expect([...trace.passes]).toEqual([0, 0, 0, 0, 0, 0, 0])
  })

  test('the other keeps every request, and what no cache may answer passes', () => {
    const trace = traceOf(
      [{}, { url: 'http://o/a?b' }, { status: 404 }, { status: 302 }, { status: 206 }, { method: 'POST' }],
      'all',
    )
    expect([...trace.passes]).toEqual([0, 0, 0, 1, 1, 1])
  })
})
