import assert from 'node:assert'
import type { FilterGeometry } from '../filter/filter-geometry.ts'
import { MatrixColumn, MatrixRows, PEERS_PER_WORD, type MatrixMemory } from './matrix-rows.ts'
import type { ReplicaBits, ReplicaBuffers } from './replica-bits.ts'

/**
 * Digests of one geometry, tested in one pass, for as many peers as were asked for at least. What it holds is never moved:
 * a matrix that has become too small is replaced by another, to which one digest goes after the other.
 *
 * A peer takes 32/30 of its digest's bits in a full matrix: 17.07 bits an entry at a load factor of 16. The columns of
 * peers that are not there yet come on top.
 */
export class DigestMatrix {
  readonly geometry: FilterGeometry
  /** For readers on other threads, each with `MatrixRows` of their own over the same memory. */
  readonly rows: MatrixRows
  readonly #found: Uint32Array

  /** @param allocate its memory; shared where readers are other threads */
  constructor(geometry: FilterGeometry, peers: number, allocate = plainMemory) {
    const width = Math.ceil(peers / PEERS_PER_WORD)
    this.geometry = geometry
    this.rows = new MatrixRows(geometry.bitCount, width, allocate(geometry.bitCount, width))
    this.#found = new Uint32Array(width)
  }

  get peerCount(): number {
    return this.rows.peerCount
  }

  /** Most peers there can be. */
  get capacity(): number {
    return this.rows.width * PEERS_PER_WORD
  }

  get sizeInBytes(): number {
    return this.rows.rows.byteLength
  }

  /**
   * Room for one more digest, shown to nobody yet.
   * @param owner what `candidates` will say of it
   * @param changed called when it is shown to readers, or hidden from them
   * @throws {AssertionError} there are as many peers as the capacity allows
   */
  addPeer(owner: number, changed: () => void = () => {}): MatrixBuffers {
    const word = this.rows.addPeer()
    assert(word !== undefined, `a matrix for ${this.capacity} peers is full`)
    return new MatrixBuffers(this.rows, word, owner, changed)
  }

  /**
   * The owners of the digests that claim a key, in no order. For the writer's own thread.
   *
   * @param probes of `probeSequence`, as many as the geometry has at least
   * @param out gets the owners from `count` on; as long as there are peers
   * @returns `count` and how many
   */
  candidates(probes: Uint32Array, out: Uint32Array, count: number): number {
    const { rows, geometry } = this
    return rows.match(probes, geometry.probeCount, this.#found) ? rows.ownersOf(this.#found, out, count) : count
  }
}

function plainMemory(bitCount: number, width: number): MatrixMemory {
  return {
    rows: new Uint32Array(bitCount * width),
    control: new Int32Array(MatrixRows.controlWords(width, 0)),
  }
}

/** One peer's columns. */
export class MatrixBuffers implements ReplicaBuffers {
  readonly bitCount: number
  readonly wordsPerStep: number
  readonly isSliced = true
  readonly hasWork = false
  readonly #rows: MatrixRows
  readonly #word: number
  readonly #owner: number
  readonly #changed: () => void
  #active: MatrixColumn | undefined
  #isShown = false
  #isReleased = false

  /** @param changed called when it is shown or hidden */
  constructor(rows: MatrixRows, word: number, owner: number, changed: () => void) {
    this.bitCount = rows.bitCount
    // A word of a column is 32 rows, and the first column of a matrix to be written touches all of their memory.
    this.wordsPerStep = 1 / (1 + rows.width)
    this.#rows = rows
    this.#word = word
    this.#owner = owner
    this.#changed = changed
  }

  get active(): MatrixColumn {
    this.#active ??= this.idle()
    assert(this.#active !== undefined, 'no column is free')
    return this.#active
  }

  idle(): MatrixColumn | undefined {
    const column = this.#rows.take(this.#word)
    return column === undefined ? undefined : new MatrixColumn(this.#rows, column)
  }

  swap(bits: ReplicaBits): void {
    assert(bits instanceof MatrixColumn, 'a column of this matrix')
    const old = this.#active
    this.#rows.show(bits.column, this.#owner, this.#isShown ? old?.column : undefined)
    if (!this.#isShown && old !== undefined) this.#rows.giveBack(old.column)
    this.#active = bits
    if (!this.#isShown) this.#changed()
    this.#isShown = true
  }

  discard(bits: ReplicaBits): void {
    assert(bits instanceof MatrixColumn, 'a column of this matrix')
    if (bits !== this.#active) this.#rows.giveBack(bits.column)
  }

  show(): void {
    if (this.#isShown) return
    this.#rows.show(this.active.column, this.#owner, undefined)
    this.#isShown = true
    this.#changed()
  }

  hide(): void {
    if (this.#active === undefined) return
    if (this.#isShown) this.#rows.hide(this.#active.column)
    else this.#rows.giveBack(this.#active.column)
    this.#active = undefined
    this.#isShown = false
    this.#changed()
  }

  release(): void {
    if (this.#isReleased) return
    this.hide()
    this.#rows.removePeer(this.#word)
    this.#isReleased = true
  }

  work(): void {}
}
