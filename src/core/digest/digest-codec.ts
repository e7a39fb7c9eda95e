import assert from 'node:assert'
import type {
  DeltaMessage,
  DigestMessage,
  SnapshotMessage,
  TurnoverMessage,
  CodedPositions,
  WantMessage,
} from './digest-message.ts'
import type { DigestName } from './digest-name.ts'
import {
  FRAME_HEADER_BYTES,
  FrameFields,
  FrameWriter,
  NAME_BYTES,
  STATE_BYTES,
  type StateLimits,
} from './frame-fields.ts'
import {
  SNAPSHOT_CODED,
  SNAPSHOT_GAPS,
  TYPE_DELTA,
  TYPE_GOODBYE,
  TYPE_HEARTBEAT,
  TYPE_SNAPSHOT,
  TYPE_TURNOVER,
  TYPE_WANT,
  WANT_HAVE,
  WANT_UNTIL,
} from './frame-types.ts'
import { checkGapCode, encodeGaps } from './gap-code.ts'
import { checkRansCode } from './rans-code.ts'
import type { StateHead } from './state-head.ts'

// A frame: 'S' 'C' 'D', format 1, type, flags, then fixed big-endian fields by type, then coded positions or bits.
//   name      incarnation u64, generation u32, sequence u32
//   state     name, hash scheme u8, cache-key rules u8, probes u8, log2 of the bit count u8, key id u32, set bits u32,
//             entries u32, age of the oldest change in ms u32 (at most), checksum hi u32, lo u32
//   want      with flag 1: name, with flag 2 too: last sequence wanted u32     heartbeat  state     goodbye  name
//   snapshot  state; with flag 1: gap code of the set positions; with flag 2: rANS code of the raw bits' bytes; else the
//             raw bits, least significant first
//   delta     state, from sequence u32, count u32, gap code
//   turnover  state, from generation u32, from sequence u32, set count u32, clear count u32, bytes of the first gap
//             code u32, gap code of the positions set, gap code of those cleared

const HEAD_BYTES = FRAME_HEADER_BYTES + STATE_BYTES
const DELTA_FIXED_BYTES = HEAD_BYTES + 8
const TURNOVER_FIXED_BYTES = HEAD_BYTES + 20

/**
 * No sender has reason to make a longer frame about a digest of so many bits: gap codes are never longer than a bit
 * for each position of the array, and of a snapshot's codings the smallest is sent.
 */
export function maxFrameBytes(limits: StateLimits): number {
  return limits.maxBitCount / 8 + TURNOVER_FIXED_BYTES + 4
}

/**
 * @param have the state to go on from; undefined asks for a snapshot
 * @param untilSequence of the generation of `have`: what comes after it is not wanted
 */
export function encodeWant(have: DigestName | undefined, untilSequence?: number): Uint8Array {
  if (have === undefined) return new FrameWriter(TYPE_WANT, 0, FRAME_HEADER_BYTES).bytes
  const isRange = untilSequence !== undefined
  const flags = isRange ? WANT_HAVE | WANT_UNTIL : WANT_HAVE
  const frame = new FrameWriter(TYPE_WANT, flags, FRAME_HEADER_BYTES + NAME_BYTES + (isRange ? 4 : 0))
  frame.name(have)
  if (isRange) frame.u32(untilSequence)
  return frame.bytes
}

/** @param setBits strictly ascending */
export function encodeDelta(fromSequence: number, state: StateHead, setBits: Uint32Array): Uint8Array {
  const gaps = encodeGaps(setBits)
  const frame = beginDelta(fromSequence, state, setBits.length, gaps.length)
  frame.bytes.set(gaps, frame.offset)
  return frame.bytes
}

/** A delta's frame but for its gap code, of `gapBytes` bytes, which belongs at the offset. */
export function beginDelta(fromSequence: number, state: StateHead, count: number, gapByteCount: number): FrameWriter {
  assert(fromSequence < state.name.sequence, 'a delta must lead on')
  const frame = new FrameWriter(TYPE_DELTA, 0, deltaFrameBytesOf(gapByteCount))
  frame.state(state)
  frame.u32(fromSequence)
  frame.u32(count)
  return frame
}

/** @param setBits, clearBits strictly ascending; what really changes against the bits of `from` */
export function encodeTurnover(
  from: DigestName,
  state: StateHead,
  setBits: Uint32Array,
  clearBits: Uint32Array,
): Uint8Array {
  const setGaps = encodeGaps(setBits)
  const clearGaps = encodeGaps(clearBits)
  const counts = { setCount: setBits.length, clearCount: clearBits.length }
  const frame = beginTurnover(from, state, counts, setGaps.length, clearGaps.length)
  frame.bytes.set(setGaps, frame.offset)
  frame.bytes.set(clearGaps, frame.offset + setGaps.length)
  return frame.bytes
}

/** A turnover's frame but for its two gap codes, which belong at the offset, one behind the other. */
export function beginTurnover(
  from: DigestName,
  state: StateHead,
  counts: { readonly setCount: number; readonly clearCount: number },
  setGapBytes: number,
  clearGapBytes: number,
): FrameWriter {
  assert(from.incarnation === state.name.incarnation, 'a turnover stays within an incarnation')
  assert(from.generation < state.name.generation, 'a turnover must lead to a later generation')
  const frame = new FrameWriter(TYPE_TURNOVER, 0, turnoverFrameBytesOf(setGapBytes, clearGapBytes))
  frame.state(state)
  frame.u32(from.generation)
  frame.u32(from.sequence)
  frame.u32(counts.setCount)
  frame.u32(counts.clearCount)
  frame.u32(setGapBytes)
  return frame
}

