import { requestDirectives, responseDirectives, deltaMs } from './cache-control.ts'
import type { ResponseDirectives } from './cache-control.ts'
import { appliedCodings, refusedCodings } from './content-coding.ts'
import type { Fields } from './fields.ts'
import { parseHttpDate } from './http-date.ts'
import type { RequestHead, ResponseHead } from './message-head.ts'
import { varyNames } from './vary.ts'

// Bits of ReuseFacts.flags; from 1 << 16 on the content codings that the body is in (content-coding.ts).
export const NO_CACHE = 1
/** Never served stale: must-revalidate, proxy-revalidate or s-maxage (RFC 9111 §5.2.2.2, 5.2.2.8, 5.2.2.10). */
export const MUST_REVALIDATE = 1 << 1
/** Has an entity-tag or a readable Last-Modified. */
export const VALIDATABLE = 1 << 2

// Bits of RequestFacts.flags; NO_CACHE is one of them.
export const NO_STORE = 1 << 3
export const ONLY_IF_CACHED = 1 << 4
export const HAS_AUTHORIZATION = 1 << 5
export const HAS_RANGE = 1 << 6
/** If-None-Match or If-Modified-Since: a cache may answer it (RFC 9111 §4.3.2). */
export const CONDITIONAL = 1 << 7
/** If-Match or If-Unmodified-Since: only the origin may judge it (RFC 9111 §4.3.2). */
export const PRECONDITION = 1 << 8

/** What decides whether a stored response may be reused, worked out once. */
export interface ReuseFacts {
  readonly flags: number
  /** Freshness lifetime (RFC 9111 §4.2.1); not positive: never fresh. */
  readonly lifetimeMs: number
  /** corrected_initial_age (RFC 9111 §4.2.3). */
  readonly initialAgeMs: number
  /** When it came, by the monotonic clock: resident time must not follow a wall clock that steps. */
  readonly receivedMs: number
}

/** What a request demands of a stored response, worked out once. */
export interface RequestFacts {
  readonly flags: number
  /** Infinity when absent. */
  readonly maxAgeMs: number
  /** -Infinity when absent. */
  readonly minFreshMs: number
  /** -1 when absent: then even an age equal to the lifetime is too old. */
  readonly maxStaleMs: number
  /** Content codings the client cannot take, as bits (content-coding.ts). */
  readonly refusedCodings: number
}

/** When a request went out and its response's head came in. */
export interface ExchangeTimes {
  /** Monotonic. */
  readonly requestedMs: number
  /** Monotonic. */
  readonly receivedMs: number
  readonly receivedWallMs: number
}

export interface Exchange extends ExchangeTimes {
  readonly request: RequestHead
  /** As it came, Age included. */
  readonly response: ResponseHead
}

// RFC 9111 §4.2.2 suggests a tenth of the time since the last modification and gives no bound; a day keeps a guess
// from outliving what people notice.
const HEURISTIC_SHARE = 0.1
const HEURISTIC_MAX_MS = 86_400_000

/** RFC 9110 §15.1. */
const HEURISTICALLY_CACHEABLE: ReadonlySet<number> = new Set([
  200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501,
])

export function isHeuristicallyCacheable(status: number): boolean {
  return HEURISTICALLY_CACHEABLE.has(status)
}

export function reuseFacts(exchange: Exchange): ReuseFacts {
  const { request, response, requestedMs, receivedMs, receivedWallMs } = exchange
  const directives = responseDirectives(response.fields)
  const dateMs = fieldDate(response.fields, 'date', receivedWallMs) ?? receivedWallMs
  return {
    flags: responseFlags(response.fields, directives),
    lifetimeMs: freshnessLifetimeMs(request, response, directives, dateMs, receivedWallMs),
    initialAgeMs: initialAgeMs(response.fields, dateMs, receivedMs - requestedMs, receivedWallMs),
    receivedMs,
  }
}

/** RFC 9111 §4.2.3: current_age. `nowMs` is monotonic. */
export function currentAgeMs(facts: ReuseFacts, nowMs: number): number {
  return facts.initialAgeMs + Math.max(0, nowMs - facts.receivedMs)
}

/** The monotonic moment from which it is stale; -Infinity when it may never be served without validation. */
export function freshUntilMs(facts: ReuseFacts): number {
  if (facts.flags & NO_CACHE) return -Infinity
  return facts.receivedMs + facts.lifetimeMs - facts.initialAgeMs
}

/**
 * RFC 9111 §4.2.1, in its order: s-maxage, max-age, Expires less Date, a heuristic. What is repeated or unreadable counts
 * as stale.
 */
