import { hashingProblem } from './hash-schemes.ts'
import type { KeyHashing } from './key-hash.ts'
import { murmur3 } from './murmur3.ts'

// A filter as bytes, integers big-endian, words of the body little-endian:
//   0  'S' 'C' 'F', version 1
//   4  kind u8, hash scheme u8, cache-key rules u8, 0
//   8  key id u32
//  12  entries u32
//  16  four parameters of the kind's own, u32 each
//  32  bytes of the body u32
//  36  body
//  then h0 and h1 of MurmurHash3 over all before, u32 each: against faults, not against forgers

const MAGIC = [0x53, 0x43, 0x46]
const VERSION = 1
const HEADER_BYTES = 36
const CHECKSUM_BYTES = 8
const MAX_U32 = 0xffffffff

/** What a filter is as bytes, whatever its kind. */
export interface FilterRecord {
  readonly kindCode: number
  readonly hashing: KeyHashing
  readonly entryCount: number
  /** What they mean, each kind says; 0 where it has fewer. */
  readonly parameters: readonly [number, number, number, number]
  readonly body: Uint8Array
}

/** Bytes that are no filter, or none that this version knows. */
export class MalformedFilterError extends Error {
  override readonly name = 'MalformedFilterError'
  readonly code = 'MALFORMED_FILTER'
  constructor(problem: string) {
    super(`no usable filter: ${problem}`)
  }
}

/** @throws {RangeError} a number or the body is too large for the format */
export function encodeFilter(record: FilterRecord): Uint8Array<ArrayBuffer> {
  const { hashing, body } = record
  const bytes = new Uint8Array(HEADER_BYTES + body.length + CHECKSUM_BYTES)
  const view = new DataView(bytes.buffer)
  bytes.set(MAGIC)
  bytes.set([VERSION, record.kindCode, hashing.hashScheme, hashing.keyRules, 0], 3)
  const numbers = [hashing.keyId, record.entryCount, ...record.parameters, body.length]
  for (const [i, number] of numbers.entries()) {
    if (!(Number.isInteger(number) && number >= 0 && number <= MAX_U32)) throw new RangeError(`${number} is no u32`)
    view.setUint32(8 + 4 * i, number)
  }
  bytes.set(body, HEADER_BYTES)
  const checksum = checksumOf(view, HEADER_BYTES + body.length)
  view.setUint32(HEADER_BYTES + body.length, checksum.h0)
  view.setUint32(HEADER_BYTES + body.length + 4, checksum.h1)
  return bytes
}

/**
 * Reads what `encodeFilter` wrote. The body is a view of `bytes`; nothing is allocated.
 * @throws {MalformedFilterError} naming what is wrong or unknown
 */
export function decodeFilter(bytes: Uint8Array): FilterRecord {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (bytes.length < HEADER_BYTES + CHECKSUM_BYTES) throw new MalformedFilterError(`${bytes.length} bytes are too few`)
  if (MAGIC.some((byte, i) => bytes[i] !== byte)) throw new MalformedFilterError('it does not begin with SCF')
  if (bytes[3] !== VERSION) throw new MalformedFilterError(`unknown version ${bytes[3]}`)
  if (bytes[7] !== 0) throw new MalformedFilterError(`unknown flags ${bytes[7]}`)
  const bodyBytes = view.getUint32(32)
  if (bytes.length !== HEADER_BYTES + bodyBytes + CHECKSUM_BYTES) {
    throw new MalformedFilterError(
      `${bytes.length} bytes, where its head says ${HEADER_BYTES + bodyBytes + CHECKSUM_BYTES}`,
    )
  }
  const hashing = { hashScheme: bytes[5]!, keyId: view.getUint32(8), keyRules: bytes[6]! }
  const problem = hashingProblem(hashing)
  if (problem !== undefined) throw new MalformedFilterError(problem)
  const checksum = checksumOf(view, HEADER_BYTES + bodyBytes)
  const at = HEADER_BYTES + bodyBytes
  if (view.getUint32(at) !== checksum.h0 || view.getUint32(at + 4) !== checksum.h1) {
    throw new MalformedFilterError('its checksum is wrong')
  }
  return {
    kindCode: bytes[4]!,
    hashing,
    entryCount: view.getUint32(12),
    parameters: [view.getUint32(16), view.getUint32(20), view.getUint32(24), view.getUint32(28)],
    body: bytes.subarray(HEADER_BYTES, at),
  }
}

/** How many bytes the filter takes that these begin with, by its head; undefined when they are too few to tell. */
export function encodedBytes(bytes: Uint8Array): number | undefined {
  if (bytes.length < HEADER_BYTES) return undefined
  const body = new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getUint32(32)
  return HEADER_BYTES + body + CHECKSUM_BYTES
}

/** The first `byteCount` bytes of words, each least significant byte first. */
export function bytesOfWords(words: Uint32Array, byteCount = 4 * words.length): Uint8Array {
  const bytes = new Uint8Array(4 * words.length)
  const view = new DataView(bytes.buffer)
  for (let i = 0; i < words.length; i++) view.setUint32(4 * i, words[i]!, true)
  return bytes.subarray(0, byteCount)
}

/**
 * The words of so many bits; the reverse of `bytesOfWords`.
 * @throws {MalformedFilterError} the body has not exactly the bytes of so many bits, or a bit behind them is set
 */
export function wordsOfBody(body: Uint8Array, bitCount: number): Uint32Array {
  if (body.length !== Math.ceil(bitCount / 8)) {
    throw new MalformedFilterError(`a body of ${body.length} bytes for ${bitCount} bits`)
  }
  const surplus = body.length * 8 - bitCount
  if (surplus > 0 && body.at(-1)! >>> (8 - surplus) !== 0) throw new MalformedFilterError('bits behind its end are set')
  const words = new Uint32Array(Math.ceil(bitCount / 32))
  const view = new DataView(body.buffer, body.byteOffset, body.length)
  const whole = body.length >>> 2
  for (let i = 0; i < whole; i++) words[i] = view.getUint32(4 * i, true)
  for (let i = 4 * whole; i < body.length; i++) words[whole]! |= body[i]! << (8 * (i & 3))
  return words
}

function checksumOf(view: DataView, end: number): { readonly h0: number; readonly h1: number } {
  const words = new Uint32Array(4)
  murmur3(view, 0, end, words)
  return { h0: words[0]!, h1: words[1]! }
}
