import type { CacheDirectory } from '../../core/directory/cache-directory.ts'
import type { StoredHead } from '../../core/http/stored-head.ts'
import type { LiveBody, StoredResponse } from '../../proxy/ports.ts'

/** The body of a stored response, and how many read it. Once removed it stays in the budget until the last has gone. */
export class KeptBody {
  readonly bytes: Uint8Array
  readonly #directory: CacheDirectory
  #readerCount = 0
  #removed = false
  /** Reserved since its removal. */
  #owedBytes = 0

  constructor(bytes: Uint8Array, directory: CacheDirectory) {
    this.bytes = bytes
    this.#directory = directory
  }

  get removed(): boolean {
    return this.#removed
  }

  pin(readerCount: number): void {
    this.#readerCount += readerCount
  }

  /** Once for each reader pinned. */
  unpin(): void {
    this.#readerCount--
    if (this.#readerCount > 0 || this.#owedBytes === 0) return
    this.#directory.unreserve(this.#owedBytes)
    this.#owedBytes = 0
  }

  /** Its entry, of `sizeBytes`, has just left the directory. */
  remove(sizeBytes: number): void {
    this.#removed = true
    if (this.#readerCount === 0) return
    this.#owedBytes = sizeBytes
    this.#directory.reserve(sizeBytes)
  }
}

/** A reader of a body that is all there. */
export function openKept(kept: KeptBody, stored: StoredHead): StoredResponse<LiveBody> {
  let released = false
  kept.pin(1)
  return {
    stored,
    bodyBytes: kept.bytes.length,
    body: kept.bytes,
    release: () => {
      if (released) return
      released = true
      kept.unpin()
    },
  }
}
