import { gunzipSync } from 'node:zlib'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseCommonLine } from '../../src/sim/traces/common-log.ts'

const text = gunzipSync(readFileSync('src/demo/trace/elastic-apache-201505.log.gz')).toString('latin1')
const lines = text.trimEnd().split('\n')
const records = lines.map((line) => parseCommonLine(line, 'http://origin.example'))
const requests = records.filter((record) => typeof record !== 'string')

test('the log of the demo is what its README says', () => {
  expect(requests).toHaveLength(8_504)
  expect(requests).toHaveLength(lines.length)
  expect(new Set(requests.map(({ client }) => client)).size).toBe(1_594)
  expect(new Set(requests.map(({ url }) => url)).size).toBe(1_244)
  expect(requests.reduce((sum, { bodyBytes }) => sum + (bodyBytes ?? 0), 0)).toBe(42_806_871)
})

test('it holds documents alone, and of each line what the common log format has', () => {
  expect(lines.every((line) => / HTTP\/1\.[01]" \d{3} (?:\d+|-)$/.test(line))).toBe(true)
  expect(requests.every(({ method }) => method === 'GET')).toBe(true)
  expect(new Set(requests.map(({ status }) => status))).toEqual(new Set([200, 206, 301, 304]))
  expect(requests.every(({ url }) => !/\?|cgi[-_]bin/i.test(url))).toBe(true)
  expect(requests.every(({ bodyBytes }) => bodyBytes === undefined || bodyBytes >= 128)).toBe(true)
})
