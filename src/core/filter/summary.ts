import { BitArray } from './bit-array.ts'
import { BitChecksum } from './bit-checksum.ts'
import { CountingBloomFilter } from './counting-bloom-filter.ts'
import type { FilterGeometry } from './filter-geometry.ts'
import { GenerationBuild, type Refill, type SpareMemory } from './generation-build.ts'
import type { KeyHash } from './key-hash.ts'
import type { MembershipFilter } from './membership-filter.ts'
import { PositionList } from './position-list.ts'
import { bitsClaim } from './probing.ts'

// A list of changed positions may hold so many that no longer count, beside as many as do.
const COMPACTION_SLACK = 1024

/**
 * Why a digest claims a key that the directory lacks: other keys' bits, or bits that wait for the turnover.
 * 'absent': it does not claim it.
 */
export type ClaimCause = 'collision' | 'pending-clear' | 'absent'

/** What the published bits amount to. */
export interface BitsProof {
  readonly setBitCount: number
  readonly checksumHi: number
  readonly checksumLo: number
}

/**
 * Our own filter over our directory, and beside it the bits as published, which are what the peers hold
 * (PROTOCOL rule 3). Between publishes the two differ by open changes (set here, not published) and pending clears
 * (published, no longer set here). Within a generation published bits only rise.
 *
 * The next generation is built beside it, in slices: `beginGeneration`, `buildGeneration` until it is done, then
 * `fixGeneration`, from which on changes count against its bits, and `turnOver`, which publishes them.
 */
export class Summary implements MembershipFilter {
  #geometry: FilterGeometry
  #filter: CountingBloomFilter
  #published: BitArray
  /** What the next delta starts from: the published bits, or those of the next generation once they are fixed. */
  #base: BitArray
  #build: GenerationBuild | undefined
  /** Of the generation before: the next one is built there. To give it back and take it anew stops everything. */
  #spare: SpareMemory = { bits: undefined, counters: undefined }
  #checksum = new BitChecksum()
  #setBitCount = 0
  readonly #flipped = new PositionList()
  // Holds every position that counts, perhaps repeated, and some that have changed back since.
  #risen = new PositionList()
  #openChangeCount = 0
  #pendingClearCount = 0

  constructor(geometry: FilterGeometry) {
    this.#geometry = geometry
    this.#filter = new CountingBloomFilter(geometry)
    this.#published = new BitArray(geometry.bitCount)
    this.#base = this.#published
  }

  /** Of the published bits. */
  get geometry(): FilterGeometry {
    return this.#geometry
  }

  /** Changed by `publishDelta` alone, replaced by `turnOver`; read only to others. */
  get published(): BitArray {
    return this.#published
  }

  get entryCount(): number {
    return this.#filter.entryCount
  }

  /** Of the published bits. */
  get setBitCount(): number {
    return this.#setBitCount
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

  /** Published bits, or those that are fixed, that no entry needs any more. */
  get pendingClearCount(): number {
    return this.#pendingClearCount
  }

  /** What is being built of the next generation. */
  get build(): GenerationBuild | undefined {
    return this.#build
  }

  /** Whether the next generation's bits stand: no delta of this one can follow. */
  get isFixed(): boolean {
    return this.#base !== this.#published
  }

  /** @param slot where the directory keeps it */
  add(key: KeyHash, slot = 0): void {
    const flipped = this.#flipped
    flipped.clear()
    this.#filter.add(key, flipped)
    for (let i = 0; i < flipped.length; i++) {
      const position = flipped.at(i)
      if (this.#base.get(position)) {
        this.#pendingClearCount--
      } else {
        this.#openChangeCount++
        this.#risen.push(position)
      }
    }
    if (this.#risen.length > 2 * this.#openChangeCount + COMPACTION_SLACK) this.#compact()
    this.#build?.added(key, slot, flipped)
  }

  /**
   * Only for a key that was added.
   * @throws {KeyNotHeldError} it is certainly not held; nothing has changed
   */
  remove(key: KeyHash, slot = 0): void {
    const flipped = this.#flipped
    flipped.clear()
    this.#filter.remove(key, flipped)
    for (let i = 0; i < flipped.length; i++) {
      if (this.#base.get(flipped.at(i))) this.#pendingClearCount++
      else this.#openChangeCount--
    }
    this.#build?.removed(key, slot, flipped)
  }

  /** The key's claim has gone on to another slot. */
  move(key: KeyHash, fromSlot: number, toSlot: number): void {
    this.#build?.moved(key, fromSlot, toSlot)
  }

  mayContain(key: KeyHash): boolean {
    return this.#filter.mayContain(key)
  }

  publishedMayContain(key: KeyHash): boolean {
    return bitsClaim(this.#published, this.#geometry, key)
  }

  /** For a key that the directory lacks. */
  claimCause(key: KeyHash): ClaimCause {
    if (!this.publishedMayContain(key)) return 'absent'
    return this.mayContain(key) ? 'collision' : 'pending-clear'
  }

  /**
   * Publishes the open changes and returns their positions, ascending.
   * @throws {Error} the next generation is fixed already
   */
  publishDelta(): Uint32Array {
    if (this.isFixed) throw new Error('a delta of a generation that is over')
    const set = this.#openChanges()
    for (const position of set) {
      this.#published.set(position)
      this.#checksum.toggle(position)
    }
    this.#setBitCount += set.length
    this.#openChangeCount = 0
    this.#risen.clear()
    return set
  }

  /** @param refill a new filter from the directory; without, the one in use goes on */
  beginGeneration(refill?: Refill): void {
    const { counters } = this.#spare
    this.#build = new GenerationBuild(this.#filter, refill, this.#spare)
    this.#spare = { bits: undefined, counters: refill === undefined ? counters : undefined }
  }

  /** Goes on by about `maxSteps`, some tens of nanoseconds each; false once `fixGeneration` may be called. */
  buildGeneration(maxSteps: number): boolean {
    return this.#build!.work(maxSteps)
  }

  /** From now on changes count against the next generation's bits, which stay as they are. Returns these. */
  fixGeneration(): BitArray {
    const { bits, filter } = this.#build!
    const before = this.#filter.counters
    if (filter.counters !== before && filter.counters.counterCount === before.counterCount) {
      this.#spare = { ...this.#spare, counters: before }
    }
    this.#filter = filter
    this.#base = bits
    this.#build = undefined
    this.#openChangeCount = 0
    this.#pendingClearCount = 0
    this.#risen.clear()
    return bits
  }

  /**
   * Publishes the bits that were fixed. Those published before are written over by the next generation.
   * @param proof what they amount to
   */
  turnOver(proof: BitsProof): void {
    this.#geometry = this.#filter.geometry
    if (this.#base.bitCount === this.#published.bitCount) this.#spare = { ...this.#spare, bits: this.#published }
    this.#published = this.#base
    this.#setBitCount = proof.setBitCount
    this.#checksum = BitChecksum.from(proof.checksumHi, proof.checksumLo)
  }

  #compact(): void {
    const positions = this.#openChanges()
    this.#risen = new PositionList()
    for (const position of positions) this.#risen.push(position)
  }

  #openChanges(): Uint32Array {
    return this.#risen.sortUnique().filter((position) => this.#filter.isSet(position))
  }
}
