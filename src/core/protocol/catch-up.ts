import { ChangeEncoder } from '../digest/change-encoder.ts'
import { NetChanges } from '../digest/bit-changes.ts'
import { decodeDigestMessage } from '../digest/digest-codec.ts'
import type { CodedPositions } from '../digest/digest-message.ts'
import type { DigestName } from '../digest/digest-name.ts'
import { GapDecoder } from '../digest/gap-code.ts'
import type { StateHead } from '../digest/state-head.ts'
import { MAX_BIT_COUNT } from '../filter/filter-geometry.ts'
import type { PublishedStep } from './published-steps.ts'

const POSITIONS_AT_ONCE = 512
const NOTHING = { setBitCount: 0, checksumHi: 0, checksumLo: 0 }

/**
 * One step made of several, a slice at a time. It carries what they come to, no position twice, so that repair costs no
 * more than the difference is worth (PROTOCOL rule 7).
 */
export class CatchUp {
  readonly kind: 'delta' | 'turnover'
  readonly leadsTo: DigestName
  readonly #steps: readonly PublishedStep[]
  readonly #maxBytes: number
  readonly #net: NetChanges
  readonly #encoder: ChangeEncoder
  readonly #slice = new Uint32Array(POSITIONS_AT_ONCE)
  readonly #work: Generator<number, void, void>
  #frame: Uint8Array | undefined

  /**
   * @param steps at least one, each from where the one before it led
   * @param state what the last one leads to, as it is to be told
   * @param maxBytes a longer frame is not made
   */
  constructor(steps: readonly PublishedStep[], state: StateHead, maxBytes: number) {
    this.leadsTo = state.name
    this.#steps = steps
    this.#maxBytes = maxBytes
    this.#net = new NetChanges(state.geometry.bitCount)
    this.#encoder = new ChangeEncoder(this.#net, NOTHING)
    this.kind = steps[0]!.from.generation === state.name.generation ? 'delta' : 'turnover'
    this.#work = this.#phases(state)
  }

  /** Goes on by about `maxSteps`, some tens of nanoseconds each; false once it is done. */
  work(maxSteps: number): boolean {
    for (let left = maxSteps; left > 0;) {
      const { done, value } = this.#work.next()
      if (done === true) return false
      left -= value
    }
    return true
  }

  /** Once done; undefined: it would be longer than allowed. */
  get frame(): Uint8Array | undefined {
    return this.#frame
  }

  *#phases(state: StateHead): Generator<number, void, void> {
    for (const { frame } of this.#steps) {
      const step = decodeDigestMessage(frame, { maxBitCount: MAX_BIT_COUNT, hashing: state.geometry })
      if (step.kind === 'delta' || step.kind === 'turnover') {
        yield* this.#each(step.setBits, state, (position) => this.#net.rose(position))
      }
      if (step.kind === 'turnover') yield* this.#each(step.clearBits, state, (position) => this.#net.fell(position))
    }
    while (this.#encoder.measure(POSITIONS_AT_ONCE)) yield POSITIONS_AT_ONCE
    if (this.#encoder.frameBytes(this.kind === 'delta') > this.#maxBytes) return
    this.#encoder.begin(this.#steps[0]!.from, state)
    while (this.#encoder.write(POSITIONS_AT_ONCE)) yield POSITIONS_AT_ONCE
    this.#frame = this.#encoder.frame
  }

  *#each(coded: CodedPositions, state: StateHead, act: (position: number) => void): Generator<number, void, void> {
    const decoder = new GapDecoder(coded.bytes, coded.count, state.geometry.bitCount)
    for (;;) {
      const count = decoder.next(this.#slice, POSITIONS_AT_ONCE)
      if (count === 0) return
      for (let i = 0; i < count; i++) act(this.#slice[i]!)
      yield count
    }
  }
}
