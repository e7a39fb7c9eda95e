import type { DirectoryEntry } from '../core/directory/cache-directory.ts'
import type { Fields } from '../core/http/fields.ts'
import {
  cdnLoopContains,
  endToEnd,
  viaAppended,
  viaContains,
  viaHopCount,
  xForwardedForAppended,
} from '../core/http/forwarded-headers.ts'
import { HAS_AUTHORIZATION, NO_CACHE, type RequestFacts } from '../core/http/freshness.ts'
import type { RequestHead } from '../core/http/message-head.ts'
import type { ReuseVerdict } from '../core/http/reuse.ts'
import { isValidatable } from '../core/http/validation.ts'

/** RFC 9110 §7.6.3 leaves the bound to us; clusters are a few proxies deep, not sixteen. */
const MAX_HOPS = 16

/** Has the request been through the proxy of this name before, or through so many that it must be going round? */
export function loops(fields: Fields, name: string): boolean {
  return viaContains(fields, name) || cdnLoopContains(fields, name) || viaHopCount(fields) > MAX_HOPS
}

/** The request as it goes on to a peer or an origin. */
export function forwarded(head: RequestHead, name: string, client: string): RequestHead {
  const fields = viaAppended(endToEnd(head.fields), '1.1', name)
  return { ...head, fields: xForwardedForAppended(fields, client) }
}

/** The request as a sibling is asked (RFC 9111 §5.2.1.7): it is to answer from its store or not at all. */
export function onlyIfCached(head: RequestHead): RequestHead {
  const directives = head.fields.get('cache-control')
  const asked = directives === undefined ? 'only-if-cached' : `${directives}, only-if-cached`
  return { ...head, fields: head.fields.set('Cache-Control', asked) }
}

/** May a peer answer it? A reload is for the origin, and credentials go to nobody else. */
export function asksPeers(facts: RequestFacts): boolean {
  return (facts.flags & (NO_CACHE | HAS_AUTHORIZATION)) === 0 && facts.maxAgeMs > 0
}

/** The entry that the origin is asked to confirm; undefined: peers may have a better one, and the origin sends the whole. */
export function entryToValidate(
  entry: DirectoryEntry | undefined,
  verdict: ReuseVerdict | 'absent',
): DirectoryEntry | undefined {
  return entry !== undefined && verdict !== 'coding-refused' && isValidatable(entry.stored) ? entry : undefined
}

/** RFC 9110 §9.2.1; what we do not know is not safe. */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS' || method === 'TRACE'
}

export function hostOf(url: string): string {
  const start = url.indexOf('//') + 2
  const end = url.indexOf('/', start)
  return url.slice(start, end < 0 ? undefined : end)
}

/** What the peer added to a response on its way to us, taken off again: the cluster stores what the origin sent. */
export function withoutPeerHop(fields: Fields): Fields {
  return withoutLastMember(withoutLastMember(fields, 'Via'), 'Cache-Status')
}

function withoutLastMember(fields: Fields, name: string): Fields {
  const lines = fields.lines(name)
  const last = lines.at(-1)
  if (last === undefined) return fields
  const others = fields.without(new Set([name.toLowerCase()]))
  const comma = last.lastIndexOf(', ')
  const kept = comma < 0 ? lines.slice(0, -1) : [...lines.slice(0, -1), last.slice(0, comma)]
  return kept.reduce((result, line) => result.plus(name, line), others)
}
