import { clientName } from './client-name.ts'
import { urlOfTarget } from './log-url.ts'
import type { ParsedLine, TraceFormat } from './trace-record.ts'

// Squid's sizes are those of replies with their heads, in which Age, Via and X-Cache come and go.
const HEAD_SLACK_BYTES = 512

/**
 * Squid's native access.log: `time elapsed client code/status bytes method URL ident hierarchy/peer type`, of which old
 * versions lack the last fields. It is written when a request ends; a record stands at its beginning.
 */
export const SQUID_ACCESS_LOG: TraceFormat = {
  name: 'squid',
  sizeSlackBytes: HEAD_SLACK_BYTES,
  parse: parseSquidLine,
}

export function parseSquidLine(line: string, originUrl: string): ParsedLine {
  const fields = line.trim().split(/ +/, 8)
  const [time, elapsed, client, result, bytes, method, target] = fields
  if (target === undefined) return 'structure'
  const verdict = /^([A-Z][A-Z0-9_]*)\/(\d{3})$/.exec(result!)
  if (verdict === null || !/^-?\d{1,12}$/.test(elapsed!)) return 'structure'
  if (!/^\d{1,11}(?:\.\d{1,6})?$/.test(time!)) return 'time'
  const code = verdict[1]!
  const status = Number(verdict[2])
  if (code.startsWith('UDP_')) return 'peer-query'
  if (code.startsWith('TCP_DENIED')) return 'denied'
  if (method === 'CONNECT' || code === 'TCP_TUNNEL') return 'tunnel'
  if (method === '-' || status === 0) return 'no-request'
  if (!/^\d{1,15}$/.test(bytes!)) return 'size'
  if (status < 100 || status > 599) return 'status'
  const url = urlOfTarget(target, originUrl)
  if (url === undefined) return 'url'
  const isWhole = status !== 304 && !code.endsWith('_ABORTED')
  return {
    timeMs: Math.round(Number(time) * 1000) - Math.max(0, Number(elapsed)),
    client: clientName(client!),
    method: method!,
    url,
    status,
    bodyBytes: isWhole ? Number(bytes) : undefined,
  }
}
