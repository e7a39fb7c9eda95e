import { Fields } from '../../core/http/fields.ts'
import type { CacheKey } from '../../core/http/cache-key.ts'
import type { SimProxy } from '../sim-proxy.ts'
import { NO_CLAIMS, type SchemeKind, type SharingScheme } from './sharing-scheme.ts'

/** Each local miss is asked of every peer (RFC 2186); those that have the document, in whatever version, say so. */
class Icp implements SharingScheme {
  #proxies: readonly SimProxy[] = []

  claims() {
    return NO_CLAIMS
  }

  start(proxies: readonly SimProxy[]): void {
    this.#proxies = proxies
  }

  advance(): void {
    // Queries and replies belong to requests; nothing happens between them.
  }

  candidates(asker: number, key: CacheKey): readonly number[] {
    const holders: number[] = []
    for (const { directory, index } of this.#proxies) {
      if (index !== asker && directory.find(key, Fields.none) !== undefined) holders.push(index)
    }
    return holders
  }

  falseHitCause() {
    return 'unknown' as const
  }
}

/** The paper's simple sharing: the most that can be found, at a query to every peer for each local miss. */
export const icp: SchemeKind = {
  create: () => new Icp(),
  shares: true,
  messages: ({ icp: { bytes, messagesFull, messagesPaper } }) => ({
    messagesPaper,
    messagesFull,
    // A query is what finding costs; that it must also be answered is in the full count.
    finding: messagesPaper,
    bytes,
  }),
}
