import { BitArray } from '../filter/bit-array.ts'
import { CountingBloomFilter } from '../filter/counting-bloom-filter.ts'
import type { FilterGeometry } from '../filter/filter-geometry.ts'
import type { KeyHash } from '../filter/key-hash.ts'
import { PositionList } from '../filter/position-list.ts'

// The list of changed positions may hold so many that no longer count, beside as many as do.
const COMPACTION_SLACK = 1024

/**
 * Our filter over our directory for the paper's wire, and the bits as published. Bits rise and fall as entries come and go:
 * there are no generations here.
 */
export class PaperSummary {
  readonly geometry: FilterGeometry
  /** Changed by `publish` alone; read only to others. */
  readonly published: BitArray
  readonly #filter: CountingBloomFilter
  readonly #flipped = new PositionList()
  // Holds every position that counts, perhaps repeated, and some that have changed back since.
  #changed = new PositionList()
  #changeCount = 0
  #publishedEntryCount = 0

  constructor(geometry: FilterGeometry) {
    this.geometry = geometry
    this.published = new BitArray(geometry.bitCount)
    this.#filter = new CountingBloomFilter(geometry)
  }

  get entryCount(): number {
    return this.#filter.entryCount
  }

  /** When it was published last. */
  get publishedEntryCount(): number {
    return this.#publishedEntryCount
  }

  /** Bits that differ from those published: what `publish` would return. */
  get changeCount(): number {
    return this.#changeCount
  }

  add(key: KeyHash): void {
    this.#filter.add(key, this.#flipped)
    this.#noteFlips()
  }

  /**
   * Only for a key that was added.
   * @throws {KeyNotHeldError} it is certainly not held; nothing has changed
   */
  remove(key: KeyHash): void {
    this.#filter.remove(key, this.#flipped)
    this.#noteFlips()
  }

  /** Publishes the filter's bits and returns the positions that this has changed, ascending. */
  publish(): Uint32Array {
    const positions = this.#changes()
    for (const position of positions) {
      if (this.#filter.isSet(position)) this.published.set(position)
      else this.published.clear(position)
    }
    this.#changed.clear()
    this.#changeCount = 0
    this.#publishedEntryCount = this.#filter.entryCount
    return positions
  }

  #noteFlips(): void {
    for (let i = 0; i < this.#flipped.length; i++) {
      const position = this.#flipped.at(i)
      if (this.#differs(position)) {
        this.#changeCount++
        this.#changed.push(position)
      } else {
        this.#changeCount--
      }
    }
    this.#flipped.clear()
    if (this.#changed.length <= 2 * this.#changeCount + COMPACTION_SLACK) return
    const positions = this.#changes()
    this.#changed = new PositionList()
    for (const position of positions) this.#changed.push(position)
  }

  #changes(): Uint32Array {
    return this.#changed.sortUnique().filter((position) => this.#differs(position))
  }

  #differs(position: number): boolean {
    return this.#filter.isSet(position) !== this.published.get(position)
  }
}
