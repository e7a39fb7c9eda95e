import type { DigestName } from './digest-name.ts'
import type { StateHead } from './state-head.ts'

/** Positions as they came, for a GapDecoder to read a slice at a time. */
export interface CodedPositions {
  readonly count: number
  /** A view of the frame. */
  readonly bytes: Uint8Array
}

/** "Send me what follows `have`"; undefined: a snapshot. */
export interface WantMessage {
  readonly kind: 'want'
  readonly have: DigestName | undefined
  /** Of the generation of `have`: what comes after it has come already. */
  readonly untilSequence: number | undefined
}

export interface SnapshotMessage {
  readonly kind: 'snapshot'
  readonly state: StateHead
  /**
   * 'raw': bit b is bit b & 7 of byte b >> 3, as in Squid's digests. 'gaps': a gap code of the set positions. 'coded':
   * a rANS code of the raw bytes.
   */
  readonly coding: 'raw' | 'gaps' | 'coded'
  /** A view of the frame. */
  readonly bytes: Uint8Array
}

/** The bits set in sequences (fromSequence, state.name.sequence] of one generation. Applied by OR. */
export interface DeltaMessage {
  readonly kind: 'delta'
  readonly fromSequence: number
  readonly state: StateHead
  readonly setBits: CodedPositions
}

/** The step from one state of a generation, `from`, to a state of a later one. */
export interface TurnoverMessage {
  readonly kind: 'turnover'
  readonly from: DigestName
  readonly state: StateHead
  readonly setBits: CodedPositions
  readonly clearBits: CodedPositions
}

export interface HeartbeatMessage {
  readonly kind: 'heartbeat'
  readonly state: StateHead
}

/** The publisher leaves; `name` is the state it published last. */
export interface GoodbyeMessage {
  readonly kind: 'goodbye'
  readonly name: DigestName
}

/** What a publisher says about its digest. */
export type PublisherMessage = SnapshotMessage | DeltaMessage | TurnoverMessage | HeartbeatMessage | GoodbyeMessage

export type DigestMessage = WantMessage | PublisherMessage
