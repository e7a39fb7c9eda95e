import { BitChecksum } from '../filter/bit-checksum.ts'
import type { CodedPositions, DeltaMessage, SnapshotMessage, TurnoverMessage } from './digest-message.ts'
import { GapDecoder } from './gap-code.ts'
import { RansDecoder } from './rans-code.ts'
import { copyWords } from './copy-words.ts'
import type { ReplicaBits, ReplicaBuffers } from './replica-bits.ts'
import type { StateHead } from './state-head.ts'

const SLICE_POSITIONS = 1024
// Words copied or zeroed, raw words proved, and coded words read and proved, in the time that one position takes.
const RAW_WORDS_PER_STEP = 1 / 4
const CODED_WORDS_PER_STEP = 1 / 6

/** The way from one proved state to the next, a slice at a time. Nothing a reader sees is wrong at any time. */
export interface StateBuild {
  readonly kind: 'delta' | 'turnover' | 'snapshot' | 'move'
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
  commit(): ReplicaBuffers
  /** It is given up: what it was building in is free again. */
  abandon(): void
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

  /** The bits of a word that had been 0. */
  word(wordIndex: number, value: number): void {
    for (let rest = value; rest !== 0; rest &= rest - 1) this.rose(wordIndex * 32 + 31 - Math.clz32(rest & -rest))
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
  readonly #buffers: ReplicaBuffers

  constructor(buffers: ReplicaBuffers, held: StateHead, delta: DeltaMessage) {
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

  commit(): ReplicaBuffers {
    return this.#buffers
  }

  abandon(): void {}
}

/** Builds a state in room of its own, which takes the place of the active one when it is proved. */
abstract class IdleBuild extends PhasedBuild {
  protected readonly buffers: ReplicaBuffers
  readonly #isFresh: boolean
  #bits: ReplicaBits | undefined

  /** @param isFresh nobody looks at `buffers` yet: they are given back if the build is given up */
  constructor(target: StateHead, buffers: ReplicaBuffers, isFresh: boolean) {
    super(target)
    this.buffers = buffers
    this.#isFresh = isFresh
    this.phases.push(() => ((this.#bits = buffers.idle()) === undefined ? 0 : 'done'))
  }

  /** Once the first phase is done. */
  protected get bits(): ReplicaBits {
    return this.#bits!
  }

  /** At most so many words for a step, less where they are slow to write. */
  protected eachWord(wordsPerStep: number, act: (fromWord: number, toWord: number) => void): Phase {
    return eachWord(this.buffers.bitCount / 32, Math.min(wordsPerStep, this.buffers.wordsPerStep), act)
  }

  commit(): ReplicaBuffers {
    this.buffers.swap(this.bits)
    return this.buffers
  }

  abandon(): void {
    if (this.#isFresh) this.buffers.release()
    else if (this.#bits !== undefined) this.buffers.discard(this.#bits)
  }
}

/** The next generation: a copy of the bits held, changed. Those must stay until it is done. */
export class TurnoverBuild extends IdleBuild implements StateBuild {
  readonly kind = 'turnover'

  constructor(buffers: ReplicaBuffers, held: StateHead, turnover: TurnoverMessage) {
    super(turnover.state, buffers, false)
    const source = buffers.active
    const proof = new RunningProof(held)
    this.phases.push(
      this.eachWord(buffers.wordsPerStep, (from, to) => copyWords(source, this.bits, from, to)),
      eachPosition(turnover.setBits, source.bitCount, (position) => {
        if (this.bits.set(position)) proof.rose(position)
      }),
      eachPosition(turnover.clearBits, source.bitCount, (position) => {
        if (this.bits.clear(position)) proof.fell(position)
      }),
      this.proofOf(proof),
    )
  }
}

/** A whole state. */
export class SnapshotBuild extends IdleBuild implements StateBuild {
  readonly kind = 'snapshot'

  constructor(buffers: ReplicaBuffers, isFresh: boolean, snapshot: SnapshotMessage) {
    super(snapshot.state, buffers, isFresh)
    const { bitCount } = buffers
    const { bytes, state } = snapshot
    const proof = new RunningProof(undefined)
    const put = (wordIndex: number, value: number): void => {
      this.bits.setWord(wordIndex, value)
      proof.word(wordIndex, value)
    }
    if (snapshot.coding === 'gaps') {
      this.phases.push(
        this.eachWord(buffers.wordsPerStep, (from, to) => {
          for (let i = from; i < to; i++) this.bits.setWord(i, 0)
        }),
        eachPosition({ count: state.setBitCount, bytes }, bitCount, (position) => {
          if (this.bits.set(position)) proof.rose(position)
        }),
      )
    } else if (snapshot.coding === 'coded') {
      let decoder: RansDecoder | undefined
      const slice = new Uint8Array(SLICE_POSITIONS)
      this.phases.push(
        this.eachWord(CODED_WORDS_PER_STEP, (from, to) => {
          decoder ??= new RansDecoder(bytes, bitCount / 8)
          decoder.next(slice, (to - from) * 4)
          for (let i = from; i < to; i++) put(i, rawWord(slice, (i - from) * 4))
        }),
      )
    } else {
      this.phases.push(
        this.eachWord(RAW_WORDS_PER_STEP, (from, to) => {
          for (let i = from; i < to; i++) put(i, rawWord(bytes, i * 4))
        }),
      )
    }
    this.phases.push(this.proofOf(proof))
  }
}

/** The state held, copied to another home. It must stay as it is until then. */
export class MoveBuild extends IdleBuild implements StateBuild {
  readonly kind = 'move'

  constructor(from: ReplicaBuffers, to: ReplicaBuffers, held: StateHead) {
    super(held, to, true)
    const source = from.active
    this.phases.push(
      this.eachWord(from.wordsPerStep, (fromWord, toWord) => copyWords(source, this.bits, fromWord, toWord)),
    )
  }
}

function rawWord(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
}
