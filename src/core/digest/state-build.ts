import type { BitArray } from '../filter/bit-array.ts'
import { BitChecksum } from '../filter/bit-checksum.ts'
import type { CodedPositions, DeltaMessage, SnapshotMessage, TurnoverMessage } from './digest-message.ts'
import type { DoubleBuffer } from './double-buffer.ts'
import { GapDecoder } from './gap-code.ts'
import { RansDecoder } from './rans-code.ts'
import type { StateHead } from './state-head.ts'

const SLICE_POSITIONS = 1024
// Words copied or zeroed, raw words proved, and coded words read and proved, in the time that one position takes.
const WORDS_PER_STEP = 32
const RAW_WORDS_PER_STEP = 1 / 4
const CODED_WORDS_PER_STEP = 1 / 6

/** The way from one proved state to the next, a slice at a time. Nothing a reader sees is wrong at any time. */
export interface StateBuild {
  readonly kind: 'delta' | 'turnover' | 'snapshot'
  readonly target: StateHead
  /** 'unproved': what came out is not what `target` says; it is given up. */
  readonly status: 'more' | 'proved' | 'unproved'
  /** Taken so far; a step is a position, or so many words that they cost no more. */
  readonly stepCount: number
  /**
   * Goes on by about `maxSteps` at most; takes none while every buffer is held by a reader.
   * @throws {MalformedMessageError} the positions break their format; the build is given up
   */
  work(maxSteps: number): void
  /** Once proved: makes the target's bits the active ones, and returns the buffers they are in. */
  commit(): DoubleBuffer
}

/** What the bits at hand amount to, kept while they change. */
class RunningProof {
  readonly #checksum: BitChecksum
  #setBitCount: number

  constructor(state: StateHead | undefined) {
    this.#checksum = BitChecksum.from(state?.checksumHi ?? 0, state?.checksumLo ?? 0)
    this.#setBitCount = state?.setBitCount ?? 0
  }

  rose(position: number): void {
    this.#checksum.toggle(position)
    this.#setBitCount++
  }

  fell(position: number): void {
    this.#checksum.toggle(position)
    this.#setBitCount--
  }

  words(bits: BitArray, fromWord: number, toWord: number): void {
    bits.pushSet(this.#checksum, fromWord, toWord)
    this.#setBitCount += bits.countSet(fromWord, toWord)
  }

  proves(state: StateHead): boolean {
    const { hi, lo } = this.#checksum
    return this.#setBitCount === state.setBitCount && hi === state.checksumHi && lo === state.checksumLo
  }
}

/** Coded positions, handed on in slices. */
class PositionSlices {
  readonly #decoder: GapDecoder
  readonly #slice: Uint32Array

  constructor(coded: CodedPositions, bitCount: number) {
    this.#decoder = new GapDecoder(coded.bytes, coded.count, bitCount)
    this.#slice = new Uint32Array(Math.min(coded.count, SLICE_POSITIONS))
  }

  /** Up to `max` further positions; none when all were read. */
  next(max: number): Uint32Array {
    return this.#slice.subarray(0, this.#decoder.next(this.#slice, Math.min(max, this.#slice.length)))
  }
}

type Phase = (maxSteps: number) => number | 'done'

/** Runs one phase after the other. A phase returns the steps it took, about `maxSteps` at most, or 'done'. */
abstract class PhasedBuild {
  abstract readonly kind: StateBuild['kind']
  readonly target: StateHead
  protected readonly phases: Phase[] = []
  #phase = 0
  #stepCount = 0
  #status: StateBuild['status'] = 'more'

  constructor(target: StateHead) {
    this.target = target
  }

  get status(): StateBuild['status'] {
    return this.#status
  }

  get stepCount(): number {
    return this.#stepCount
  }

  work(maxSteps: number): void {
    let left = maxSteps
    while (left > 0 && this.#status === 'more') {
      const phase = this.phases[this.#phase]
      if (phase === undefined) {
        this.#status = 'proved'
        return
      }
      const steps = phase(left)
      if (steps === 'done') {
        this.#phase++
      } else {
        if (steps === 0) return
        left -= steps
        this.#stepCount += steps
      }
    }
  }

  /** A phase that takes no steps: fails the build unless `proof` is of the target. */
  protected proofOf(proof: RunningProof): Phase {
    return () => {
      if (!proof.proves(this.target)) this.#status = 'unproved'
      return 'done'
    }
  }
}

/** A phase over all of `coded`. The decoder is made when its turn comes. */
function eachPosition(coded: CodedPositions, bitCount: number, act: (position: number) => void): Phase {
  let slices: PositionSlices | undefined
  return (maxSteps) => {
    slices ??= new PositionSlices(coded, bitCount)
    const positions = slices.next(maxSteps)
    for (const position of positions) act(position)
    return positions.length === 0 ? 'done' : positions.length
  }
}

/** A phase over all words of an array. */
function eachWord(wordCount: number, wordsPerStep: number, act: (fromWord: number, toWord: number) => void): Phase {
  let word = 0
  return (maxSteps) => {
    if (word === wordCount) return 'done'
    const from = word
    word = Math.min(wordCount, from + Math.max(1, Math.floor(Math.min(maxSteps, SLICE_POSITIONS) * wordsPerStep)))
    act(from, word)
    return Math.ceil((word - from) / wordsPerStep)
  }
}

/** Proves a delta against the active bits, and only then raises them: a bit once set cannot be taken back. */
export class DeltaMerge extends PhasedBuild implements StateBuild {
  readonly kind = 'delta'
  readonly #buffers: DoubleBuffer

