import type { MatrixBuffers } from './digest-matrix.ts'
import type { DoubleBuffer } from './double-buffer.ts'
import type { MatrixColumn } from './matrix-rows.ts'
import type { PositionSink } from '../filter/position-list.ts'
import type { ReplicaBits, ReplicaBuffers } from './replica-bits.ts'

/**
 * A digest larger than a matrix by some powers of two: exact in arrays of its own, and folded onto a column of the
 * matrix, where bit p is bit p modulo the matrix's size. A key that the digest claims is claimed by the column; what the
 * column claims must be asked of the digest. After a turnover the column is folded anew, in slices; until that is done
 * the digest is tested by itself.
 */
export class FoldedBuffers implements ReplicaBuffers {
  readonly bitCount: number
  readonly wordsPerStep: number
  readonly #exact: DoubleBuffer
  readonly #columns: MatrixBuffers
  readonly #changed: () => void
  #active: RaisingBits | undefined
  #folding: MatrixColumn | undefined
  #foldedWords = 0
  #isShown = false
  /** Does the column stand for the active state? */
  #isFolded = false

  /** @param changed called when `isSliced` changes */
  constructor(exact: DoubleBuffer, columns: MatrixBuffers, changed: () => void) {
    this.bitCount = exact.bitCount
    this.wordsPerStep = exact.wordsPerStep
    this.#exact = exact
    this.#columns = columns
    this.#changed = changed
  }

  /** While the column is behind, the digest is found by itself. */
  get isSliced(): boolean {
    return this.#isFolded
  }

  get active(): ReplicaBits {
    return (this.#active ??= new RaisingBits(this.#exact.active, (position) => this.#raise(position)))
  }

  idle(): ReplicaBits | undefined {
    return this.#exact.idle()
  }

  swap(bits: ReplicaBits): void {
    this.#exact.swap(bits)
    this.#active = undefined
    this.#restart()
    this.#isShown = true
  }

  discard(): void {
    this.#exact.discard()
  }

  show(): void {
    if (this.#isShown) return
    this.#restart()
    this.#isShown = true
  }

  hide(): void {
    this.#restart()
    this.#isShown = false
    this.#columns.hide()
  }

  release(): void {
    this.hide()
    this.#columns.release()
    this.#exact.release()
  }

  get hasWork(): boolean {
    return this.#isShown && !this.#isFolded
  }

  /** Folds further. */
  work(maxSteps: number): void {
    if (!this.hasWork) return
    this.#folding ??= this.#columns.idle()
    const column = this.#folding
    if (column === undefined) return
    const exact = this.#exact.active
    const columnWords = column.bitCount / 32
    const end = Math.min(
      columnWords,
      this.#foldedWords + Math.max(1, Math.floor(maxSteps * this.#columns.wordsPerStep)),
    )
    for (let i = this.#foldedWords; i < end; i++) {
      let value = 0
      for (let w = i; w < exact.words.length; w += columnWords) value |= exact.words[w]!
      column.setWord(i, value)
    }
    this.#foldedWords = end
    if (end < columnWords) return
    this.#columns.swap(column)
    this.#folding = undefined
    this.#isFolded = true
    this.#changed()
  }

  /** Before the exact bits show it. What is being folded may have passed the place already. */
  #raise(position: number): void {
    const column = this.#isFolded ? this.#columns.active : this.#folding
    if (column !== undefined) column.set(position & (column.bitCount - 1))
  }

  #restart(): void {
    if (this.#folding !== undefined) this.#columns.discard(this.#folding)
    this.#folding = undefined
    this.#foldedWords = 0
    if (this.#isFolded) this.#changed()
    this.#isFolded = false
  }
}

/** Bits that tell of each one that is about to be set. */
class RaisingBits implements ReplicaBits {
  readonly bitCount: number
  readonly #bits: ReplicaBits
  readonly #raise: (position: number) => void

  constructor(bits: ReplicaBits, raise: (position: number) => void) {
    this.bitCount = bits.bitCount
    this.#bits = bits
    this.#raise = raise
  }

  get(index: number): boolean {
    return this.#bits.get(index)
  }

  set(index: number): boolean {
    this.#raise(index)
    return this.#bits.set(index)
  }

  clear(index: number): boolean {
    return this.#bits.clear(index)
  }

  word(wordIndex: number): number {
    return this.#bits.word(wordIndex)
  }

  setWord(wordIndex: number, value: number): void {
    this.#bits.setWord(wordIndex, value)
  }

  countSet(fromWord?: number, toWord?: number): number {
    return this.#bits.countSet(fromWord, toWord)
  }

  pushSet(sink: PositionSink, fromWord?: number, toWord?: number): void {
    this.#bits.pushSet(sink, fromWord, toWord)
  }
}
