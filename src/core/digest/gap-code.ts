import assert from 'node:assert'
import type { PositionSink } from '../filter/position-list.ts'
import { MalformedMessageError } from '../protocol/malformed-message-error.ts'

// Positions on the wire. Strictly ascending positions p0 < p1 < ... as gaps p0, p1 - p0 - 1, p2 - p1 - 1, ..., each in
// Rice code with one parameter r for all: gap >> r ones, a zero, then the low r bits of the gap. Bits fill bytes from
// the most significant down; what is left of the last byte is zero. A byte with r (0 to 30) comes first. No positions
// are no bytes. For hashed positions this stays within 5 % of their entropy (Golomb 1966; Rice 1979).

const FORMAT = 'gap code'
const MAX_PARAMETER = 30

/** What strictly ascending positions cost, found in one pass for every parameter at once. */
export class GapSizer implements PositionSink {
  // The sum of all gaps >> r follows from how often each bit is set in them.
  readonly #gapBits = new Float64Array(MAX_PARAMETER + 1)
  #last = -1
  #count = 0

  get count(): number {
    return this.#count
  }

  push(position: number): void {
    let gap = position - this.#last - 1
    assert(gap >= 0, 'positions must be strictly ascending')
    this.#last = position
    this.#count++
    while (gap !== 0) {
      const bit = 31 - Math.clz32(gap)
      this.#gapBits[bit]!++
      gap ^= 1 << bit
    }
  }

  /** The parameter that makes the code shortest. */
  get parameter(): number {
    let best = 0
    for (let r = 1; r <= MAX_PARAMETER; r++) if (this.#codeBits(r) < this.#codeBits(best)) best = r
    return best
  }

  /** Size of the whole code with that parameter. */
  get bytes(): number {
    return this.#count === 0 ? 0 : 1 + Math.ceil(this.#codeBits(this.parameter) / 8)
  }

  #codeBits(parameter: number): number {
    let bits = this.#count * (parameter + 1)
    for (let b = parameter; b <= MAX_PARAMETER; b++) bits += this.#gapBits[b]! * 2 ** (b - parameter)
    return bits
  }
}

/** Writes the code of positions that a GapSizer has seen. */
export class GapWriter implements PositionSink {
  readonly #out: Uint8Array
  readonly #parameter: number
  #at: number
  #last = -1
  #pending = 0
  #pendingBits = 0

  /** The code goes into `out` from `offset` on, `size.bytes` of it. */
  constructor(size: GapSizer, out: Uint8Array, offset: number) {
    this.#parameter = size.parameter
    this.#out = out
    this.#at = offset
    if (size.count > 0) out[this.#at++] = this.#parameter
  }

  push(position: number): void {
    const r = this.#parameter
    const gap = position - this.#last - 1
    this.#last = position
    let ones = gap >>> r
    for (; ones >= 16; ones -= 16) this.#put(0xffff, 16)
    this.#put(((1 << ones) - 1) << 1, ones + 1)
    const low = gap & ((1 << r) - 1)
    if (r > 16) this.#put(low >>> 16, r - 16)
    this.#put(low & 0xffff, Math.min(r, 16))
  }

  /** Pads the last byte; returns the offset behind it. */
  finish(): number {
    if (this.#pendingBits > 0) this.#put(0, 8 - this.#pendingBits)
    return this.#at
  }

  #put(value: number, bits: number): void {
    this.#pending = (this.#pending << bits) | value
    this.#pendingBits += bits
    while (this.#pendingBits >= 8) {
      this.#pendingBits -= 8
      this.#out[this.#at++] = this.#pending >>> this.#pendingBits
    }
    this.#pending &= 0xff
  }
}

/** Exact size of the code, without building it. */
export function gapBytes(positions: Uint32Array): number {
  return sizeOf(positions).bytes
}

/** @param positions strictly ascending */
export function encodeGaps(positions: Uint32Array): Uint8Array {
  const size = sizeOf(positions)
  const out = new Uint8Array(size.bytes)
  const writer = new GapWriter(size, out, 0)
  for (const position of positions) writer.push(position)
  writer.finish()
  return out
}

/**
 * About what the code of `count` hashed positions below `bitCount` takes: gaps are then geometrically distributed.
 * Within a percent or two for thousands of them.
 */
export function expectedGapBytes(count: number, bitCount: number): number {
  if (count === 0) return 0
  const stay = Math.log1p(-count / (bitCount + 1))
  let best = Infinity
  for (let r = 0; r <= MAX_PARAMETER; r++) {
    // The mean of gap >> r is x / (1 - x) with x = (1 - density)^(2^r).
    best = Math.min(best, count * (r + 1 - Math.exp(stay * 2 ** r) / Math.expm1(stay * 2 ** r)))
  }
  return 1 + Math.ceil(best / 8)
}

/**
 * What can be checked of a gap code before its positions are read.
 * @throws {MalformedMessageError} so few bytes cannot hold so many positions, or the parameter is unknown
 */
export function checkGapCode(bytes: Uint8Array, count: number, bitCount: number): void {
  if (count > bitCount) throw new MalformedMessageError(FORMAT, 0, `${count} positions below ${bitCount}`)
  const parameter = bytes[0]
  if (count === 0) {
    if (parameter !== undefined) throw new MalformedMessageError(FORMAT, 0, 'bytes without positions')
    return
  }
  if (parameter === undefined) throw new MalformedMessageError(FORMAT, 0, `no bytes for ${count} positions`)
  if (parameter > MAX_PARAMETER) throw new MalformedMessageError(FORMAT, 0, `unknown parameter ${parameter}`)
  if (count * (parameter + 1) > (bytes.length - 1) * 8) {
    throw new MalformedMessageError(FORMAT, bytes.length, `too short for ${count} positions`)
  }
}

/**
 * Reads positions back a slice at a time, so that a hostile or merely large list costs neither memory nor a long
 * pause. It yields exactly `count` positions, strictly ascending and below `bitCount`, or throws.
 */
export class GapDecoder {
  readonly #bytes: Uint8Array
  readonly #bitCount: number
  readonly #parameter: number
  #left: number
  #at = 1
  #usedBits = 0
  #last = -1

