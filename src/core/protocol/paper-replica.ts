import { BitArray } from '../filter/bit-array.ts'
import { BloomFilter } from '../filter/bloom-filter.ts'
import { decodeFilter, MalformedFilterError } from '../filter/filter-format.ts'
import { sameGeometry, sameHashing, type FilterGeometry } from '../filter/filter-geometry.ts'
import type { KeyHash } from '../filter/key-hash.ts'
import { bitsClaim } from '../filter/probing.ts'
import { BIT_CLEAR, decodeDirUpdate, positionOf, type DirUpdateMessage } from './dir-update-message.ts'
import { MalformedMessageError } from './malformed-message-error.ts'
import { paperGeometry } from './paper-hashing.ts'

export interface PaperReplicaOptions {
  /** A digest with more bits is refused before anything is allocated for it. */
  readonly maxBitCount: number
  /** When nothing has come for so long the replica is not consulted. */
  readonly staleAfterMs: number
}

/**
 * What became of an update. 'applied': its records hold now. 'late': the replica holds what it says, or something newer.
 * 'refused': nothing changed, or everything known is void; `reason` says why.
 */
export type UpdateReceived =
  | { readonly outcome: 'applied' | 'late' }
  | { readonly outcome: 'refused'; readonly reason: string }

/** As for digests of ours: above nine bits in ten it claims nearly everything. */
const MAX_FILL = 0.9
// Numbers further apart than this many datagrams, some minutes at the fastest, are of different lives of the publisher.
const SAME_LIFE = 65_536
/** Updates that came while a snapshot was on its way are kept for it, up to so many records: a quarter of a megabyte. */
const MAX_KEPT_RECORDS = 65_536
/** Each change of size costs an array: a peer, or who takes its address, gets one a second. */
const REMAKE_PAUSE_MS = 1_000

/**
 * A peer's digest on the paper's wire: an array made by its first update or snapshot and changed by the records of those
 * that follow. Nothing proves it (no checksum, no sequence): it is a guess until a snapshot replaces it.
 *
 * A snapshot of ours names the last datagram that it holds. From then on numbers are watched: a gap means that a datagram
 * was lost, an older one is dropped, and one from far off is another life's, which makes what was known void.
 */
export class PaperReplica {
  readonly #options: PaperReplicaOptions
  #geometry: FilterGeometry | undefined
  #bits: BitArray | undefined
  #setBitCount = 0
  #heardAtMs = -Infinity
  #snapshotAtMs = -Infinity
  #madeAtMs = -Infinity
  /** Of the newest datagram held; undefined while the publisher's numbers mean nothing. */
  #number: number | undefined
  #lacks = false
  #kept: DirUpdateMessage[] | undefined
  #keptRecords = 0

  constructor(options: PaperReplicaOptions) {
    this.#options = options
  }

  /** Undefined before the first update or snapshot. */
  get geometry(): FilterGeometry | undefined {
    return this.#geometry
  }

  /** Read only. */
  get bits(): BitArray | undefined {
    return this.#bits
  }

  get setBitCount(): number {
    return this.#setBitCount
  }

  /** Whether a snapshot is wanted before its time: a datagram was lost, or the publisher has begun anew. */
  get lacks(): boolean {
    return this.#lacks
  }

  heardAgoMs(nowMs: number): number {
    return nowMs - this.#heardAtMs
  }

