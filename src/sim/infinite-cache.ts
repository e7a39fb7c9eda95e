import { copySizeBytes } from './stored-copy.ts'
import { UNKNOWN_SIZE, type Trace } from './traces/trace.ts'

/** What one cache without a limit would hold at the end of a trace: each document once, at its largest. */
export interface InfiniteCache {
  readonly documents: number
  /** As a proxy counts them: bodies, heads, and what an entry costs beside both. */
  readonly bytes: number
}

/** @param maxObjectBytes larger documents are kept nowhere and do not count */
export function infiniteCache(trace: Trace, maxObjectBytes: number): InfiniteCache {
  const largest = new Float64Array(trace.documents.length).fill(UNKNOWN_SIZE)
  for (let i = 0; i < trace.length; i++) {
    const bodyBytes = trace.bodyBytes[i]!
    if (trace.passes[i] === 1 || bodyBytes > maxObjectBytes) continue
    largest[trace.document[i]!] = Math.max(largest[trace.document[i]!]!, bodyBytes)
  }
  let documents = 0
  let bytes = 0
  for (let i = 0; i < largest.length; i++) {
    if (largest[i] === UNKNOWN_SIZE) continue
    documents++
    bytes += copySizeBytes(trace.documents[i]!, largest[i]!)
  }
  return { documents, bytes }
}
