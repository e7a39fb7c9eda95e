import { cacheStatus } from '../core/http/cache-status.ts'
import { Fields } from '../core/http/fields.ts'
import { viaAppended, xForwardedForAppended } from '../core/http/forwarded-headers.ts'
import { formatHttpDate } from '../core/http/http-date.ts'
import type { ResponseHead } from '../core/http/message-head.ts'
import { servedHead, type StoredHead } from '../core/http/stored-head.ts'
import { unheldReply, type UnheldDetail } from '../proxy/own-replies.ts'

// Sizes of the heads that a live proxy and its peer would exchange, built by the same functions. A log does not tell what
// else a client's request held (Accept, User-Agent, Cookie), so that both are smaller here than they would be.

/** `GET` of an absolute URL with only-if-cached, as a proxy asks a peer. */
export function askedHeadBytes(askerName: string, client: string, url: string): number {
  const via = viaAppended(Fields.none, '1.1', askerName)
  const fields = xForwardedForAppended(via, client).set('Cache-Control', 'only-if-cached')
  const host = url.slice(url.indexOf('//') + 2, url.indexOf('/', url.indexOf('//') + 2))
  return headBytes(`GET ${url} HTTP/1.1`, fields.plus('Host', host))
}

/** The head that comes with a peer's copy. */
export function hitHeadBytes(peerName: string, stored: StoredHead, nowMs: number): number {
  const served = servedHead(stored, nowMs)
  const fields = viaAppended(served.fields, '1.1', peerName)
  return responseBytes({ ...served, fields: fields.plus('Cache-Status', cacheStatus(peerName, { hit: true })) })
}

/** The 504 of a peer that cannot serve what was asked for. */
export function unheldHeadBytes(peerName: string, detail: UnheldDetail, claim: string, nowMs: number): number {
  const { head, bodyBytes } = unheldReply(peerName, detail, claim)
  const fields = head.fields.plus('Content-Length', String(bodyBytes)).plus('Date', formatHttpDate(nowMs))
  return responseBytes({ ...head, fields })
}

function responseBytes({ status, reason, fields }: ResponseHead): number {
  return headBytes(`HTTP/1.1 ${status} ${reason}`, fields)
}

/** Start line and fields with their line ends, and the empty line. */
function headBytes(startLine: string, { raw }: Fields): number {
  let bytes = startLine.length + 4
  for (let i = 0; i < raw.length; i += 2) bytes += raw[i]!.length + raw[i + 1]!.length + 4
  return bytes
}
