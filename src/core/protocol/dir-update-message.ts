import type { BitArray } from '../filter/bit-array.ts'
import { MAX_PROBE_COUNT } from '../filter/filter-geometry.ts'
import { MalformedMessageError } from './malformed-message-error.ts'

/** How the sender hashes: each message says it, so that a receiver can check it (Summary Cache, "The Protocol"). */
export interface HashSpecification {
  /** Function_Num: k. */
  readonly functionCount: number
  /** Function_Bits: bits of the MD5 that each function takes. */
  readonly functionBits: number
  /** BitArray_Size_InBits: m. */
  readonly bitCount: number
}

/** ICP_OP_DIRUPDATE: bits of the sender's digest as they are now. */
export interface DirUpdateMessage extends HashSpecification {
  /** Ours go up by one with each message; others may do as they please. */
  readonly requestNumber: number
  /** A position with `BIT_CLEAR` where the bit is 0, without it where it is 1. Never "toggle". */
  readonly records: Uint32Array
}

/** The record's most significant bit: the bit at its position is to be 0. */
export const BIT_CLEAR = 0x8000_0000
const POSITION_MASK = 0x7fff_ffff
/** Of a digest on this wire: positions have 31 bits. */
export const MAX_UPDATE_BIT_COUNT = 2 ** 31

/** Summary Cache: the default, four 32-bit words of the URL's MD5. Other widths are refused by name. */
export const FUNCTION_BITS = 32

const FORMAT = 'DIRUPDATE'
const OPCODE = 20
const VERSION = 2
/** RFC 2186 §2: 20 bytes; Summary Cache adds Function_Num, Function_Bits, BitArray_Size_InBits and Number_of_Updates. */
const HEADER_BYTES = 32
const RECORD_BYTES = 4
/** What fills one IP packet of 1,500 bytes, without IP's and UDP's headers. */
export const MAX_DATAGRAM_BYTES = 1_472
export const MAX_RECORDS = (MAX_DATAGRAM_BYTES - HEADER_BYTES) / RECORD_BYTES

export function positionOf(record: number): number {
  return record & POSITION_MASK
}

/** The records that tell of these positions what is there now. */
export function dirUpdateRecords(positions: Uint32Array, bits: BitArray): Uint32Array {
  return positions.map((position) => (bits.get(position) ? position : position | BIT_CLEAR))
}

/** Whether an encoded message changes anything; one that does not only says that its sender lives. */
export function hasRecords(bytes: Uint8Array): boolean {
  return bytes.length > HEADER_BYTES
}

/** @throws {RangeError} more records than fit a packet, or a position outside the array: a bug of ours */
export function encodeDirUpdate(message: DirUpdateMessage): Uint8Array {
  const { bitCount, functionBits, functionCount, records, requestNumber } = message
  if (records.length > MAX_RECORDS) throw new RangeError(`${records.length} records in one datagram`)
  const bytes = new Uint8Array(HEADER_BYTES + RECORD_BYTES * records.length)
  const view = new DataView(bytes.buffer)
  view.setUint8(0, OPCODE)
  view.setUint8(1, VERSION)
  view.setUint16(2, bytes.length)
  view.setUint32(4, requestNumber)
  view.setUint16(20, functionCount)
  view.setUint16(22, functionBits)
  view.setUint32(24, bitCount)
  view.setUint32(28, records.length)
  for (const [i, record] of records.entries()) {
    if (positionOf(record) >= bitCount) throw new RangeError(`bit ${positionOf(record)} of ${bitCount}`)
    view.setUint32(HEADER_BYTES + RECORD_BYTES * i, record)
  }
  return bytes
}

/**
 * Options, option data and sender address are not looked at: the address that counts is the datagram's.
 * @param maxBitCount a larger digest is refused
 * @throws {MalformedMessageError}
 */
export function decodeDirUpdate(bytes: Uint8Array, maxBitCount = MAX_UPDATE_BIT_COUNT): DirUpdateMessage {
  if (bytes.length < HEADER_BYTES) throw new MalformedMessageError(FORMAT, bytes.length, 'ends within the header')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (view.getUint8(0) !== OPCODE) throw new MalformedMessageError(FORMAT, 0, `unknown opcode ${view.getUint8(0)}`)
  if (view.getUint8(1) !== VERSION) throw new MalformedMessageError(FORMAT, 1, `unknown version ${view.getUint8(1)}`)
  if (view.getUint16(2) !== bytes.length) {
    throw new MalformedMessageError(FORMAT, 2, 'length differs from the datagram')
  }
  const functionCount = view.getUint16(20)
  if (functionCount === 0 || functionCount > MAX_PROBE_COUNT) {
    throw new MalformedMessageError(FORMAT, 20, `${functionCount} hash functions`)
  }
  const functionBits = view.getUint16(22)
  if (functionBits !== FUNCTION_BITS) {
    throw new MalformedMessageError(FORMAT, 22, `hash functions of ${functionBits} bits`)
  }
  const bitCount = view.getUint32(24)
  if (bitCount === 0 || bitCount > maxBitCount) {
    throw new MalformedMessageError(FORMAT, 24, `a digest of ${bitCount} bits, where 1 to ${maxBitCount} are accepted`)
  }
  const recordCount = view.getUint32(28)
  if (HEADER_BYTES + RECORD_BYTES * recordCount !== bytes.length) {
    throw new MalformedMessageError(FORMAT, 28, `${recordCount} records in ${bytes.length} bytes`)
  }
  const records = new Uint32Array(recordCount)
  for (let i = 0; i < recordCount; i++) {
    const at = HEADER_BYTES + RECORD_BYTES * i
    const record = view.getUint32(at)
    if (positionOf(record) >= bitCount) {
      throw new MalformedMessageError(FORMAT, at, `bit ${positionOf(record)} of ${bitCount}`)
    }
    records[i] = record
  }
  return { requestNumber: view.getUint32(4), functionCount, functionBits, bitCount, records }
}
