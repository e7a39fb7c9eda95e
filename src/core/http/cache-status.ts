/** Why a request went on, by RFC 9211 §2.2. */
export type ForwardReason = 'bypass' | 'method' | 'uri-miss' | 'vary-miss' | 'miss' | 'request' | 'stale' | 'partial'

/** What one cache did with a request (RFC 9211 §2). Either `hit` or `fwd`. */
export interface CacheStatus {
  readonly hit?: boolean
  readonly fwd?: ForwardReason
  /** Status of the response to the forwarded request. */
  readonly fwdStatus?: number
  /** Freshness left at the time of the response; negative when stale. */
  readonly ttlSeconds?: number
  readonly stored?: boolean
  readonly collapsed?: boolean
  readonly key?: string
  /** Ours, not RFC 9211's: the sibling whose copy this is. */
  readonly peer?: string
  /** Ours, not RFC 9211's: why our digest claims what we do not hold. */
  readonly claim?: string
  /** Ours are 'absent', 'stale' and 'variant' on a 504 to a peer. */
  readonly detail?: string
}

const TOKEN = /^[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*$/
// RFC 9651 §3.3.1: fifteen digits.
const MAX_INTEGER = 999_999_999_999_999

/** The member of Cache-Status that `name`, a cache, adds at the end of the list (RFC 9211 §2). */
export function cacheStatus(name: string, status: CacheStatus): string {
  let member = tokenOrString(name)
  if (status.hit) member += '; hit'
  if (status.fwd !== undefined) member += `; fwd=${status.fwd}`
  if (status.fwdStatus !== undefined) member += `; fwd-status=${integer(status.fwdStatus)}`
  if (status.ttlSeconds !== undefined) member += `; ttl=${integer(status.ttlSeconds)}`
  if (status.stored) member += '; stored'
  if (status.collapsed) member += '; collapsed'
  if (status.key !== undefined) member += `; key=${quotedString(status.key)}`
  if (status.peer !== undefined) member += `; peer=${tokenOrString(status.peer)}`
  if (status.claim !== undefined) member += `; claim=${tokenOrString(status.claim)}`
  if (status.detail !== undefined) member += `; detail=${tokenOrString(status.detail)}`
  return member
}

export interface LastCacheStatus {
  readonly detail: string | undefined
  /** A string without its quotes, a bare key as `true`, anything else as its text. */
  readonly params: Readonly<Record<string, string | boolean>>
}

const NOTHING: LastCacheStatus = { detail: undefined, params: {} }
const MAX_VALUE_LENGTH = 4096
const MAX_PARAMS = 32
// Sticky, so that each is tried where the last one ended and nowhere else.
const BARE_ITEM =
  /"((?:[ !#-[\]-~]|\\["\\])*)"|[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*|-?[0-9]{1,15}(?:\.[0-9]{1,3})?|:[A-Za-z0-9+/=]*:|(\?[01])/y
const PARAM_KEY = /[ ]*;[ ]*([a-z*][a-z0-9_\-.*]*)(=)?/y

/**
 * What the last cache of a Cache-Status said: the one that answered us, since each adds itself at the end (RFC 9211 §2).
 * From a peer, hence bounded; empty when it is absent, too long or malformed.
 *
 * @param value the field's lines, joined
 */
export function parseCacheStatusDetail(value: string | undefined): LastCacheStatus {
  if (value === undefined || value.length > MAX_VALUE_LENGTH) return NOTHING
  const member = lastMember(value)
  if (member === '') return NOTHING
  const name = bareItem(member, 0)
  if (name === undefined) return NOTHING

  const params = new Map<string, string | boolean>()
  let at = name.end
  while (at < member.length) {
    PARAM_KEY.lastIndex = at
    const key = PARAM_KEY.exec(member)
    if (key === null || params.size === MAX_PARAMS) return NOTHING
    at = PARAM_KEY.lastIndex
    const item = key[2] === undefined ? { value: true, end: at } : bareItem(member, at)
    if (item === undefined) return NOTHING
    params.set(key[1]!, item.value)
    at = item.end
  }
  const detail = params.get('detail')
  return { detail: typeof detail === 'string' ? detail : undefined, params: Object.fromEntries(params) }
}

/** What follows the last comma that stands in no string. */
function lastMember(value: string): string {
  let start = 0
  let quoted = false
  for (let i = 0; i < value.length; i++) {
    if (value[i] === '"') quoted = !quoted
    else if (quoted && value[i] === '\\') i++
    else if (!quoted && value[i] === ',') start = i + 1
  }
  return value.slice(start).trim()
}

/** The RFC 9651 bare item at `at`, and where it ends. */
function bareItem(text: string, at: number): { readonly value: string | boolean; readonly end: number } | undefined {
  BARE_ITEM.lastIndex = at
  const match = BARE_ITEM.exec(text)
  if (!match) return undefined
  const end = BARE_ITEM.lastIndex
  if (match[1] !== undefined) return { value: match[1].replaceAll(/\\(.)/g, '$1'), end }
  return { value: match[2] === undefined ? match[0] : match[2] === '?1', end }
}

/** RFC 9651: a token where it is one, else a quoted string. */
export function tokenOrString(text: string): string {
  return TOKEN.test(text) ? text : quotedString(text)
}

/** RFC 9651 §3.3.3 has no escapes beyond ASCII: what it cannot say becomes a question mark. */
function quotedString(text: string): string {
  return `"${text.replaceAll(/[^ -~]/g, '?').replaceAll(/["\\]/g, String.raw`\$&`)}"`
}

function integer(value: number): number {
  return Math.trunc(Math.min(Math.max(value, -MAX_INTEGER), MAX_INTEGER))
}
