import { cacheKey, type CacheKey } from '../../../src/core/http/cache-key.ts'
import { Fields } from '../../../src/core/http/fields.ts'
import { NO_CACHE } from '../../../src/core/http/freshness.ts'
import type { StoredHead } from '../../../src/core/http/stored-head.ts'
import { selectingValues } from '../../../src/core/http/vary.ts'

export interface StoredOptions {
  /** A minute by default. */
  readonly lifetimeMs?: number
  readonly receivedMs?: number
  readonly noCache?: boolean
  /** The request fields that selected it. */
  readonly vary?: Readonly<Record<string, string>>
  /** Characters of a field to make the head as long. */
  readonly padding?: number
}

export function keyOf(path: string | number): CacheKey {
  return cacheKey(`http://example.com/${path}`)
}

/** The head of a response as it would be stored. */
export function storedOf(options: StoredOptions = {}): StoredHead {
  const { lifetimeMs = 60_000, receivedMs = 0, noCache = false, vary = {}, padding = 0 } = options
  const varyNames = Object.keys(vary).toSorted()
  return {
    head: { status: 200, reason: 'OK', fields: Fields.of(padding > 0 ? { 'X-Padding': '-'.repeat(padding) } : {}) },
    facts: { flags: noCache ? NO_CACHE : 0, lifetimeMs, initialAgeMs: 0, receivedMs },
    varyNames,
    variant: selectingValues(varyNames, Fields.of(vary)),
  }
}
