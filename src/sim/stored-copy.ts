import { entrySizeBytes } from '../core/directory/entry-size.ts'
import type { CacheKey } from '../core/http/cache-key.ts'
import { Fields } from '../core/http/fields.ts'
import { VALIDATABLE } from '../core/http/freshness.ts'
import { formatHttpDate } from '../core/http/http-date.ts'
import type { StoredHead } from '../core/http/stored-head.ts'

const LAST_MODIFIED = 'Thu, 01 Jan 1998 00:00:00 GMT'

/**
 * What is kept of a document's version: the fields that most responses have, since logs tell of none. Fresh for ever: the
 * paper's caches expire nothing, a version ends when another size is asked for.
 */
export function storedCopy(bodyBytes: number, nowMs: number): StoredHead {
  return {
    head: {
      status: 200,
      reason: 'OK',
      fields: new Fields([
        'Date',
        formatHttpDate(nowMs),
        'Server',
        'Apache',
        'Last-Modified',
        LAST_MODIFIED,
        'ETag',
        '"2d-432a5e4a73a80"',
        'Content-Type',
        'text/html; charset=utf-8',
        'Content-Length',
        String(bodyBytes),
      ]),
    },
    facts: { flags: VALIDATABLE, lifetimeMs: Infinity, initialAgeMs: 0, receivedMs: nowMs },
    varyNames: [],
    variant: '',
  }
}

/** What a copy counts for in a proxy's memory. */
export function copySizeBytes(key: CacheKey, bodyBytes: number): number {
  return entrySizeBytes(key, storedCopy(bodyBytes, 0), bodyBytes)
}
