import { decodeDigestMessage, encodeWant } from '../digest/digest-codec.ts'
import type { DigestMessage } from '../digest/digest-message.ts'
import type { ReplicaBuffers } from '../digest/replica-bits.ts'
import { Replica, type Merge, type Refusal } from '../digest/replica.ts'
import type { StateHead } from '../digest/state-head.ts'
import type { KeyHashing } from '../filter/key-hash.ts'
import { TokenBucket } from '../peers/token-bucket.ts'
import { MalformedMessageError } from './malformed-message-error.ts'
import type { PeerBudgets } from './peer-budgets.ts'

/** What became of a frame. */
export interface Received {
  /** Undefined when the frame breaks its format. */
  readonly kind: DigestMessage['kind'] | undefined
  readonly merge: Merge
  /** Something is missing: ask again, saying what we have. */
  readonly lacks: boolean
  /** Why the publisher is not to be followed for now; undefined when all is well or a new start may mend it. */
  readonly refused: string | undefined
}

const REFUSED: Readonly<Partial<Record<Refusal, string>>> = {
  'refused-want': 'it asks where it should tell',
  'refused-incarnation': 'its incarnation is older than one seen before: its clock was set back and its state lost',
  'refused-geometry': 'its digest is larger than accepted here',
  'refused-density': 'its digest is so full that it claims nearly everything',
  'refused-malformed': 'its positions break their format',
}
const TOO_MANY_BYTES = 'it sends more than any digest needs'
const TOO_MUCH_WORK = 'its frames make more work than any digest needs'

/** Positions worked off per step of a build: some tens of microseconds. */
const BUILD_STEP_POSITIONS = 1_024

export interface FollowedDigestOptions {
  /** A digest with more bits is refused before anything is allocated for it. */
  readonly maxBitCount: number
  /** Ours: a digest that hashes otherwise is refused. */
  readonly hashing: KeyHashing
  /** A replica not proved for three of these is not consulted. */
  readonly heartbeatMs: number
  readonly budgets: PeerBudgets
  /** Where its states lie; arrays of its own when not given. */
  readonly makeBuffers?: (state: StateHead) => ReplicaBuffers
  /** Called when a frame or a build may have proved the replica, or thrown it away. */
  readonly changed?: () => void
}

/**
 * A peer's digest as we follow it: the replica, and how long ago it was last proved (PROTOCOL rules 1, 4, 8 and 9).
 */
export class FollowedDigest {
  readonly #limits: { readonly maxBitCount: number; readonly hashing: KeyHashing }
  readonly #staleAfterMs: number
  readonly #bytes: TokenBucket
  readonly #steps: TokenBucket
  readonly replica: Replica
  readonly #changed: (() => void) | undefined
  #provedAtMs = -Infinity
  #provedAgeMs = 0

  constructor({ budgets, changed, hashing, heartbeatMs, makeBuffers, maxBitCount }: FollowedDigestOptions) {
    this.#changed = changed
    this.#limits = { maxBitCount, hashing }
    this.#staleAfterMs = 3 * heartbeatMs
    this.#bytes = new TokenBucket(budgets.receivedBytes)
    this.#steps = new TokenBucket(budgets.receivedSteps)
    this.replica = new Replica({ maxBitCount, ...(makeBuffers && { makeBuffers }) })
  }

  /** The proved state; undefined before the first. */
  get state(): StateHead | undefined {
    return this.replica.state
  }

  provedAgoMs(nowMs: number): number {
    return nowMs - this.#provedAtMs
  }

  /** How far behind the publisher the replica can be at most, as far as it has told us. */
  ageMs(nowMs: number): number {
    return this.#provedAgeMs + this.provedAgoMs(nowMs)
  }

  /** Until when it counts as proved if nothing more comes; -Infinity before the first state. */
  get provedUntilMs(): number {
    return this.replica.state === undefined ? -Infinity : this.#provedAtMs + this.#staleAfterMs
  }

  /** Proved, and not too long ago. */
  isProved(nowMs: number): boolean {
    return nowMs <= this.provedUntilMs
  }

  /** The frame that asks the publisher for what we lack. */
  want(): Uint8Array {
    return encodeWant(this.replica.have)
  }

  /** The same for what is missing before changes that have come already; undefined: a snapshot is needed. */
  wantOfGap(): Uint8Array | undefined {
    const { gapEnd, have } = this.replica
    return have && encodeWant(have, gapEnd)
  }

  receive(frame: Uint8Array, nowMs: number): Received {
    if (!this.#bytes.take(frame.length, nowMs)) return refusal(undefined, 'refused-malformed', TOO_MANY_BYTES)
    let message: DigestMessage
    try {
      message = decodeDigestMessage(frame, this.#limits)
    } catch (error) {
      if (!(error instanceof MalformedMessageError)) throw error
      return refusal(undefined, 'refused-malformed', error.message)
    }
    const before = this.replica.stepCount
    const merge = this.replica.receive(message)
    const isAffordable = this.#steps.take(this.replica.stepCount - before, nowMs)
    if (isAffordable && (merge === 'applied' || merge === 'proved')) this.#proved(nowMs)
    this.#changed?.()
    if (!isAffordable) return refusal(message.kind, merge, TOO_MUCH_WORK)
    return { kind: message.kind, merge, lacks: this.replica.lacks, refused: REFUSED[merge as Refusal] }
  }

  /** Whether `work` has something to do. */
  get hasWork(): boolean {
    return this.replica.hasWork
  }

  /** One slice of what is being built, some tens of microseconds. True while there is more to do. */
  work(nowMs: number): boolean {
    const before = this.replica.state
    const stepsBefore = this.replica.stepCount
    const more = this.replica.work(BUILD_STEP_POSITIONS)
    this.#steps.take(this.replica.stepCount - stepsBefore, nowMs)
    if (this.replica.state !== before && this.replica.state !== undefined) this.#proved(nowMs)
    this.#changed?.()
    return more
  }

  #proved(nowMs: number): void {
    this.#provedAtMs = nowMs
    this.#provedAgeMs = this.replica.state?.oldestChangeAgeMs ?? 0
  }
}

function refusal(kind: DigestMessage['kind'] | undefined, merge: Merge, refused: string): Received {
  return { kind, merge, lacks: false, refused }
}
