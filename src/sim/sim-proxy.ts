import { CacheDirectory, type ClaimListener, type DirectoryEntry } from '../core/directory/cache-directory.ts'
import { evictionKinds, type EvictionKind } from '../core/directory/eviction-kinds.ts'
import type { CacheKey } from '../core/http/cache-key.ts'
import { Fields } from '../core/http/fields.ts'
import { requestFacts } from '../core/http/freshness.ts'
import { judgeReuse } from '../core/http/reuse.ts'
import type { EventSink } from '../proxy/ports.ts'
import type { ProxyEvent } from '../proxy/proxy-event.ts'
import { ProxyMetrics } from '../proxy/proxy-metrics.ts'
import type { Statistics } from '../proxy/views.ts'
import { copySizeBytes, storedCopy } from './stored-copy.ts'

export interface SimProxyOptions {
  readonly memoryBytes: number
  readonly eviction: EvictionKind
  /** Larger documents are not kept. */
  readonly maxObjectBytes: number
}

/** A copy, and whether it is of the version asked for; undefined: none. */
export interface HeldCopy {
  readonly entry: DirectoryEntry
  readonly isCurrent: boolean
}

const PLAIN_GET = requestFacts({ method: 'GET', url: '', fields: Fields.none })

/** One simulated proxy: its directory, without bodies, and its counts. */
export class SimProxy implements EventSink {
  readonly index: number
  readonly name: string
  readonly directory: CacheDirectory
  readonly #maxObjectBytes: number
  #metrics = new ProxyMetrics()

  constructor(index: number, claims: ClaimListener, options: SimProxyOptions) {
    this.index = index
    this.name = proxyName(index)
    this.directory = new CacheDirectory(evictionKinds[options.eviction](), claims, {
      capacityBytes: options.memoryBytes,
    })
    this.#maxObjectBytes = options.maxObjectBytes
  }

  emit(event: ProxyEvent): void {
    this.#metrics.emit(event)
  }

  statistics(): Statistics {
    return this.#metrics.statistics()
  }

  /** Forgets all counts, and nothing that it holds. */
  resetCounts(): void {
    this.#metrics = new ProxyMetrics()
  }

  /** @param bodyBytes of the version asked for: another size is another version (Summary Cache, section 2) */
  find(key: CacheKey, bodyBytes: number, nowMs: number): HeldCopy | undefined {
    const entry = this.directory.find(key, Fields.none)
    if (entry === undefined) return undefined
    const isFresh = judgeReuse(entry.stored.facts, PLAIN_GET, nowMs) === 'serve'
    return { entry, isCurrent: isFresh && entry.bodyBytes === bodyBytes }
  }

  /** Keeps a copy of what came, unless it is too large; an older version goes in any case. */
  keep(key: CacheKey, bodyBytes: number, nowMs: number): void {
    const isKept = bodyBytes <= this.#maxObjectBytes && copySizeBytes(key, bodyBytes) <= this.directory.capacityBytes
    if (isKept) this.directory.admit(key, storedCopy(bodyBytes, nowMs), bodyBytes, nowMs)
    else this.directory.purge(key)
  }
}

export function proxyName(index: number): string {
  return `proxy-${index + 1}`
}
