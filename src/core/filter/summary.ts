import { BitArray } from './bit-array.ts'
import { BitChecksum } from './bit-checksum.ts'
import { bitsClaim } from './probing.ts'
import { CountingBloomFilter } from './counting-bloom-filter.ts'
import type { FilterGeometry } from './filter-geometry.ts'
import type { KeyHash } from './key-hash.ts'
import type { MembershipFilter } from './membership-filter.ts'
import { PositionList } from './position-list.ts'

// A list of changed positions may hold so many that no longer count, beside as many as do.
const COMPACTION_SLACK = 1024

/**
 * Why a digest claims a key that the directory lacks: other keys' bits, or bits that wait for the turnover.
 * 'absent': it does not claim it.
 */
export type ClaimCause = 'collision' | 'pending-clear' | 'absent'

/** What a turnover changes against the state published before; both ascending. */
export interface PublishedTurnover {
  readonly set: Uint32Array
  readonly clear: Uint32Array
}

/**
 * Our own filter over our directory, and beside it the bits as published, which are what the peers hold
 * (PROTOCOL rule 3). Between publishes the two differ by open changes (set here, not published) and pending clears
 * (published, no longer set here). Within a generation published bits only rise.
 */
export class Summary implements MembershipFilter {
  readonly geometry: FilterGeometry
  /** Changed by `publishDelta` and `publishTurnover` alone; read only to others. */
  readonly published: BitArray
  readonly #filter: CountingBloomFilter
  readonly #checksum = new BitChecksum()
  readonly #flipped = new PositionList()
  // Both hold every position that counts, perhaps repeated, and some that have changed back since.
  #risen = new PositionList()
  #fallen = new PositionList()
  #openChangeCount = 0
  #pendingClearCount = 0
  #publishedSetBitCount = 0

  constructor(geometry: FilterGeometry) {
    this.geometry = geometry
    this.published = new BitArray(geometry.bitCount)
    this.#filter = new CountingBloomFilter(geometry)
  }

  get entryCount(): number {
    return this.#filter.entryCount
  }

  /** Of the published bits. */
  get setBitCount(): number {
    return this.#publishedSetBitCount
  }

  /** Bits that a turnover would leave set: how full the filter itself is. */
  get liveBitCount(): number {
    return this.#filter.setBitCount
  }

  /** Of the published bits. */
  get checksum(): { readonly hi: number; readonly lo: number } {
    return this.#checksum
  }

  /** Bits set and not published: what `publishDelta` would return. */
  get openChangeCount(): number {
    return this.#openChangeCount
  }

  /** Published bits that no entry needs any more. */
  get pendingClearCount(): number {
    return this.#pendingClearCount
  }

  add(key: KeyHash): void {
    const flipped = this.#flipped
    flipped.clear()
    this.#filter.add(key, flipped)
    for (let i = 0; i < flipped.length; i++) {
      const position = flipped.at(i)
      if (this.published.get(position)) {
        this.#pendingClearCount--
      } else {
        this.#openChangeCount++
        this.#risen.push(position)
      }
    }
    if (this.#risen.length > 2 * this.#openChangeCount + COMPACTION_SLACK) {
      this.#risen = listOf(this.#openChanges())
    }
  }

  /**
   * Only for a key that was added.
   * @throws {KeyNotHeldError} it is certainly not held; nothing has changed
   */
  remove(key: KeyHash): void {
    const flipped = this.#flipped
    flipped.clear()
    this.#filter.remove(key, flipped)
    for (let i = 0; i < flipped.length; i++) {
      const position = flipped.at(i)
      if (this.published.get(position)) {
        this.#pendingClearCount++
        this.#fallen.push(position)
      } else {
        this.#openChangeCount--
      }
    }
    if (this.#fallen.length > 2 * this.#pendingClearCount + COMPACTION_SLACK) {
      this.#fallen = listOf(this.#pendingClears())
    }
  }

  mayContain(key: KeyHash): boolean {
    return this.#filter.mayContain(key)
  }

  publishedMayContain(key: KeyHash): boolean {
    return bitsClaim(this.published, this.geometry, key)
  }

  /** For a key that the directory lacks. */
  claimCause(key: KeyHash): ClaimCause {
    if (!this.publishedMayContain(key)) return 'absent'
    return this.mayContain(key) ? 'collision' : 'pending-clear'
  }

  /** Publishes the open changes and returns their positions, ascending. */
  publishDelta(): Uint32Array {
    const set = this.#openChanges()
    for (const position of set) {
      this.published.set(position)
      this.#checksum.toggle(position)
    }
    this.#publishedSetBitCount += set.length
    this.#openChangeCount = 0
    this.#risen.clear()
    return set
  }

  /** Makes the published bits those of the filter. */
  publishTurnover(): PublishedTurnover {
    const set = this.publishDelta()
    const clear = this.#pendingClears()
    for (const position of clear) {
      this.published.clear(position)
      this.#checksum.toggle(position)
    }
    this.#publishedSetBitCount -= clear.length
    this.#pendingClearCount = 0
    this.#fallen.clear()
    return { set, clear }
  }

  #openChanges(): Uint32Array {
    return this.#risen.sortUnique().filter((position) => this.#filter.isSet(position))
  }

  #pendingClears(): Uint32Array {
    return this.#fallen.sortUnique().filter((position) => !this.#filter.isSet(position))
  }
}

function listOf(positions: Uint32Array): PositionList {
  const list = new PositionList()
  for (const position of positions) list.push(position)
  return list
}