  constructor(buffers: DoubleBuffer, held: StateHead, delta: DeltaMessage) {
    super(delta.state)
    this.#buffers = buffers
    const bits = buffers.active
    const proof = new RunningProof(held)
    this.phases.push(
      eachPosition(delta.setBits, bits.bitCount, (position) => {
        if (!bits.get(position)) proof.rose(position)
      }),
      this.proofOf(proof),
      eachPosition(delta.setBits, bits.bitCount, (position) => bits.set(position)),
    )
  }

  commit(): DoubleBuffer {
    return this.#buffers
  }
}

/** Builds the next generation in an idle buffer: a copy of the bits held, changed. Those must stay until it is done. */
export class TurnoverBuild extends PhasedBuild implements StateBuild {
  readonly kind = 'turnover'
  readonly #buffers: DoubleBuffer
  #bits: BitArray | undefined

  constructor(buffers: DoubleBuffer, held: StateHead, turnover: TurnoverMessage) {
    super(turnover.state)
    this.#buffers = buffers
    const source = buffers.active
    const proof = new RunningProof(held)
    this.phases.push(
      () => ((this.#bits = buffers.idle()) === undefined ? 0 : 'done'),
      eachWord(source.words.length, WORDS_PER_STEP, (from, to) => this.#bits!.copyFrom(source, from, to)),
      eachPosition(turnover.setBits, source.bitCount, (position) => {
        if (this.#bits!.set(position)) proof.rose(position)
      }),
      eachPosition(turnover.clearBits, source.bitCount, (position) => {
        if (this.#bits!.clear(position)) proof.fell(position)
      }),
      this.proofOf(proof),
    )
  }

  commit(): DoubleBuffer {
    this.#buffers.swap(this.#bits!)
    return this.#buffers
  }
}

/** Builds a whole state, in an idle buffer or, where there are none of its size, in new ones. */
export class SnapshotBuild extends PhasedBuild implements StateBuild {
  readonly kind = 'snapshot'
  readonly #buffers: DoubleBuffer
  readonly #isFresh: boolean
  #bits: BitArray | undefined

  /** @param isFresh nobody reads `buffers` yet, so the state is built in its active one */
  constructor(buffers: DoubleBuffer, isFresh: boolean, snapshot: SnapshotMessage) {
    super(snapshot.state)
    this.#buffers = buffers
    this.#isFresh = isFresh
    const { bitCount } = buffers
    const { bytes, state } = snapshot
    const wordCount = bitCount / 32
    const proof = new RunningProof(undefined)
    this.phases.push(() => ((this.#bits = isFresh ? buffers.active : buffers.idle()) === undefined ? 0 : 'done'))
    if (snapshot.coding === 'gaps') {
      this.phases.push(
        eachWord(wordCount, WORDS_PER_STEP, (from, to) => this.#bits!.words.fill(0, from, to)),
        eachPosition({ count: state.setBitCount, bytes }, bitCount, (position) => {
          if (this.#bits!.set(position)) proof.rose(position)
        }),
      )
    } else if (snapshot.coding === 'coded') {
      let decoder: RansDecoder | undefined
      const slice = new Uint8Array(SLICE_POSITIONS)
      this.phases.push(
        eachWord(wordCount, CODED_WORDS_PER_STEP, (from, to) => {
          decoder ??= new RansDecoder(bytes, wordCount * 4)
          decoder.next(slice, (to - from) * 4)
          for (let i = from; i < to; i++) this.#bits!.words[i] = rawWord(slice, (i - from) * 4)
          proof.words(this.#bits!, from, to)
        }),
      )
    } else {
      this.phases.push(
        eachWord(wordCount, RAW_WORDS_PER_STEP, (from, to) => {
          for (let i = from; i < to; i++) this.#bits!.words[i] = rawWord(bytes, i * 4)
          proof.words(this.#bits!, from, to)
        }),
      )
    }
    this.phases.push(this.proofOf(proof))
  }

  commit(): DoubleBuffer {
    if (!this.#isFresh) this.#buffers.swap(this.#bits!)
    return this.#buffers
  }
}

function rawWord(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
}