export function encodeHeartbeat(state: StateHead): Uint8Array {
  const frame = new FrameWriter(TYPE_HEARTBEAT, 0, HEAD_BYTES)
  frame.state(state)
  return frame.bytes
}

/** @param name the state published last */
export function encodeGoodbye(name: DigestName): Uint8Array {
  const frame = new FrameWriter(TYPE_GOODBYE, 0, FRAME_HEADER_BYTES + NAME_BYTES)
  frame.name(name)
  return frame.bytes
}

/** With a gap code of so many bytes. */
export function deltaFrameBytesOf(gapByteCount: number): number {
  return DELTA_FIXED_BYTES + gapByteCount
}

/** With gap codes of so many bytes. */
export function turnoverFrameBytesOf(setGapBytes: number, clearGapBytes: number): number {
  return TURNOVER_FIXED_BYTES + setGapBytes + clearGapBytes
}

/**
 * Reads a frame. Positions and bits stay as they are coded, views of `frame`, which must not change; what is wrong
 * within them shows when they are read.
 *
 * @throws {MalformedMessageError} naming what it does not understand; nothing large was allocated
 */
export function decodeDigestMessage(frame: Uint8Array, limits: StateLimits): DigestMessage {
  const fields = new FrameFields(frame)
  const message = decodeByType(fields, limits)
  fields.end()
  return message
}

function decodeByType(fields: FrameFields, limits: StateLimits): DigestMessage {
  switch (fields.type) {
    case TYPE_WANT:
      return decodeWant(fields)
    case TYPE_SNAPSHOT:
      return decodeSnapshot(fields, limits)
    case TYPE_DELTA:
      allowFlags(fields, 0)
      return decodeDelta(fields, limits)
    case TYPE_TURNOVER:
      allowFlags(fields, 0)
      return decodeTurnover(fields, limits)
    case TYPE_HEARTBEAT:
      allowFlags(fields, 0)
      return { kind: 'heartbeat', state: fields.state(limits) }
    case TYPE_GOODBYE:
      allowFlags(fields, 0)
      return { kind: 'goodbye', name: fields.name() }
    default:
      throw fields.malformed(`unknown type ${fields.type}`, 4)
  }
}

function decodeWant(fields: FrameFields): WantMessage {
  const { flags } = fields
  if (flags === 0) return { kind: 'want', have: undefined, untilSequence: undefined }
  allowFlags(fields, WANT_HAVE | WANT_UNTIL)
  if (flags === WANT_UNTIL) throw fields.malformed('an end without a beginning', 5)
  const have = fields.name()
  const untilSequence = flags === WANT_HAVE ? undefined : fields.u32()
  if (untilSequence !== undefined && untilSequence <= have.sequence) throw fields.malformed('nothing is wanted')
  return { kind: 'want', have, untilSequence }
}

function decodeSnapshot(fields: FrameFields, limits: StateLimits): SnapshotMessage {
  const { flags } = fields
  allowFlags(fields, flags === SNAPSHOT_CODED ? SNAPSHOT_CODED : SNAPSHOT_GAPS)
  const state = fields.state(limits)
  const { bitCount } = state.geometry
  if (flags === 0) return { kind: 'snapshot', state, coding: 'raw', bytes: fields.bytes(bitCount / 8) }
  const bytes = fields.bytes()
  if (flags === SNAPSHOT_GAPS) {
    checkGapCode(bytes, state.setBitCount, bitCount)
    return { kind: 'snapshot', state, coding: 'gaps', bytes }
  }
  checkRansCode(bytes)
  return { kind: 'snapshot', state, coding: 'coded', bytes }
}

function decodeDelta(fields: FrameFields, limits: StateLimits): DeltaMessage {
  const state = fields.state(limits)
  const fromSequence = fields.u32()
  if (fromSequence >= state.name.sequence) throw fields.malformed('a delta that does not lead on')
  const count = fields.u32()
  if (count > state.setBitCount) throw fields.malformed('more positions than set bits')
  return { kind: 'delta', fromSequence, state, setBits: positions(count, fields.bytes(), state.geometry.bitCount) }
}

function decodeTurnover(fields: FrameFields, limits: StateLimits): TurnoverMessage {
  const state = fields.state(limits)
  const { bitCount } = state.geometry
  const from = { incarnation: state.name.incarnation, generation: fields.u32(), sequence: fields.u32() }
  if (from.generation >= state.name.generation) throw fields.malformed('a turnover that does not lead on')
  const setCount = fields.u32()
  const clearCount = fields.u32()
  if (setCount > state.setBitCount) throw fields.malformed('more positions than set bits')
  if (clearCount > bitCount - state.setBitCount) throw fields.malformed('more positions than clear bits')
  const setBits = positions(setCount, fields.bytes(fields.u32()), bitCount)
  return { kind: 'turnover', from, state, setBits, clearBits: positions(clearCount, fields.bytes(), bitCount) }
}

function positions(count: number, bytes: Uint8Array, bitCount: number): CodedPositions {
  checkGapCode(bytes, count, bitCount)
  return { count, bytes }
}

function allowFlags(fields: FrameFields, known: number): void {
  if ((fields.flags & ~known) !== 0) throw fields.malformed(`unknown flags ${fields.flags}`, 5)
}