  /** Since a snapshot came, or else since it began: what was lost in that time is missing. */
  unmendedMs(nowMs: number): number {
    return nowMs - Math.max(this.#snapshotAtMs, this.#madeAtMs)
  }

  /** There is one, and something has come lately. */
  isCurrent(nowMs: number): boolean {
    return this.#bits !== undefined && this.heardAgoMs(nowMs) <= this.#options.staleAfterMs
  }

  /** @param key the MD5 of the URL, with words for as many functions as the geometry has */
  mayContain(key: KeyHash): boolean {
    if (this.#bits === undefined || this.#geometry === undefined) return false
    return bitsClaim(this.#bits, this.#geometry, key)
  }

  receive(datagram: Uint8Array, nowMs: number): UpdateReceived {
    let message: DirUpdateMessage
    try {
      message = decodeDirUpdate(datagram, this.#options.maxBitCount)
    } catch (error) {
      if (!(error instanceof MalformedMessageError)) throw error
      return { outcome: 'refused', reason: error.message }
    }
    this.#keep(message)
    const received = this.#apply(message, nowMs)
    if (received.outcome !== 'refused') this.#heardAtMs = nowMs
    return received
  }

  /** A snapshot has been asked for: updates that come before it does are applied to it as well. */
  expectSnapshot(): void {
    this.#kept = []
    this.#keptRecords = 0
  }

  /** None has come that could be used: what is lacking is not to be had now. */
  forgetSnapshot(): void {
    this.#kept = undefined
    this.#lacks = false
  }

  /**
   * Takes a whole digest in the place of what is held.
   * @param requestNumber of the last datagram that it holds; undefined: the publisher does not say
   * @returns why it was refused; undefined: it holds
   */
  load(filter: Uint8Array, requestNumber: number | undefined, nowMs: number): string | undefined {
    let loaded: BloomFilter
    try {
      const record = decodeFilter(filter)
      if (record.kindCode !== BloomFilter.KIND_CODE) return `a filter of kind ${record.kindCode}`
      if (record.parameters[0] > this.#options.maxBitCount) return `a digest of ${record.parameters[0]} bits`
      loaded = BloomFilter.load(record)
    } catch (error) {
      if (!(error instanceof MalformedFilterError)) throw error
      return error.message
    }
    const { geometry } = loaded
    if (!sameHashing(geometry, paperGeometry(1, 1))) return 'a digest hashed otherwise than by MD5 of the URL'
    if (loaded.setBitCount > MAX_FILL * geometry.bitCount) return 'a digest so full that it claims nearly everything'
    this.#geometry = geometry
    this.#bits = loaded.bits
    this.#setBitCount = loaded.setBitCount
    this.#number = requestNumber
    this.#heardAtMs = nowMs
    this.#snapshotAtMs = nowMs
    const kept = this.#kept
    // More came than could be kept: another snapshot will have them.
    this.#lacks = this.#keptRecords > MAX_KEPT_RECORDS
    this.#kept = undefined
    for (const message of kept ?? []) this.#apply(message, nowMs)
    return undefined
  }

  /** Summary Cache re-initialises the array of a neighbour that failed and came back: nothing is known of it any more. */
  restart(): void {
    this.#geometry = undefined
    this.#bits = undefined
    this.#setBitCount = 0
    this.#number = undefined
    this.#snapshotAtMs = -Infinity
    this.#lacks = true
  }

  #keep(message: DirUpdateMessage): void {
    if (this.#kept === undefined) return
    this.#keptRecords += message.records.length + 1
    if (this.#keptRecords <= MAX_KEPT_RECORDS) this.#kept.push(message)
  }

  #apply(message: DirUpdateMessage, nowMs: number): UpdateReceived {
    if (this.#number !== undefined) {
      const ahead = (message.requestNumber - this.#number) | 0
      if (Math.abs(ahead) > SAME_LIFE) this.restart()
      else if (ahead <= 0) return { outcome: 'late' }
      else {
        if (ahead > 1) this.#lacks = true
        this.#number = message.requestNumber
      }
    }
    const geometry = paperGeometry(message.bitCount, message.functionCount)
    if (this.#geometry === undefined || !sameGeometry(this.#geometry, geometry)) {
      if (this.#geometry !== undefined) this.restart()
      if (nowMs - this.#madeAtMs < REMAKE_PAUSE_MS) {
        return { outcome: 'refused', reason: 'its digest changes its size too often' }
      }
      this.#madeAtMs = nowMs
      this.#geometry = geometry
      this.#bits = new BitArray(geometry.bitCount)
    }
    const bits = this.#bits!
    for (const record of message.records) {
      const position = positionOf(record)
      if (record >= BIT_CLEAR) this.#setBitCount -= bits.clear(position) ? 1 : 0
      else this.#setBitCount += bits.set(position) ? 1 : 0
    }
    if (this.#setBitCount <= MAX_FILL * bits.bitCount) return { outcome: 'applied' }
    this.restart()
    return { outcome: 'refused', reason: 'its digest is so full that it claims nearly everything' }
  }
}
