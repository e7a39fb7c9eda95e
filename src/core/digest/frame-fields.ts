import assert from 'node:assert'
import { digestGeometryProblem, UNKEYED, type FilterGeometry } from '../filter/filter-geometry.ts'
import type { KeyHashing } from '../filter/key-hash.ts'
import { MalformedMessageError } from '../protocol/malformed-message-error.ts'
import type { DigestName } from './digest-name.ts'
import type { StateHead } from './state-head.ts'

export const FRAME_FORMAT = 'digest frame'
export const FRAME_HEADER_BYTES = 6
export const NAME_BYTES = 16
export const STATE_BYTES = 44

const MAGIC = [0x53, 0x43, 0x44]
const FORMAT_VERSION = 1
const MAX_U32 = 0xffffffff

/** Writes a frame's fixed fields, big-endian, in order. */
export class FrameWriter {
  readonly bytes: Uint8Array
  readonly #view: DataView
  #at = 0

  constructor(type: number, flags: number, frameBytes: number) {
    this.bytes = new Uint8Array(frameBytes)
    this.#view = new DataView(this.bytes.buffer)
    for (const byte of [...MAGIC, FORMAT_VERSION, type, flags]) this.u8(byte)
  }

  /** Where the next field goes. */
  get offset(): number {
    return this.#at
  }

  u8(value: number): void {
    this.#view.setUint8(this.#at, value)
    this.#at += 1
  }

  u32(value: number): void {
    assert(Number.isInteger(value) && value >= 0 && value <= MAX_U32, `${value} is no unsigned 32-bit integer`)
    this.#view.setUint32(this.#at, value)
    this.#at += 4
  }

  name(name: DigestName): void {
    assert(Number.isSafeInteger(name.incarnation), `incarnation ${name.incarnation} is no safe integer`)
    this.u32(Math.floor(name.incarnation / 2 ** 32))
    this.u32(name.incarnation % 2 ** 32)
    this.u32(name.generation)
    this.u32(name.sequence)
  }

  state(state: StateHead): void {
    const { geometry } = state
    const problem = digestGeometryProblem(geometry, geometry)
    assert(problem === undefined, problem)
    this.name(state.name)
    this.u8(geometry.hashScheme)
    this.u8(geometry.keyRules)
    this.u8(geometry.probeCount)
    this.u8(Math.log2(geometry.bitCount))
    this.u32(geometry.keyId)
    this.u32(state.setBitCount)
    this.u32(state.entryCount)
    this.u32(Math.min(MAX_U32, Math.max(0, Math.ceil(state.oldestChangeAgeMs))))
    this.u32(state.checksumHi)
    this.u32(state.checksumLo)
  }
}

/** What a state may say. */
export interface StateLimits {
  /** Larger digests are refused, whatever else they say. */
  readonly maxBitCount: number
  /** Ours: digests that hash otherwise are refused. Not keyed when not given. */
  readonly hashing?: KeyHashing
}

/** Reads a frame's fields in order and refuses, by name, what it does not know. */
export class FrameFields {
  readonly type: number
  readonly flags: number
  readonly #frame: Uint8Array
  readonly #view: DataView
  #at = 0

  /** @throws {MalformedMessageError} as all its methods do */
  constructor(frame: Uint8Array) {
    this.#frame = frame
    this.#view = new DataView(frame.buffer, frame.byteOffset, frame.length)
    for (const byte of MAGIC) if (this.u8() !== byte) throw this.malformed('no digest frame', 0)
    const format = this.u8()
    if (format !== FORMAT_VERSION) throw this.malformed(`unknown format ${format}`, 3)
    this.type = this.u8()
    this.flags = this.u8()
  }

  u8(): number {
    return this.#view.getUint8(this.#take(1))
  }

  u32(): number {
    return this.#view.getUint32(this.#take(4))
  }

  name(): DigestName {
    const at = this.#at
    const incarnation = this.u32() * 2 ** 32 + this.u32()
    if (!Number.isSafeInteger(incarnation)) throw this.malformed('incarnation out of range', at)
    return { incarnation, generation: this.u32(), sequence: this.u32() }
  }

  state({ hashing, maxBitCount }: StateLimits): StateHead {
    const name = this.name()
    const geometryAt = this.#at
    const geometry = this.#geometry()
    const problem = digestGeometryProblem(geometry, hashing ?? UNKEYED)
    if (problem !== undefined) throw this.malformed(problem, geometryAt)
    if (geometry.bitCount > maxBitCount) {
      throw this.malformed(`${geometry.bitCount} bits where ${maxBitCount} are allowed`, geometryAt + 3)
    }
    const setBitCount = this.u32()
    if (setBitCount > geometry.bitCount) throw this.malformed('more set bits than bits', this.#at - 4)
    const entryCount = this.u32()
    const oldestChangeAgeMs = this.u32()
    return {
      name,
      geometry,
      setBitCount,
      entryCount,
      oldestChangeAgeMs,
      checksumHi: this.u32(),
      checksumLo: this.u32(),
    }
  }

  /** A view of the next `count` bytes; of all that are left when not given. */
  bytes(count = this.#frame.length - this.#at): Uint8Array {
    const from = this.#take(count)
    return this.#frame.subarray(from, from + count)
  }

  end(): void {
    if (this.#at !== this.#frame.length) throw this.malformed('bytes behind the end', this.#at)
  }

  malformed(problem: string, at = this.#at): MalformedMessageError {
    return new MalformedMessageError(FRAME_FORMAT, at, problem)
  }

  #geometry(): FilterGeometry {
    const hashScheme = this.u8()
    const keyRules = this.u8()
    const probeCount = this.u8()
    const bitCount = 2 ** this.u8()
    return { hashScheme, keyRules, probeCount, bitCount, keyId: this.u32() }
  }

  #take(count: number): number {
    const from = this.#at
    if (count > this.#frame.length - from) throw this.malformed('ends too early', this.#frame.length)
    this.#at += count
    return from
  }
}
