import type { CacheDirectory, DirectoryEntry } from '../../core/directory/cache-directory.ts'
import { entrySizeBytes } from '../../core/directory/entry-size.ts'
import type { CacheKey } from '../../core/http/cache-key.ts'
import type { Fields } from '../../core/http/fields.ts'
import type { StoredHead } from '../../core/http/stored-head.ts'
import type { CacheStore, Clock, Filling, LiveBody, StoredResponse } from '../../proxy/ports.ts'
import { KeptBody, openKept } from './kept-body.ts'
import { MemoryFilling, type FillingPlace } from './memory-filling.ts'

export interface MemoryStoreOptions {
  /** A body larger than this is not stored. */
  readonly maxObjectBytes: number
}

/**
 * Bodies in memory, one array of just its size per directory slot. The directory keeps the books: it says what goes,
 * and all that is held here, bodies on their way in and removed ones still being read included, counts there.
 */
export class MemoryStore implements CacheStore<LiveBody> {
  readonly #directory: CacheDirectory
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #maxObjectBytes: number
  /** By slot. */
  readonly #bodies: (KeptBody | undefined)[] = []
  /** Responses on their way in, by URL: a purge must reach them too. */
  readonly #fillings = new Map<string, Set<MemoryFilling>>()
  readonly #place: FillingPlace

  /** @param directory to be changed through this store only, from now on; it may have other listeners */
  constructor(directory: CacheDirectory, clock: Pick<Clock, 'monotonicMs'>, options: MemoryStoreOptions) {
    this.#directory = directory
    this.#clock = clock
    this.#maxObjectBytes = options.maxObjectBytes
    this.#place = {
      reserve: (bytes) => this.#reserveBytes(bytes),
      unreserve: (bytes) => directory.unreserve(bytes),
      commit: (filling, bytes) => this.#commit(filling, bytes),
      ended: (filling) => this.#forgetFilling(filling),
    }
    directory.onRemoved((entry) => {
      const body = this.#bodies[entry.slot]
      this.#bodies[entry.slot] = undefined
      body?.remove(entry.sizeBytes)
    })
  }

  find(key: CacheKey, request: Fields): DirectoryEntry | undefined {
    return this.#directory.find(key, request)
  }

  open(entry: DirectoryEntry): Promise<StoredResponse<LiveBody> | undefined> {
    const body = this.#directory.holds(entry) ? this.#bodies[entry.slot] : undefined
    if (body === undefined) return Promise.resolve(undefined)
    this.#directory.hit(entry)
    return Promise.resolve(openKept(body, entry.stored))
  }

  reserve(key: CacheKey, stored: StoredHead, bodyBytes: number | undefined): Filling<LiveBody> | undefined {
    if (bodyBytes !== undefined && bodyBytes > this.#maxObjectBytes) return undefined
    const reservedBytes = entrySizeBytes(key, stored, bodyBytes ?? 0)
    if (!this.#reserveBytes(reservedBytes)) return undefined
    const facts = { key, stored, announcedBytes: bodyBytes, maxBytes: this.#maxObjectBytes, reservedBytes }
    const filling = new MemoryFilling(facts, this.#place)
    const sameUrl = this.#fillings.get(key.url)
    if (sameUrl === undefined) this.#fillings.set(key.url, new Set([filling]))
    else sameUrl.add(filling)
    return filling
  }

  refresh(entry: DirectoryEntry, stored: StoredHead): void {
    this.#directory.refresh(entry, stored, this.#clock.monotonicMs())
  }

  variantCount(key: CacheKey): number {
    return this.#directory.variantCount(key)
  }

  purge(key: CacheKey): number {
    // One that ends at once takes itself out of the set meanwhile.
    for (const filling of this.#fillings.get(key.url) ?? []) filling.forget()
    return this.#directory.purge(key)
  }

  #reserveBytes(bytes: number): boolean {
    if (!this.#directory.makeRoom(bytes)) return false
    this.#directory.reserve(bytes)
    return true
  }

  #commit(filling: MemoryFilling, bytes: Uint8Array): KeptBody {
    const { key, stored } = filling
    const entry = this.#directory.admit(key, stored, bytes.length, this.#clock.monotonicMs())
    const body = new KeptBody(bytes, this.#directory)
    this.#bodies[entry.slot] = body
    return body
  }

  #forgetFilling(filling: MemoryFilling): void {
    const { url } = filling.key
    const sameUrl = this.#fillings.get(url)
    if (sameUrl?.delete(filling) && sameUrl.size === 0) this.#fillings.delete(url)
  }
}
