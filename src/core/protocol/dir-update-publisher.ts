import type { ClaimListener } from '../directory/cache-directory.ts'
import { BloomFilter } from '../filter/bloom-filter.ts'
import type { FilterGeometry } from '../filter/filter-geometry.ts'
import type { KeyHash } from '../filter/key-hash.ts'
import type { CacheKey } from '../http/cache-key.ts'
import { dirUpdateRecords, encodeDirUpdate, FUNCTION_BITS, MAX_RECORDS } from './dir-update-message.ts'
import { PaperHasher } from './paper-hashing.ts'
import { PaperSummary } from './paper-summary.ts'
import type { UpdatePolicy } from './update-policy.ts'

export interface DirUpdatePublisherOptions {
  readonly geometry: FilterGeometry
  /** When enough has gathered for an update. */
  readonly policy: UpdatePolicy
  /** No change waits longer than this. */
  readonly maxAgeMs: number
  /** When nothing has been sent for so long, an update without records says that we live. */
  readonly heartbeatMs: number
  /** Of the first datagram, modulo 2^32. Far from those of the life before, so that a restart is seen. */
  readonly firstNumber: number
}

/** The whole digest as last published. */
export interface PaperSnapshot {
  /** A serialised Bloom filter. */
  readonly filter: Uint8Array
  /** The last datagram before it: what that one and earlier ones say is in it. */
  readonly requestNumber: number
}

/**
 * Our directory as peers on the paper's wire see it (Summary Cache, "Implementation"): a second summary, and datagrams with
 * the present value of each bit that has changed. A lost or repeated one does no harm that lasts: the next snapshot mends it.
 */
export class DirUpdatePublisher implements ClaimListener {
  readonly #options: DirUpdatePublisherOptions
  readonly #hasher = new PaperHasher()
  readonly #summary: PaperSummary
  #nextNumber: number
  /** Published, and from `#sentRecords` on not sent yet. A position published twice is in it twice, the later value later. */
  #records: Uint32Array = new Uint32Array(0)
  #sentRecords = 0
  #snapshot: Uint8Array | undefined
  #newDocuments = 0
  #changedAtMs = Infinity
  #lastSentMs = -Infinity
  #nowMs: number

  constructor(options: DirUpdatePublisherOptions, nowMs: number) {
    this.#options = options
    this.#summary = new PaperSummary(options.geometry)
    this.#nextNumber = options.firstNumber >>> 0
    this.#nowMs = nowMs
  }

  claimed(key: CacheKey): void {
    this.#summary.add(this.#hash(key))
    this.#newDocuments++
    this.#changedAtMs = Math.min(this.#changedAtMs, this.#nowMs)
  }

  unclaimed(key: CacheKey): void {
    this.#summary.remove(this.#hash(key))
    this.#changedAtMs = Math.min(this.#changedAtMs, this.#nowMs)
  }

  /** Whatever holds the key, it stays claimed. */
  moved(): void {}

  /** Changed bits that no datagram has told yet. */
  get unsentCount(): number {
    return this.#summary.changeCount + this.#records.length - this.#sentRecords
  }

  /** The datagrams to send now, for every peer on this wire; no more than `maxCount`, the rest being due at the next tick. */
  tick(nowMs: number, maxCount: number): Uint8Array[] {
    this.#nowMs = nowMs
    if (this.#sentRecords === this.#records.length && this.#isDue(nowMs)) this.publish()
    const datagrams: Uint8Array[] = []
    while (this.#sentRecords < this.#records.length && datagrams.length < maxCount) {
      datagrams.push(this.#datagram(this.#records.subarray(this.#sentRecords, this.#sentRecords + MAX_RECORDS)))
      this.#sentRecords = Math.min(this.#sentRecords + MAX_RECORDS, this.#records.length)
    }
    if (datagrams.length === 0 && nowMs - this.#lastSentMs >= this.#options.heartbeatMs) {
      datagrams.push(this.#datagram(new Uint32Array(0)))
    }
    if (datagrams.length > 0) this.#lastSentMs = nowMs
    return datagrams
  }

  /** Makes the next tick send something, if only that we live. */
  greet(): void {
    this.#lastSentMs = -Infinity
  }

  /** Makes every change due now. */
  publish(): void {
    const unsent = this.#records.subarray(this.#sentRecords)
    const changed = dirUpdateRecords(this.#summary.publish(), this.#summary.published)
    this.#records = new Uint32Array(unsent.length + changed.length)
    this.#records.set(unsent)
    this.#records.set(changed, unsent.length)
    this.#sentRecords = 0
    this.#snapshot = undefined
    this.#newDocuments = 0
    this.#changedAtMs = Infinity
  }

  /** What a peer that may have missed something fetches. Datagrams that are not sent yet change nothing in it. */
  snapshot(): PaperSnapshot {
    this.#snapshot ??= this.#encoded()
    return { filter: this.#snapshot, requestNumber: (this.#nextNumber - 1) >>> 0 }
  }

  #hash(key: CacheKey): KeyHash {
    return this.#hasher.hash(key.url, this.#options.geometry.probeCount)
  }

  #encoded(): Uint8Array {
    const { geometry, published, publishedEntryCount } = this.#summary
    // Counters that stuck leave bits without entries; the format wants an entry for every k bits at least.
    const entryCount = Math.max(publishedEntryCount, Math.ceil(published.countSet() / geometry.probeCount))
    return BloomFilter.ofBits(geometry, published, entryCount).serialise()
  }

  #isDue(nowMs: number): boolean {
    const { changeCount, entryCount } = this.#summary
    if (changeCount === 0) return false
    const changeAgeMs = Math.max(0, nowMs - this.#changedAtMs)
    if (changeAgeMs >= this.#options.maxAgeMs) return true
    const facts = { newDocuments: this.#newDocuments, documents: entryCount, localMisses: 0, changeAgeMs }
    return this.#options.policy.due(facts) !== undefined
  }

  #datagram(records: Uint32Array): Uint8Array {
    const { bitCount, probeCount } = this.#options.geometry
    const requestNumber = this.#nextNumber
    this.#nextNumber = (requestNumber + 1) >>> 0
    return encodeDirUpdate({
      requestNumber,
      functionCount: probeCount,
      functionBits: FUNCTION_BITS,
      bitCount,
      records,
    })
  }
}
