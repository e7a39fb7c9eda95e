import { CounterArray, CounterUnderflowError } from './counter-array.ts'
import { MAX_PROBE_COUNT, type FilterGeometry } from './filter-geometry.ts'
import type { KeyHash } from './key-hash.ts'
import { probePositions } from './key-hashing.ts'
import type { MembershipFilter } from './membership-filter.ts'
import type { PositionSink } from './position-list.ts'

/**
 * A Bloom filter that can forget: a 4-bit counter for each bit, which is set while its counter is not 0
 * (Summary Cache, "Bloom filters"). A key added n times is held until it was removed n times.
 */
export class CountingBloomFilter implements MembershipFilter {
  readonly geometry: FilterGeometry
  readonly #counters: CounterArray
  readonly #positions = new Uint32Array(MAX_PROBE_COUNT)
  #setBitCount = 0
  #entryCount = 0

  constructor(geometry: FilterGeometry) {
    this.geometry = geometry
    this.#counters = new CounterArray(geometry.bitCount)
  }

  get setBitCount(): number {
    return this.#setBitCount
  }

  /** Additions less removals. */
  get entryCount(): number {
    return this.#entryCount
  }

  isSet(bitIndex: number): boolean {
    return this.#counters.get(bitIndex) !== 0
  }

  /** @param risen gets the positions that this set */
  add(key: KeyHash, risen: PositionSink): void {
    const count = this.#probe(key)
    for (let i = 0; i < count; i++) {
      const position = this.#positions[i]!
      if (this.#counters.increment(position) !== 1) continue
      this.#setBitCount++
      risen.push(position)
    }
    this.#entryCount++
  }

  /**
   * Only for a key that was added, as the directory knows: taking out another that the filter merely seems to contain
   * would take a neighbour's bits.
   *
   * @param fallen gets the positions that this cleared
   * @throws {CounterUnderflowError} the key is certainly not held; nothing has changed
   */
  remove(key: KeyHash, fallen: PositionSink): void {
    const count = this.#probe(key)
    for (let i = 0; i < count; i++) {
      if (!this.isSet(this.#positions[i]!)) throw new CounterUnderflowError(this.#positions[i]!)
    }
    for (let i = 0; i < count; i++) {
      const position = this.#positions[i]!
      if (this.#counters.decrement(position) !== 0) continue
      this.#setBitCount--
      fallen.push(position)
    }
    this.#entryCount--
  }

  mayContain(key: KeyHash): boolean {
    const count = this.#probe(key)
    for (let i = 0; i < count; i++) if (!this.isSet(this.#positions[i]!)) return false
    return true
  }

  // Probes of one key that coincide count once, here as there, so that removal undoes addition exactly.
  #probe(key: KeyHash): number {
    const positions = this.#positions
    probePositions(key, this.geometry, positions)
    let kept = 0
    for (let i = 0; i < this.geometry.probeCount; i++) {
      const position = positions[i]!
      let earlier = 0
      while (earlier < kept && positions[earlier] !== position) earlier++
      if (earlier === kept) positions[kept++] = position
    }
    return kept
  }
}
