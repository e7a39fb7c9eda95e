import assert from 'node:assert'
import type { PositionSink } from '../filter/position-list.ts'
import type { ReplicaBits } from './replica-bits.ts'

const COLUMNS_PER_WORD = 32
/** Columns of a word that no peer has for good: two states can be built, or one while a reader sleeps in another. */
const SPARE_COLUMNS = 2
export const PEERS_PER_WORD = COLUMNS_PER_WORD - SPARE_COLUMNS

// Control words: the epoch, the masks of active columns, each column's owner, each reader's epoch (0: outside).
const EPOCH = 0
const MASKS = 1
const OUTSIDE = 0
const FIRST_EPOCH = 1

/** Of a column, to the writer. */
const FREE = 0
const HELD = 1
const RETIRED = 2

/** The memory of a matrix; shared where readers are other threads. */
export interface MatrixMemory {
  /** `bitCount * width` words, zeroed: row r is the words from r * width on. */
  readonly rows: Uint32Array
  /** `MatrixRows.controlWords(width, readers)` words, zeroed at first. */
  readonly control: Int32Array
}

/**
 * Digests of one size side by side: row r holds bit r of each, 32 to a word, so that one key is tested against all of them
 * with one row for each probe. There are 32 columns for each word of the width, of which 30 can belong to peers.
 *
 * There is one writer. It changes which columns are active by one atomic compare-and-exchange of a mask, and a peer's old
 * and new column are in the same mask: readers find the one or the other, never both and never neither. A column
 * that has been retired is built in again only when no reader can still look at it: a reader says under which epoch it
 * enters before it reads the masks, and the writer counts epochs after it has changed one. So whoever saw a column
 * active entered under an epoch before that of its retirement. A reader that sleeps inside delays that, and never the
 * writer.
 */
export class MatrixRows {
  readonly bitCount: number
  /** Words in a row. */
  readonly width: number
  readonly rows: Uint32Array
  readonly #control: Int32Array
  readonly #states: Uint8Array
  readonly #retiredAt: Int32Array
  readonly #peerCounts: Uint8Array

  static controlWords(width: number, readerCount: number): number {
    return MASKS + width + COLUMNS_PER_WORD * width + readerCount
  }

