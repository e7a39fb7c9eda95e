import { Fields } from './fields.ts'
import { endToEnd } from './forwarded-headers.ts'
import { fieldDate, NO_CACHE, VALIDATABLE } from './freshness.ts'
import type { ExchangeTimes } from './freshness.ts'
import type { RequestHead, ResponseHead } from './message-head.ts'
import { storedHead } from './stored-head.ts'
import type { StoredHead } from './stored-head.ts'
import { varyNames } from './vary.ts'

const CONDITIONS: ReadonlySet<string> = new Set([
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
])

/** The request for a response that shall be stored whole: without what could make it a part, a 304 or a 412. */
export function withoutConditions(request: RequestHead): RequestHead {
  return { ...request, fields: request.fields.without(CONDITIONS) }
}

export function isValidatable(stored: StoredHead): boolean {
  return (stored.facts.flags & VALIDATABLE) !== 0
}

/**
 * The client's request, made conditional on the stored response (RFC 9111 §4.3.1). All its other fields go along, among
 * them those that select the variant. Its own conditions are replaced: whether the client has the answer already is
 * judged afterwards, by `clientHas`. Both validators are sent; the entity-tag as it came, right or wrong in form.
 */
export function validationRequest(request: RequestHead, stored: StoredHead): RequestHead {
  let { fields } = withoutConditions(request)
  const etag = stored.head.fields.first('etag')
  if (etag !== undefined) fields = fields.plus('If-None-Match', etag)
  if (fieldDate(stored.head.fields, 'last-modified', 0) !== undefined) {
    fields = fields.plus('If-Modified-Since', stored.head.fields.first('last-modified')!)
  }
  return { ...request, fields }
}

/**
 * Does a 304 to a validation speak of the stored response? RFC 9111 §4.3.4. When not, it must update nothing, and the
 * response has to be fetched anew without conditions.
 *
 * A 304 without any validator answers for the one we asked about, although §4.3.4 does not say so: the request named no
 * other.
 */
export function confirmsStored(stored: StoredHead, notModified: ResponseHead): boolean {
  const theirs = notModified.fields.first('etag')
  const ours = stored.head.fields.first('etag')
  if (theirs !== undefined) {
    if (ours === undefined) return false
    return isWeak(theirs) ? opaqueTag(theirs) === opaqueTag(ours) : theirs === ours // RFC 9110 §8.8.3.2
  }
  const theirDate = notModified.fields.first('last-modified')
  return theirDate === undefined || theirDate === stored.head.fields.first('last-modified')
}

/** Not taken over from a 304: they describe the stored body, which the 304 does not bring (RFC 9111 §3.2). */
const OF_THE_BODY: readonly string[] = ['content-encoding', 'content-length', 'content-range', 'etag']
const COOKIES: readonly string[] = ['set-cookie', 'set-cookie2']

/**
 * The stored head after a 304 that confirms it (`confirmsStored`): each field of the 304 replaces the stored one, the
 * others stay; the age counts from the 304 (RFC 9111 §3.2, §4.3.4). A 304 that forbids sharing leaves a response that is
 * validated before every use.
 *
 * @param request the validation's, whose fields the variant is worked out from if the 304 brings another Vary
 */
export function refreshedHead(
  stored: StoredHead,
  notModified: ResponseHead,
  request: RequestHead,
  times: ExchangeTimes,
): StoredHead {
  const kept = new Set(OF_THE_BODY)
  // A cookie gets into the store only where the operator lets it, and then it was there from the start.
  if (!COOKIES.some((name) => stored.head.fields.has(name))) for (const name of COOKIES) kept.add(name)
  // A Vary that never matches cannot be kept as a variant.
  const neverMatches = varyNames(notModified.fields) === '*'
  if (neverMatches) kept.add('vary')

  const update = endToEnd(notModified.fields).without(kept)
  const replaced = new Set<string>(['date'])
  for (let i = 0; i < update.raw.length; i += 2) replaced.add(update.raw[i]!.toLowerCase())
  const fields = new Fields([...stored.head.fields.without(replaced).raw, ...update.raw])
  const refreshed = storedHead(request, { status: stored.head.status, reason: stored.head.reason, fields }, times)
  if (!neverMatches) return refreshed
  return { ...refreshed, facts: { ...refreshed.facts, flags: refreshed.facts.flags | NO_CACHE } }
}

/**
 * Has the client what we would send, so that a 304 will do? RFC 9111 §4.3.2, RFC 9110 §13.1.2, §13.1.3.
 *
 * @param stored the head that would be sent
 * @param wallMs gives a two-digit year its century
 */
export function clientHas(request: RequestHead, stored: ResponseHead, wallMs: number): boolean {
  if (request.method !== 'GET' && request.method !== 'HEAD') return false
  if (stored.status < 200 || stored.status > 299) return false // RFC 9110 §13.2.1
  const tags = request.fields.get('if-none-match')
  if (tags !== undefined) {
    const etag = stored.fields.first('etag')
    return tags.trim() === '*' || (etag !== undefined && listsTag(tags, etag))
  }
  const sinceMs = fieldDate(request.fields, 'if-modified-since', wallMs)
  if (sinceMs === undefined) return false
  const modifiedMs = fieldDate(stored.fields, 'last-modified', wallMs) ?? fieldDate(stored.fields, 'date', wallMs)
  return modifiedMs !== undefined && modifiedMs <= sinceMs
}

/** Metadata of a body; a 304 has none (RFC 9110 §15.4.5). Content-Location and Content-Security-Policy are not of it. */
const REPRESENTATION: readonly string[] = [
  'content-digest',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-md5',
  'content-range',
  'content-type',
  'digest',
  'repr-digest',
]

/**
 * The 304 that stands for `head`: with Cache-Control, Content-Location, Date, ETag, Expires and Vary, which it must have
 * if the 200 has them, and without what describes a body. Last-Modified goes along only for want of an entity-tag.
 */
export function notModifiedHead(head: ResponseHead): ResponseHead {
  const dropped = new Set(REPRESENTATION)
  if (head.fields.has('etag')) dropped.add('last-modified')
  return { status: 304, reason: 'Not Modified', fields: head.fields.without(dropped) }
}

/** Weak comparison with each member; what is no entity-tag equals only itself. */
function listsTag(list: string, etag: string): boolean {
  const wanted = opaqueTag(etag)
  let start = 0
  let quoted = false
  // Not `listMembers`: in an entity-tag a backslash escapes nothing (RFC 9110 §8.8.3).
  for (let i = 0; i <= list.length; i++) {
    if (list[i] === '"') quoted = !quoted
    else if (i === list.length || (list[i] === ',' && !quoted)) {
      if (opaqueTag(list.slice(start, i).trim()) === wanted) return true
      start = i + 1
    }
  }
  return false
}

function isWeak(etag: string): boolean {
  return etag.startsWith('W/')
}

function opaqueTag(etag: string): string {
  return isWeak(etag) ? etag.slice(2) : etag
}
