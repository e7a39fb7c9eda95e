import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { AccessLog } from '../../../src/adapters/telemetry/access-log.ts'
import { squidLogLine } from '../../../src/adapters/telemetry/squid-log-line.ts'
import { requestEnded } from './request-ended.ts'

let folder: string
let told: { readonly level: number; readonly msg: string }[]
const logger = pino({}, { write: (line: string) => told.push(JSON.parse(line)) })

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'access-log-'))
  told = []
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true })
})

describe('an access log', () => {
  test('has a line per request in order, and none for other events, when it is closed', async () => {
    const log = open('logs/access.log')
    log.emit(requestEnded({ url: 'http://a/1' }))
    log.emit({ kind: 'local-miss', peers: 1, icpQueryBytes: 60, icpReplyBytes: 50 })
    for (let number = 2; number <= 500; number++) log.emit(requestEnded({ url: `http://a/${number}` }))
    await log.close()
    const expected = Array.from({ length: 500 }, (_, index) =>
      squidLogLine(requestEnded({ url: `http://a/${index + 1}` })),
    )
    expect(lines('logs/access.log')).toEqual(expected)
    expect(log.lostLines).toBe(0)
    expect(told).toEqual([])
  })

  test('writes JSON lines where these are asked for', async () => {
    const log = open('access.log', 'json')
    log.emit(requestEnded())
    await log.close()
    expect(lines('access.log').map((line) => JSON.parse(line))).toMatchObject([
      { outcome: 'local-hit', contentType: 'text/plain' },
    ])
  })

  test('appends to what is there', async () => {
    writeFileSync(join(folder, 'access.log'), 'before\n')
    const log = open('access.log')
    log.emit(requestEnded())
    await log.close()
    expect(lines('access.log')).toEqual(['before', squidLogLine(requestEnded())])
  })

  test('writes a quiet minute within a second', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const log = open('access.log')
    log.emit(requestEnded())
    vi.advanceTimersByTime(1000)
    await vi.waitFor(() => expect(lines('access.log')).toHaveLength(1))
    await log.close()
  })

  test('goes on in a new file after a rotation, and no line is lost between', async () => {
    const log = open('access.log')
    log.emit(requestEnded({ url: 'http://a/1' }))
    renameSync(join(folder, 'access.log'), join(folder, 'access.log.1'))
    log.emit(requestEnded({ url: 'http://a/2' }))
    log.reopen()
    log.emit(requestEnded({ url: 'http://a/3' }))
    await log.close()
    await vi.waitFor(() => expect(lines('access.log.1').map(urlOf)).toEqual(['http://a/1', 'http://a/2']))
    expect(lines('access.log').map(urlOf)).toEqual(['http://a/3'])
  })

  test('stays with the old file where no new one can be opened, and says so', async () => {
    const log = open('logs/access.log')
    renameSync(join(folder, 'logs'), join(folder, 'moved'))
    writeFileSync(join(folder, 'logs'), 'now a file, not a directory')
    log.reopen()
    log.emit(requestEnded())
    await log.close()
    expect(lines('moved/access.log')).toHaveLength(1)
    expect(told.map(({ level, msg }) => [level, msg])).toEqual([
      [50, 'access log could not be opened again; the old file stays'],
    ])
  })

  test('that can not be opened at the start is an error there and then', () => {
    writeFileSync(join(folder, 'file'), '')
    expect(() => open('file/access.log')).toThrow(/EEXIST|ENOTDIR/)
  })

  test('a full disk fails no request: it is told once, however many lines it takes, and closing does not hang', async () => {
    const log = new AccessLog({ path: '/dev/full', format: 'squid', logger })
    const url = `http://a/${'x'.repeat(4000)}`
    for (let number = 0; number < 3000; number++) {
      log.emit(requestEnded({ url }))
      if (number % 100 === 0) await new Promise(setImmediate)
    }
    await vi.waitFor(() => expect(told).toHaveLength(1))
    expect(log.lostLines).toBeGreaterThan(0)
    expect(log.lostLines).toBeLessThan(3000)
    await log.close()
    expect(told.map(({ level, msg }) => [level, msg])).toEqual([[50, 'access log can not be written']])
  })

  test('that is closed takes no line and opens no file', async () => {
    const log = new AccessLog({ path: join(folder, 'access.log'), format: 'squid', logger })
    await log.close()
    log.emit(requestEnded())
    log.reopen()
    await log.close()
    expect(log.lostLines, 'a line after closing').toBe(1)
    expect(lines('access.log')).toEqual([])
  })
})

function open(name: string, format: 'squid' | 'json' = 'squid'): AccessLog {
  return new AccessLog({ path: join(folder, name), format, logger })
}

function lines(name: string): string[] {
  return readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1)
}

function urlOf(line: string): string {
  return line.trim().split(/ +/)[6]!
}
