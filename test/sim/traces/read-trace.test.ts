import * as fc from 'fast-check'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { readTrace, TraceReader } from '../../../src/sim/traces/read-trace.ts'
import { TraceError } from '../../../src/sim/traces/trace-error.ts'
import { MAX_LINE_BYTES } from '../../../src/sim/traces/trace-lines.ts'
import type { TraceRecord } from '../../../src/sim/traces/trace-record.ts'

const COMMON = '192.0.2.1 - - [05/Aug/2026:09:32:06 -0300] "GET /a HTTP/1.1" 200 100'
const SQUID =
  '1764547300.000 5 192.0.2.2 TCP_MISS/200 500 GET http://www.example.com/b - HIER_DIRECT/192.0.2.9 text/html'

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** What is read of files with these contents, fed in pieces of `size` bytes. */
async function read(contents: readonly (string | Uint8Array)[], size = 64) {
  const records: TraceRecord[] = []
  const reader = new TraceReader((record) => records.push(record), { originUrl: 'http://origin.example' })
  for (const [i, content] of contents.entries()) {
    const bytes = typeof content === 'string' ? Buffer.from(content, 'latin1') : content
    await reader.read(`log-${i}`, pieces(bytes, size))
  }
  return { records, reading: reader.reading() }
}

test('each file is read in the format that its lines show', async () => {
  const { reading, records } = await read([`${SQUID}\n`, `${COMMON}\n${COMMON}\n`])
  expect(reading.files).toEqual([
    { name: 'log-0', format: 'squid', lines: 1, records: 1 },
    { name: 'log-1', format: 'common', lines: 2, records: 2 },
  ])
  expect(records.map(({ url }) => url)).toEqual([
    'http://www.example.com/b',
    'http://origin.example/a',
    'http://origin.example/a',
  ])
  expect(reading.sizeSlackBytes).toBe(512)
})

describe('the first bytes tell what a file is, not its name', () => {
  test.each([
    ['plain text', Buffer.from(`${COMMON}\n${COMMON}\n`)],
    ['gzip', gzipSync(`${COMMON}\n${COMMON}\n`)],
    [
      'two members of gzip, cut within a line',
      Buffer.concat([gzipSync(`${COMMON}\n${COMMON.slice(0, 9)}`), gzipSync(`${COMMON.slice(9)}\n`)]),
    ],
    ['UTF-8 with a mark', Buffer.from(`\u{feff}${COMMON}\n${COMMON}\n`)],
    ['line ends of two characters', Buffer.from(`${COMMON}\r\n\r\n${COMMON}\r\n`)],
    ['a last line without an end', Buffer.from(`${COMMON}\n${COMMON}`)],
  ])('%s', async (_, content) => {
    for (const size of [1, 7, 1_000]) {
      const { reading, records } = await read([content], size)
      expect(records).toHaveLength(2)
      expect(reading.skipped).toEqual({})
    }
  })

  test.each([
    ['xz', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]), /log-0: is xz data; .*xz -dc/],
    ['xz within gzip', gzipSync(Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0])), /is xz data/],
    ['zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0]), /is zstd data/],
    ['UTF-16', Buffer.from(`\u{feff}${COMMON}`, 'utf16le'), /is UTF-16 text; .*iconv/],
    ['a program', Buffer.from('\u007fELF\u0002\u0001\u0001\0\0\0', 'latin1'), /log-0: is no text/],
    [
      'text of another kind',
      Buffer.from('to whom it may concern\n'),
      /no known format: "to whom it may concern"; .*squid, common/,
    ],
    ['gzip cut short', gzipSync(`${COMMON}\n`.repeat(50)).subarray(0, 60), /log-0: is damaged gzip data/],
  ])('%s is refused', async (_, content, message) => {
    const error = await read([content]).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(TraceError)
    expect((error as Error).message).toMatch(message)
  })

  test('an empty file has no requests, and that is no error', async () => {
    const { reading, records } = await read(['', '\n\n'])
    expect(records).toEqual([])
    expect(reading.files.map(({ format }) => format)).toEqual(['', ''])
  })
})

test('what cannot be read is counted by its reason, and the first malformed lines are shown', async () => {
  const lines = [
    '192.0.2.1 - - [05/Aug/2026:09:32:06 -0300] "-" 408 - "-" "-"',
    '192.0.2.1 - - [05/Aug/2026:09:32:07 -0300] "" 400 0 "-" "-"',
    '192.0.2.1 - - [05/Aug/2026:09:32:08 -0300] "\\x16\\x03\\x01\\x02" 400 226 "-" "-"',
    '192.0.2.1 - - [05/Aug/2026:09:32:09 -0300] "GET /" 200 10',
    '192.0.2.1 - - [05/Aug/2026:09:32:10 -0300] "GET / HTTP/1.1" 200',
    '192.0.2.1 - - [31/Feb/2026:25:61:61 -0300] "GET / HTTP/1.1" 200 1 "-" "-"',
    '192.0.2.1 - - [05/Aug/2026:09:32:11 -0300] "GET /a\\"b HTTP/1.1" 200 5 "-" "say \\"hi\\""',
    'total garbage without any structure',
  ]
  const { reading, records } = await read([lines.join('\n')])
  expect(records.map(({ status, url }) => [url, status])).toEqual([
    ['http://origin.example/', 200],
    ['http://origin.example/a"b', 200],
  ])
  expect(reading.skipped).toEqual({ 'no-request': 3, size: 1, time: 1, structure: 1 })
  expect(reading.examples.map(({ line, reason }) => [line, reason])).toEqual([
    [5, 'size'],
    [6, 'time'],
    [8, 'structure'],
  ])
})

test('lines before the first that shows the format are counted, and a log of none in a thousand is refused', async () => {
  const { reading } = await read([`# a comment\n${COMMON}\n`])
  expect(reading.skipped).toEqual({ structure: 1 })
  await expect(read([`${'a comment\n'.repeat(1_000)}${COMMON}\n`])).rejects.toThrow(TraceError)
})

test('a line that is too long is skipped, and no more than one line is ever held', async () => {
  const long = `${COMMON} "${'x'.repeat(MAX_LINE_BYTES)}"`
  const { reading, records } = await read([`${long}\n${COMMON}\n${long}${long}`], 10_000)
  expect(records).toHaveLength(1)
  expect(reading.skipped).toEqual({ 'too-long': 2 })
})

test('any bytes at all are read or refused', async () => {
  const line = fc.oneof(fc.constantFrom(COMMON, SQUID, '', '"', '\r'), fc.string({ unit: 'binary', maxLength: 40 }))
  const content = fc.oneof(
    fc.array(line, { maxLength: 8 }).map((lines) => Buffer.from(lines.join('\n'))),
    fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
    fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.concat([gzipSync(COMMON), bytes])),
  )
  await fc.assert(
    fc.asyncProperty(content, fc.integer({ min: 1, max: 50 }), async (bytes, size) => {
      const error = await read([bytes], size).catch((thrown: unknown) => thrown)
      if (error instanceof Error) expect(error).toBeInstanceOf(TraceError)
    }),
  )
})

describe('a file that cannot be read is named, with cause and remedy', () => {
  const nothing = { originUrl: 'http://origin.example' }
  test.each([
    ['no/such.log', /^no\/such\.log: cannot be read \(ENOENT\); there is no such file/],
    ['test', /^test: cannot be read \(EISDIR\); it is a directory/],
  ])('%s', async (path, message) => {
    await expect(readTrace([path], () => undefined, nothing)).rejects.toThrow(message)
  })
})
