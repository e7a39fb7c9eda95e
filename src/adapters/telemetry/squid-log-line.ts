import type { RequestEnded } from '../../proxy/proxy-event.ts'

/**
 * A line of Squid's native access.log, without its newline:
 * `%9d.%03d %6d CLIENT RESULT/STATUS BYTES METHOD URL USER HIERARCHY/SERVER CONTENT_TYPE`.
 *
 * Readers split it at runs of spaces, so no field may hold one or be empty.
 */
export function squidLogLine(ended: RequestEnded): string {
  const wallMs = Math.max(0, Math.floor(ended.wallMs))
  const time = `${String(Math.floor(wallMs / 1000)).padStart(9)}.${padded(wallMs % 1000)}`
  const elapsed = String(Math.max(0, Math.round(ended.elapsedMs))).padStart(6)
  const result = `${resultCode(ended)}${ended.aborted ? '_ABORTED' : ''}/${padded(ended.status)}`
  // Squid logs the media type alone.
  const contentType = field(ended.contentType?.split(';', 1)[0]?.trim())
  return (
    `${time} ${elapsed} ${field(ended.client)} ${result} ${ended.bytesToClient} ` +
    `${field(ended.method)} ${field(ended.url)} - ${hierarchy(ended)} ${contentType}`
  )
}

/** Refusals by an access rule (RFC 9110 §15.5, RFC 5842 §7.2 for loops); the others concern requests we can't read. */
const DENIALS: ReadonlySet<number> = new Set([401, 403, 407, 429, 508])

function resultCode(ended: RequestEnded): string {
  switch (ended.outcome) {
    case 'local-hit':
      return ended.status === 304 ? 'TCP_IMS_HIT' : 'TCP_MEM_HIT'
    case 'validated-hit':
      return 'TCP_REFRESH_UNMODIFIED'
    case 'remote-hit':
    case 'miss':
    case 'pass':
    case 'unheld':
    case 'failed':
      return 'TCP_MISS'
    case 'tunnel':
      return 'TCP_TUNNEL'
    case 'refused':
      return DENIALS.has(ended.status) ? 'TCP_DENIED' : 'NONE_NONE'
  }
}

function hierarchy(ended: RequestEnded): string {
  if (ended.server === undefined) return 'HIER_NONE/-'
  return `${ended.outcome === 'remote-hit' ? 'CD_SIBLING_HIT' : 'HIER_DIRECT'}/${field(ended.server)}`
}

function field(text: string | undefined): string {
  if (text === undefined || text === '') return '-'
  // Spaces, controls and what is not ASCII, as Squid does; a lone surrogate would make encodeURIComponent throw.
  return text.toWellFormed().replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent)
}

function padded(number: number): string {
  return String(number).padStart(3, '0')
}
