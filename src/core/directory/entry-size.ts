import type { CacheKey } from '../http/cache-key.ts'
import type { StoredHead } from '../http/stored-head.ts'

/**
 * What an entry costs beside its strings and its body: its objects and its places in maps and arrays. Measured on Node
 * 26 as growth of the heap over 100 000 stored responses: 920 bytes each; the rest is for what lies outside the heap.
 */
const ENTRY_OVERHEAD_BYTES = 1024

/** A string's header, padding and pointer; in the same measurement 31 bytes each. */
const TEXT_OVERHEAD_BYTES = 32

/** What an entry counts for in the budget: body, head, URL, and its share of the structures that hold it. */
export function entrySizeBytes(key: CacheKey, stored: StoredHead, bodyBytes: number): number {
  const { head, variant } = stored
  // A field value is Latin-1 (RFC 9110 §5.5): a byte a character, in memory as on the wire.
  let textBytes = key.url.length + head.reason.length + variant.length
  for (const text of head.fields.raw) textBytes += text.length + TEXT_OVERHEAD_BYTES
  return ENTRY_OVERHEAD_BYTES + textBytes + bodyBytes
}
