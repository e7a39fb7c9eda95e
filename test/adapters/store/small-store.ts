import { MemoryStore } from '../../../src/adapters/store/memory-store.ts'
import { CacheDirectory, type DirectoryEntry } from '../../../src/core/directory/cache-directory.ts'
import { evictionKinds } from '../../../src/core/directory/eviction-kinds.ts'
import type { CacheKey } from '../../../src/core/http/cache-key.ts'
import { Fields } from '../../../src/core/http/fields.ts'
import type { Filling, LiveBody, StoredResponse } from '../../../src/proxy/ports.ts'
import { storedOf } from '../../core/directory/stored-responses.ts'
import { joined } from './hand-driven-source.ts'

export interface StoreSizes {
  readonly capacityBytes?: number
  readonly maxObjectBytes?: number
}

/** A memory store whose directory can be looked at. */
export class SmallStore {
  readonly directory: CacheDirectory
  readonly store: MemoryStore

  constructor({ capacityBytes = 4_000_000, maxObjectBytes = 1_000_000 }: StoreSizes = {}) {
    const nobody = { claimed: () => undefined, unclaimed: () => undefined, moved: () => undefined }
    this.directory = new CacheDirectory(evictionKinds.sieve(), nobody, { capacityBytes })
    this.store = new MemoryStore(this.directory, { monotonicMs: () => 0 }, { maxObjectBytes })
  }

  reserve(key: CacheKey, bodyBytes?: number): Filling<LiveBody> {
    const filling = this.store.reserve(key, storedOf(), bodyBytes)
    if (filling === undefined) throw new Error('no room in the store of the test')
    return filling
  }

  find(key: CacheKey): DirectoryEntry | undefined {
    return this.store.find(key, Fields.none)
  }

  async admit(key: CacheKey, body: Uint8Array): Promise<DirectoryEntry> {
    await this.reserve(key, body.length).fill(body)
    return this.find(key)!
  }
}

/** All that a reader gets. */
export async function bytesRead(response: StoredResponse<LiveBody> | undefined): Promise<Uint8Array> {
  if (response === undefined) throw new Error('nothing to read')
  if (response.body instanceof Uint8Array) return response.body
  const pieces: Uint8Array[] = []
  for await (const piece of response.body) pieces.push(piece)
  return joined(pieces)
}

/** For a test that reads piece by piece: the iterator of a body that is still coming in. */
export function readerOf(response: StoredResponse<LiveBody> | undefined): AsyncIterator<Uint8Array> {
  if (response === undefined || response.body instanceof Uint8Array) throw new Error('not coming in')
  return response.body[Symbol.asyncIterator]()
}