  constructor(bitCount: number, width: number, memory: MatrixMemory) {
    assert(memory.rows.length === bitCount * width, `${memory.rows.length} words for ${bitCount} rows of ${width}`)
    assert(memory.control.length >= MatrixRows.controlWords(width, 0), 'too few control words')
    this.bitCount = bitCount
    this.width = width
    this.rows = memory.rows
    this.#control = memory.control
    this.#states = new Uint8Array(COLUMNS_PER_WORD * width)
    this.#retiredAt = new Int32Array(COLUMNS_PER_WORD * width)
    this.#peerCounts = new Uint8Array(width)
    Atomics.compareExchange(this.#control, EPOCH, 0, FIRST_EPOCH)
  }

  /**
   * For the writer's own thread: which active columns have all probes set?
   *
   * @param probes of `probeSequence`, `probeCount` of them at least
   * @param found gets `width` words, bit c & 31 of word c >> 5 for column c
   * @returns whether there is any
   */
  match(probes: Uint32Array, probeCount: number, found: Uint32Array): boolean {
    // Nobody else changes them.
    for (let w = 0; w < this.width; w++) found[w] = this.#control[MASKS + w]!
    return this.#narrow(probes, probeCount, found)
  }

  /** The same for a reader on another thread, between `enter` and `leave`. */
  matchInside(probes: Uint32Array, probeCount: number, found: Uint32Array): boolean {
    // The masks before the rows: what was active then cannot be built in now.
    for (let w = 0; w < this.width; w++) found[w] = Atomics.load(this.#control, MASKS + w)
    return this.#narrow(probes, probeCount, found)
  }

  /** Leaves in `found` the columns that have all probes set. */
  #narrow(probes: Uint32Array, probeCount: number, found: Uint32Array): boolean {
    const { rows, width } = this
    const rowMask = this.bitCount - 1
    // The first four rows at once, so that their loads overlap: few keys are settled by less. With fewer probes the last
    // one is made again, which changes nothing.
    const last = Math.min(3, probeCount - 1)
    const row0 = (probes[0]! & rowMask) * width
    const row1 = (probes[Math.min(1, last)]! & rowMask) * width
    const row2 = (probes[Math.min(2, last)]! & rowMask) * width
    const row3 = (probes[last]! & rowMask) * width
    let any = 0
    for (let w = 0; w < width; w++) {
      const rest = found[w]! & rows[row0 + w]! & rows[row1 + w]! & rows[row2 + w]! & rows[row3 + w]!
      found[w] = rest
      any |= rest
    }
    for (let i = 4; i < probeCount && any !== 0; i++) {
      const row = (probes[i]! & rowMask) * width
      any = 0
      for (let w = 0; w < width; w++) {
        const rest = found[w]! & rows[row + w]!
        found[w] = rest
        any |= rest
      }
    }
    return any !== 0
  }

  /** Whose column it is, as long as it is active or its reader inside. */
  ownerOf(column: number): number {
    return Atomics.load(this.#control, MASKS + this.width + column)
  }

  /** Puts the owners of the columns in `found` into `out` from `count` on; returns `count` and how many. */
  ownersOf(found: Uint32Array, out: Uint32Array, count: number): number {
    let total = count
    for (let w = 0; w < this.width; w++) {
      for (let rest = found[w]!; rest !== 0; rest &= rest - 1) {
        out[total++] = this.ownerOf(w * COLUMNS_PER_WORD + 31 - Math.clz32(rest & -rest))
      }
    }
    return total
  }

  enter(reader: number): void {
    const slot = this.#slotOf(reader)
    assert(Atomics.load(this.#control, slot) === OUTSIDE, `reader ${reader} is inside already`)
    Atomics.store(this.#control, slot, Atomics.load(this.#control, EPOCH))
  }

  leave(reader: number): void {
    Atomics.store(this.#control, this.#slotOf(reader), OUTSIDE)
  }

  // The writer's side.

  /** A place for one more peer: the word whose columns it will use; undefined when all are taken. */
  addPeer(): number | undefined {
    const word = this.#peerCounts.findIndex((count) => count < PEERS_PER_WORD)
    if (word < 0) return undefined
    this.#peerCounts[word]!++
    return word
  }

  removePeer(word: number): void {
    this.#peerCounts[word]!--
  }

  get peerCount(): number {
    return this.#peerCounts.reduce((sum, count) => sum + count, 0)
  }

  /** A column of that word to build in; undefined while none is free. */
  take(word: number): number | undefined {
    const first = word * COLUMNS_PER_WORD
    for (let column = first; column < first + COLUMNS_PER_WORD; column++) {
      const state = this.#states[column]
      if (state === HELD || (state === RETIRED && this.#mayBeRead(column))) continue
      this.#states[column] = HELD
      return column
    }
    return undefined
  }

  /** Gives back a column that never was active. */
  giveBack(column: number): void {
    this.#states[column] = FREE
  }

  /** Makes the column active in the place of `old`, where there is one. */
  show(column: number, owner: number, old: number | undefined): void {
    const word = column >>> 5
    assert(old === undefined || old >>> 5 === word, 'old and new column share a mask')
    Atomics.store(this.#control, MASKS + this.width + column, owner)
    this.#exchangeMask(word, old === undefined ? 0 : bitOf(old), bitOf(column))
    if (old !== undefined) this.#retire(old)
  }

  hide(column: number): void {
    this.#exchangeMask(column >>> 5, bitOf(column), 0)
    this.#retire(column)
  }

  #exchangeMask(word: number, off: number, on: number): void {
    const mask = Atomics.load(this.#control, MASKS + word)
    const changed = Atomics.compareExchange(this.#control, MASKS + word, mask, (mask & ~off) | on)
    assert(changed === mask, 'a matrix has one writer')
  }

  #retire(column: number): void {
    const epoch = Atomics.load(this.#control, EPOCH)
    // After the last one comes the first again: 0 is for those outside.
    const next = epoch === 0x7fffffff ? FIRST_EPOCH : epoch + 1
    Atomics.store(this.#control, EPOCH, next)
    this.#retiredAt[column] = next
    this.#states[column] = RETIRED
  }

  /** Is a reader inside since before the column was retired? */
  #mayBeRead(column: number): boolean {
    const retiredAt = this.#retiredAt[column]!
    for (let slot = this.#slotOf(0); slot < this.#control.length; slot++) {
      const entered = Atomics.load(this.#control, slot)
      // Epochs wrap: of two, the one less than half a turn behind is the older.
      if (entered !== OUTSIDE && ((retiredAt - entered) << 1) >> 1 > 0) return true
    }
    return false
  }

  #slotOf(reader: number): number {
    const slot = MASKS + this.width + COLUMNS_PER_WORD * this.width + reader
    assert(reader === 0 || slot < this.#control.length, `reader ${reader} has no word`)
    return slot
  }
}

function bitOf(column: number): number {
  return 1 << (column & 31)
}

/** One digest of a matrix. Each operation on a word of it touches 32 rows. */
export class MatrixColumn implements ReplicaBits {
  readonly bitCount: number
  readonly column: number
  readonly #rows: Uint32Array
  readonly #width: number
  readonly #word: number
  readonly #mask: number

  constructor(rows: MatrixRows, column: number) {
    this.bitCount = rows.bitCount
    this.column = column
    this.#rows = rows.rows
    this.#width = rows.width
    this.#word = column >>> 5
    this.#mask = bitOf(column)
  }

  get(index: number): boolean {
    return (this.#rows[index * this.#width + this.#word]! & this.#mask) !== 0
  }

  set(index: number): boolean {
    const at = index * this.#width + this.#word
    const row = this.#rows[at]!
    this.#rows[at] = row | this.#mask
    return (row & this.#mask) === 0
  }

  clear(index: number): boolean {
    const at = index * this.#width + this.#word
    const row = this.#rows[at]!
    this.#rows[at] = row & ~this.#mask
    return (row & this.#mask) !== 0
  }

  word(wordIndex: number): number {
    const width = this.#width
    const shift = this.column & 31
    let at = wordIndex * 32 * width + this.#word
    let value = 0
    for (let i = 0; i < 32; i++, at += width) value |= ((this.#rows[at]! >>> shift) & 1) << i
    return value >>> 0
  }

  setWord(wordIndex: number, value: number): void {
    const width = this.#width
    const shift = this.column & 31
    const others = ~this.#mask
    let at = wordIndex * 32 * width + this.#word
    for (let i = 0; i < 32; i++, at += width) {
      this.#rows[at] = (this.#rows[at]! & others) | (((value >>> i) & 1) << shift)
    }
  }

  /** Do both lie in the same words of the same rows? */
  isBeside(other: MatrixColumn): boolean {
    return other.#rows === this.#rows && other.#word === this.#word
  }

  /** @param source beside this one: a row is read and written once */
  copyFrom(source: MatrixColumn, fromWord: number, toWord: number): void {
    const rows = this.#rows
    const width = this.#width
    const [from, to] = [source.column & 31, this.column & 31]
    const others = ~this.#mask
    const end = toWord * 32 * width
    for (let at = fromWord * 32 * width + this.#word; at < end; at += width) {
      const row = rows[at]!
      rows[at] = (row & others) | (((row >>> from) & 1) << to)
    }
  }

  countSet(fromWord = 0, toWord = this.bitCount / 32): number {
    const width = this.#width
    const shift = this.column & 31
    let count = 0
    for (let index = fromWord * 32; index < toWord * 32; index++) {
      count += (this.#rows[index * width + this.#word]! >>> shift) & 1
    }
    return count
  }

  pushSet(sink: PositionSink, fromWord = 0, toWord = this.bitCount / 32): void {
    for (let index = fromWord * 32; index < toWord * 32; index++) if (this.get(index)) sink.push(index)
  }
}