export function freshnessLifetimeMs(
  request: RequestHead,
  response: ResponseHead,
  directives: ResponseDirectives,
  dateMs: number,
  wallMs: number,
): number {
  if (directives.sMaxAgeMs >= 0) return directives.sMaxAgeMs
  if (directives.maxAgeMs >= 0) return directives.maxAgeMs
  if (response.fields.has('expires')) {
    const expiresMs = fieldDate(response.fields, 'expires', wallMs)
    return expiresMs === undefined ? 0 : expiresMs - dateMs // §5.3
  }
  if (!directives.public && !isHeuristicallyCacheable(response.status)) return 0 // §4.2.2
  // A page made for one user carries no lifetime more often than not; no guess may share it.
  if (request.fields.has('cookie') && !directives.public) return 0
  const modifiedMs = fieldDate(response.fields, 'last-modified', wallMs)
  if (modifiedMs === undefined || modifiedMs >= dateMs) return 0
  return Math.min((dateMs - modifiedMs) * HEURISTIC_SHARE, HEURISTIC_MAX_MS)
}

export function requestFacts(request: RequestHead): RequestFacts {
  const raw = request.fields.raw
  const cacheControl: string[] = []
  const pragma: string[] = []
  let acceptEncoding: string | undefined
  let flags = 0
  for (let i = 0; i < raw.length; i += 2) {
    const value = raw[i + 1]!
    switch (raw[i]!.toLowerCase()) {
      case 'cache-control':
        cacheControl.push(value)
        break
      case 'pragma':
        pragma.push(value)
        break
      case 'accept-encoding':
        acceptEncoding = acceptEncoding === undefined ? value : `${acceptEncoding},${value}`
        break
      case 'authorization':
        flags |= HAS_AUTHORIZATION
        break
      case 'range':
        flags |= HAS_RANGE
        break
      case 'if-none-match':
      case 'if-modified-since':
        flags |= CONDITIONAL
        break
      case 'if-match':
      case 'if-unmodified-since':
        flags |= PRECONDITION
        break
    }
  }
  const directives = requestDirectives(cacheControl, pragma)
  if (directives.noCache) flags |= NO_CACHE
  if (directives.noStore) flags |= NO_STORE
  if (directives.onlyIfCached) flags |= ONLY_IF_CACHED
  return {
    flags,
    maxAgeMs: directives.maxAgeMs,
    minFreshMs: directives.minFreshMs,
    maxStaleMs: directives.maxStaleMs,
    refusedCodings: refusedCodings(acceptEncoding),
  }
}

/** The date in field `name`; undefined when it is absent, repeated or unreadable. */
export function fieldDate(fields: Fields, name: string, wallMs: number): number | undefined {
  const text = fields.get(name)
  return text === undefined ? undefined : parseHttpDate(text, wallMs)
}

function responseFlags(fields: Fields, directives: ResponseDirectives): number {
  const names = varyNames(fields)
  let flags = 0
  // no-store and private are never stored as such; a 304 can bring them to what is (RFC 9111 §3.2).
  const unshareable = (directives.noStore && !directives.mustUnderstand) || directives.private || directives.malformed
  if (directives.noCache || unshareable || names === '*') flags |= NO_CACHE
  if (directives.mustRevalidate || directives.proxyRevalidate || directives.sMaxAgeMs >= 0) flags |= MUST_REVALIDATE
  if (hasValidator(fields)) flags |= VALIDATABLE
  // Where the origin says by what it chose the coding, the variant decides and nothing more is to be checked.
  if (!names.includes('accept-encoding')) flags |= appliedCodings(fields.get('content-encoding'))
  return flags
}

/** An entity-tag, or a Last-Modified that is a date. */
export function hasValidator(fields: Fields): boolean {
  return fields.has('etag') || fieldDate(fields, 'last-modified', 0) !== undefined
}

/** RFC 9111 §4.2.3: corrected_initial_age. */
function initialAgeMs(fields: Fields, dateMs: number, delayMs: number, receivedWallMs: number): number {
  const apparentMs = receivedWallMs - dateMs
  const correctedMs = ageFieldMs(fields.first('age')) + Math.max(0, delayMs)
  // Date has a resolution of one second: below that every response would seem to come old.
  return Math.max(apparentMs < 1000 ? 0 : apparentMs, correctedMs)
}

/** RFC 9111 §5.1: the first member counts; what is no number is ignored. */
function ageFieldMs(line: string | undefined): number {
  if (line === undefined) return 0
  const comma = line.indexOf(',')
  return deltaMs((comma < 0 ? line : line.slice(0, comma)).trim()) ?? 0
}