  /** @throws {MalformedMessageError} as `checkGapCode` does */
  constructor(bytes: Uint8Array, count: number, bitCount: number) {
    checkGapCode(bytes, count, bitCount)
    this.#bytes = bytes
    this.#bitCount = bitCount
    this.#left = count
    this.#parameter = bytes[0] ?? 0
  }

  /** Positions not yet read. */
  get left(): number {
    return this.#left
  }

  /**
   * Puts up to `max` further positions into `out` and returns how many: 0 once all were read.
   * @throws {MalformedMessageError} a position outside the array, the end too early or too late
   */
  next(out: Uint32Array, max: number): number {
    const count = Math.min(max, this.#left)
    for (let i = 0; i < count; i++) {
      // Never beyond the array: what is longer is refused before its bits are read through.
      const room = this.#bitCount - this.#last - 2
      const high = this.#readOnes(Math.floor(room / 2 ** this.#parameter))
      const gap = high * 2 ** this.#parameter + this.#readBits(this.#parameter)
      if (gap > room) throw this.#malformed('a position outside the array')
      this.#last += gap + 1
      out[i] = this.#last
    }
    this.#left -= count
    if (this.#left === 0 && count > 0) this.#checkEnd()
    return count
  }

  #readOnes(most: number): number {
    let ones = 0
    for (;;) {
      const byte = this.#bytes[this.#at]
      if (byte === undefined) throw this.#malformed('ends within a position')
      const available = 8 - this.#usedBits
      const leading = Math.clz32(~(byte << (24 + this.#usedBits)))
      ones += Math.min(leading, available)
      if (ones > most) throw this.#malformed('a position outside the array')
      if (leading < available) {
        this.#advance(leading + 1)
        return ones
      }
      this.#advance(available)
    }
  }

  #readBits(bits: number): number {
    let value = 0
    let missing = bits
    while (missing > 0) {
      const byte = this.#bytes[this.#at]
      if (byte === undefined) throw this.#malformed('ends within a position')
      const available = 8 - this.#usedBits
      const taken = Math.min(missing, available)
      value = (value << taken) | ((byte >>> (available - taken)) & ((1 << taken) - 1))
      missing -= taken
      this.#advance(taken)
    }
    return value
  }

  #advance(bits: number): void {
    this.#usedBits += bits
    if (this.#usedBits === 8) {
      this.#usedBits = 0
      this.#at++
    }
  }

  #checkEnd(): void {
    const rest = this.#usedBits === 0 ? 0 : this.#bytes[this.#at]! & ((1 << (8 - this.#usedBits)) - 1)
    if (rest !== 0) throw this.#malformed('padding that is not zero')
    if (this.#at + (this.#usedBits > 0 ? 1 : 0) !== this.#bytes.length) throw this.#malformed('bytes behind the end')
  }

  #malformed(problem: string): MalformedMessageError {
    return new MalformedMessageError(FORMAT, Math.min(this.#at, this.#bytes.length), problem)
  }
}

function sizeOf(positions: Uint32Array): GapSizer {
  const size = new GapSizer()
  for (const position of positions) size.push(position)
  return size
}
