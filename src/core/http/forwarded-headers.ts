import type { Fields } from './fields.ts'

/** Meant for the next hop alone, whether Connection names them or not (RFC 9110 §7.6.1, §11.7; RFC 9111 §3.1). */
const HOP_BY_HOP: readonly string[] = [
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/**
 * Never dropped because Connection names them: they are for all recipients, and a sender who names one would switch off
 * what framing, caching or loop detection rely on (RFC 9110 §7.6.1, "such as Cache-Control"; RFC 8586 §2).
 */
const FOR_ALL_RECIPIENTS: ReadonlySet<string> = new Set([
  'age',
  'authorization',
  'cache-control',
  'cdn-loop',
  'content-length',
  'date',
  'expires',
  'host',
  'set-cookie',
  'vary',
  'via',
])

/** The fields that go on to the next recipient, or into the store. */
export function endToEnd(fields: Fields): Fields {
  const dropped = new Set(HOP_BY_HOP)
  for (const line of fields.lines('connection')) {
    for (const option of line.split(',')) {
      const name = option.trim().toLowerCase()
      if (!FOR_ALL_RECIPIENTS.has(name)) dropped.add(name)
    }
  }
  return fields.without(dropped)
}

/**
 * What a client claims of how it reached us. A reverse proxy sets these itself or leaves them out: an origin that builds
 * links from them, or picks the page by them, would have one client's claim stored for all (RFC 7239 §8.1).
 */
const FORWARDING_CLAIMS: ReadonlySet<string> = new Set([
  'forwarded',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-prefix',
  'x-forwarded-proto',
  'x-forwarded-scheme',
  'x-forwarded-server',
  'x-host',
  'x-original-host',
  'x-original-url',
  'x-rewrite-url',
])

export function withoutForwardingClaims(fields: Fields): Fields {
  return fields.without(FORWARDING_CLAIMS)
}

/**
 * These fields with ourselves as the last member of Via (RFC 9110 §7.6.3).
 *
 * @param version of HTTP in which the message came, such as '1.1'
 * @param name our pseudonym: a token, different for each proxy
 */
export function viaAppended(fields: Fields, version: string, name: string): Fields {
  return withMember(fields, 'Via', `${version} ${name}`)
}

/** Whether the message has passed through `name` before: a loop. */
export function viaContains(fields: Fields, name: string): boolean {
  const wanted = name.toLowerCase()
  return membersOf(fields, 'via').some((member) => receivedBy(member) === wanted)
}

/** How many proxies the message has passed through, by their own account. */
export function viaHopCount(fields: Fields): number {
  return membersOf(fields, 'via').length
}

/** RFC 8586 §2: whether `id` is among the CDNs the request has passed through; parameters say nothing. */
export function cdnLoopContains(fields: Fields, id: string): boolean {
  const wanted = id.toLowerCase()
  return membersOf(fields, 'cdn-loop').some((member) => member.split(';', 1)[0]!.trim().toLowerCase() === wanted)
}

export function cdnLoopAppended(fields: Fields, id: string): Fields {
  return withMember(fields, 'CDN-Loop', id)
}

/** @param client the address that the connection came from */
export function xForwardedForAppended(fields: Fields, client: string): Fields {
  return withMember(fields, 'X-Forwarded-For', client)
}

/**
 * Split at every comma, also one in a comment or a quoted string: a bracket that a client left open must not hide who
 * came after it.
 */
function membersOf(fields: Fields, name: string): string[] {
  return (fields.get(name) ?? '')
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '')
}

/** `1.1 name (comment)` -> `name`. */
function receivedBy(member: string): string | undefined {
  return member.split(/[ \t(]+/, 2)[1]?.toLowerCase()
}

/** One line for the whole list, since some recipients read only the first. */
function withMember(fields: Fields, name: string, member: string): Fields {
  const before = fields.get(name)
  return fields.set(name, before === undefined || before === '' ? member : `${before}, ${member}`)
}
