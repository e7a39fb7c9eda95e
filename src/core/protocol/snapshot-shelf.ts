import { formatName } from '../digest/digest-name.ts'
import { SnapshotEncoder } from '../digest/snapshot-encoder.ts'
import type { StateHead } from '../digest/state-head.ts'
import { BitArray } from '../filter/bit-array.ts'

/** PROTOCOL rule 2: kept for those who come together after a cut, and for those whose reading broke off. */
const KEPT_MS = 30_000
const MAX_KEPT = 3
const WORDS_PER_STEP = 1 / 4
const COPIED_PER_STEP = 32

export interface KeptSnapshot {
  /** `incarnation.generation.sequence` of its state. */
  readonly tag: string
  readonly state: StateHead
  readonly frame: Uint8Array
  readonly madeAtMs: number
}

/**
 * Encoded snapshots by the names of their states. A new one is made in slices, of a copy of the published bits: bits that
 * rise while it is being copied rise in what has been copied too, so that it is whole when the last word is there.
 */
export class SnapshotShelf {
  #kept: KeptSnapshot[] = []
  #copy: BitArray | undefined
  #copiedWords = 0
  #encoder: SnapshotEncoder | undefined
  #state: StateHead | undefined

  /** The one of that tag, if it is kept. */
  find(tag: string): KeptSnapshot | undefined {
    return this.#kept.find((snapshot) => snapshot.tag === tag)
  }

  get newest(): KeptSnapshot | undefined {
    return this.#kept.at(-1)
  }

  /** Those that have been kept for long enough go. */
  expire(nowMs: number): void {
    if (this.#kept.length === 0) return
    this.#kept = this.#kept.filter(({ madeAtMs }) => nowMs - madeAtMs <= KEPT_MS)
  }

  /**
   * Goes on with one by about `maxSteps`; false once it is the newest.
   * @param published as it is now
   * @param state of these bits now
   */
  work(maxSteps: number, published: BitArray, state: StateHead, nowMs: number): boolean {
    if (this.#encoder === undefined && this.#copyOn(maxSteps, published)) return true
    this.#state ??= state
    this.#encoder ??= new SnapshotEncoder(this.#state, this.#copy!)
    if (this.#encoder.work(Math.max(1, Math.ceil(maxSteps * WORDS_PER_STEP)))) return true
    const { frame } = this.#encoder
    if (this.#kept.length === MAX_KEPT) this.#kept.shift()
    this.#kept.push({ tag: formatName(this.#state.name), state: this.#state, frame, madeAtMs: nowMs })
    this.#drop()
    return false
  }

  /** A published bit has risen. */
  rose(position: number): void {
    if (this.#encoder === undefined && position >>> 5 < this.#copiedWords) this.#copy!.set(position)
  }

  /** Other bits have taken the place of the published ones. */
  turnedOver(): void {
    if (this.#encoder === undefined) this.#drop()
  }

  #copyOn(maxSteps: number, published: BitArray): boolean {
    this.#copy ??= new BitArray(published.bitCount)
    const to = Math.min(published.words.length, this.#copiedWords + maxSteps * COPIED_PER_STEP)
    this.#copy.copyFrom(published, this.#copiedWords, to)
    this.#copiedWords = to
    return to < published.words.length
  }

  #drop(): void {
    this.#copy = undefined
    this.#copiedWords = 0
    this.#encoder = undefined
    this.#state = undefined
  }
}
