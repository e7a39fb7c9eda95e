import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { parseCommonLine } from '../sim/traces/common-log.ts'
import type { ReplayRequest } from './replay-client.ts'

/** The access log that the demo replays. */
export interface DemoLog {
  readonly requests: readonly ReplayRequest[]
  /** Body size by path: the first that the log gives. */
  readonly sizes: ReadonlyMap<string, number>
  readonly clientCount: number
}

/** Of a path that the log only has 304s for. */
const UNKNOWN_SIZE = 1_024
const SITE = 'http://site'

/** @param proxyCount clients are numbered as they appear, and their number modulo this picks the proxy (Summary Cache) */
export function readDemoLog(proxyCount: number): DemoLog {
  const file = readFileSync(new URL('trace/elastic-apache-201505.log.gz', import.meta.url))
  const clients = new Map<string, number>()
  const sizes = new Map<string, number>()
  const requests: ReplayRequest[] = []
  for (const line of gunzipSync(file).toString('latin1').split('\n')) {
    const record = parseCommonLine(line, SITE)
    if (typeof record === 'string') continue
    const path = record.url.slice(SITE.length)
    const client = clients.get(record.client) ?? clients.size
    clients.set(record.client, client)
    if (record.bodyBytes !== undefined && !sizes.has(path)) sizes.set(path, record.bodyBytes)
    requests.push({ path, proxy: client % proxyCount })
  }
  for (const { path } of requests) if (!sizes.has(path)) sizes.set(path, UNKNOWN_SIZE)
  return { requests, sizes, clientCount: clients.size }
}
