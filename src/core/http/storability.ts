import { responseDirectives } from './cache-control.ts'
import type { ResponseDirectives } from './cache-control.ts'
import {
  fieldDate,
  freshnessLifetimeMs,
  hasValidator,
  isHeuristicallyCacheable,
  NO_STORE,
  requestFacts,
} from './freshness.ts'
import type { RequestHead, ResponseHead } from './message-head.ts'
import { varyNames } from './vary.ts'

/** 'store', or the first reason not to. */
export type StorabilityVerdict =
  | 'store'
  | 'method'
  | 'request-no-store'
  | 'status'
  | 'partial'
  | 'must-understand'
  | 'no-store'
  | 'private'
  | 'authorization'
  | 'vary-star'
  | 'set-cookie'
  | 'request-error'
  | 'cookie'
  | 'no-lifetime-or-validator'

/** What an operator may allow beyond the defaults. RFC 9111 permits both. */
export interface StorabilityPolicy {
  /**
   * Store responses with Set-Cookie and replay the field. §7.3 permits it when the origin gives a lifetime, but one
   * origin that gave it without thinking hands a user's session to everybody: refused unless asked for.
   */
  readonly storeSetCookie: boolean
  /**
   * Store errors that blame the request (400, 414, 431, ...). They depend on fields that are no part of the key, so that
   * one client's oversized field would block the page for all: refused unless asked for.
   */
  readonly storeRequestErrors: boolean
}

export const DEFAULT_STORABILITY: StorabilityPolicy = { storeSetCookie: false, storeRequestErrors: false }

/** The statuses of RFC 9110 §15 without meaning of their own to a cache; 206 and 304 have one. */
const UNDERSTOOD: ReadonlySet<number> = new Set([
  200, 201, 202, 203, 204, 205, 300, 301, 302, 303, 305, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409,
  410, 411, 412, 413, 414, 415, 416, 417, 421, 422, 426, 500, 501, 502, 503, 504, 505,
])

/** What the request's form brought on, and not the resource. */
const REQUEST_ERRORS: ReadonlySet<number> = new Set([
  400, 407, 408, 411, 412, 413, 414, 415, 416, 417, 421, 422, 425, 426, 428, 429, 431,
])

/**
 * May a shared cache store this response? RFC 9111 §3, §3.5.
 *
 * @param response as it came, whole: that its body is complete only the store can tell (§3.3)
 * @param wallMs when it came
 */
export function judgeStorability(
  request: RequestHead,
  response: ResponseHead,
  wallMs: number,
  policy: StorabilityPolicy = DEFAULT_STORABILITY,
): StorabilityVerdict {
  const { status, fields } = response
  const directives = responseDirectives(fields)

  if (request.method !== 'GET') return 'method' // §3; the other cacheable methods need not be
  if (requestFacts(request).flags & NO_STORE) return 'request-no-store' // §5.2.1.5
  if (status < 200 || status > 599 || status === 304) return 'status' // §3: final; a 304 is no response to keep
  if (status === 206) return 'partial' // §3.3
  if (directives.mustUnderstand && !UNDERSTOOD.has(status)) return 'must-understand' // §5.2.2.3
  if (directives.malformed || (directives.noStore && !directives.mustUnderstand)) return 'no-store' // §5.2.2.5
  if (directives.private) return 'private' // §5.2.2.7
  if (request.fields.has('authorization') && !mayShareAuthorized(directives)) return 'authorization' // §3.5
  if (varyNames(fields) === '*') return 'vary-star' // §4.1: it would never match
  if (!policy.storeSetCookie && (fields.has('set-cookie') || fields.has('set-cookie2'))) return 'set-cookie'
  if (!policy.storeRequestErrors && REQUEST_ERRORS.has(status)) return 'request-error'

  const explicit = directives.sMaxAgeMs >= 0 || directives.maxAgeMs >= 0 || fields.has('expires')
  if (!explicit && !directives.public) {
    if (!isHeuristicallyCacheable(status)) return 'status' // §3, last condition
    if (!directives.noCache && request.fields.has('cookie')) return 'cookie'
    if (fields.has('set-cookie') || fields.has('set-cookie2')) return 'set-cookie' // never by a guess
  }
  const dateMs = fieldDate(fields, 'date', wallMs) ?? wallMs
  const lifetimeMs = freshnessLifetimeMs(request, response, directives, dateMs, wallMs)
  return lifetimeMs > 0 || hasValidator(fields) ? 'store' : 'no-lifetime-or-validator'
}

function mayShareAuthorized(directives: ResponseDirectives): boolean {
  return directives.public || directives.mustRevalidate || directives.sMaxAgeMs >= 0
}
