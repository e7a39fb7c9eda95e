import assert from 'node:assert'
import { MalformedMessageError } from '../protocol/malformed-message-error.ts'
import {
  CLASS_COUNT,
  FREQUENCY_TOTAL,
  bytesBefore,
  bytesByClass,
  costBits,
  expectedCounts,
  frequenciesFor,
  onesOfBytes,
  slotsOfClass,
} from './byte-frequencies.ts'

// The bytes of a digest in rANS (Duda 2009, arXiv:1311.2540), what Mitzenmacher (Compressed Bloom Filters, 2001) has an
// arithmetic coder for. First the frequencies of bytes with 0 to 8 ones, 16 bits each, then the code. It is written
// from the digest's last byte to its first and read from its own end, so that reading yields the first byte first and
// neither side turns anything round. The state is kept in [2^23, 2^31) by moving whole bytes; the writer starts at 2^23
// and ends with the state in four bytes. All integers are below 2^31 and big-endian.

const FORMAT = 'rANS code'
const HEADER_BYTES = 2 * CLASS_COUNT
const STATE_BYTES = 4
const SMALLEST_BYTES = HEADER_BYTES + STATE_BYTES
const LOW = 2 ** 23
const HIGH = 2 ** 31
// A step puts (x div f) * 2^16 + start + x mod f, which is below (x div f + 1) * 2^16, in the place of x * 2^16 / f, and
// x div f is at least 2^7. Over bytes as frequent as they are taken for, the mean of what that loses is next to nothing.
const MOST_LOST_BITS = Math.log2(1 + 2 ** -7)
// Between 0 and 8 of the last state's bits say nothing.
const MEAN_STATE_BITS = 4

/** What bytes cost, found in one pass. */
export class RansSizer {
  readonly #ones = onesOfBytes()
  readonly #counts: Float64Array

  /** @param counts bytes of each number of ones known beforehand */
  constructor(counts: Float64Array = new Float64Array(CLASS_COUNT)) {
    this.#counts = counts.slice()
  }

  /** Takes in bytes `fromByte` to `toByte`, the latter not included, of words that hold them least significant first. */
  count(words: Uint32Array, fromByte: number, toByte: number): void {
    for (let i = fromByte; i < toByte; i++) this.#counts[this.#ones[byteAt(words, i)]!]!++
  }

  /** The frequencies that make the code shortest, by number of ones. */
  get frequencies(): Uint16Array {
    return frequenciesFor(this.#counts)
  }

  /** Size of the whole code: off by no more than a thousandth or eight bytes. */
  get bytes(): number {
    return SMALLEST_BYTES + Math.ceil(Math.max(0, this.#costBits() - MEAN_STATE_BITS) / 8)
  }

  /** No order of the bytes makes the code longer. */
  get maxBytes(): number {
    const byteCount = this.#counts.reduce((sum, count) => sum + count, 0)
    return SMALLEST_BYTES + Math.ceil((this.#costBits() + byteCount * MOST_LOST_BITS) / 8)
  }

  #costBits(): number {
    return costBits(this.#counts, this.frequencies)
  }
}

/** Writes the code of bytes that a RansSizer has seen. */
export class RansWriter {
  readonly #out: Uint8Array
  readonly #frequencies = new Int32Array(256)
  readonly #starts = new Int32Array(256)
  #at: number
  #state = LOW

  /** The code goes into `out` from `offset` on, `size.maxBytes` of it at most. */
  constructor(size: RansSizer, out: Uint8Array, offset: number) {
    this.#out = out
    this.#at = offset
    const { frequencies } = size
    for (const frequency of frequencies) {
      out[this.#at++] = frequency >>> 8
      out[this.#at++] = frequency
    }
    const ones = onesOfBytes()
    let start = 0
    for (const byte of bytesByClass()) {
      this.#starts[byte] = start
      start += this.#frequencies[byte] = frequencies[ones[byte]!]!
    }
  }

  /** Codes bytes `toByte` - 1 down to `fromByte`. Ranges, too, are given from the last to the first. */
  write(words: Uint32Array, fromByte: number, toByte: number): void {
    const out = this.#out
    const frequencies = this.#frequencies
    const starts = this.#starts
    let x = this.#state
    let at = this.#at
    for (let i = toByte - 1; i >= fromByte; i--) {
      const byte = byteAt(words, i)
      const f = frequencies[byte]!
      if (f === 0) throw new Error('a byte has changed since it was counted')
      for (; x >= f * (HIGH / FREQUENCY_TOTAL); x >>= 8) out[at++] = x
      const quotient = (x / f) | 0
      x = (quotient << 16) + (starts[byte]! + (x - Math.imul(quotient, f)))
    }
    this.#state = x
    this.#at = at
  }

  /** Ends the code; returns the offset behind it. */
  finish(): number {
    for (let shift = 24; shift >= 0; shift -= 8) this.#out[this.#at++] = this.#state >>> shift
    assert(this.#at <= this.#out.length, 'bytes have changed since they were counted')
    return this.#at
  }
}

/** About what the code of so many bits takes where `setBitCount` of them are set at random. */
export function expectedRansBytes(setBitCount: number, bitCount: number): number {
  return new RansSizer(expectedCounts(bitCount, setBitCount / bitCount)).bytes
}

/**
 * What can be checked of a code before its bytes are read.
 * @throws {MalformedMessageError} it is too short, or its frequencies or state are none that a writer makes
 */
export function checkRansCode(code: Uint8Array): void {
  if (code.length < SMALLEST_BYTES) throw new MalformedMessageError(FORMAT, code.length, 'ends too early')
  const frequencies = frequenciesOf(code)
  let total = 0
  for (let ones = 0; ones < CLASS_COUNT; ones++) total += slotsOfClass(frequencies, ones)
  if (total !== FREQUENCY_TOTAL) throw new MalformedMessageError(FORMAT, 0, `frequencies that sum to ${total}`)
  const state = lastState(code)
  if (state < LOW || state >= HIGH) {
    throw new MalformedMessageError(FORMAT, code.length - STATE_BYTES, `state ${state} out of range`)
  }
}

/**
 * Reads the bytes back a slice at a time. It yields exactly `byteCount` bytes from exactly the code's bytes, or throws;
 * what it allocates does not depend on either.
 */
export class RansDecoder {
  readonly #code: Uint8Array
  readonly #bytesByClass = bytesByClass()
  readonly #frequencies: Uint16Array
  /** Where the slots of each class start, and at the end where the last one ends. */
  readonly #starts = new Int32Array(CLASS_COUNT + 1)
  readonly #bytesBefore = new Uint8Array(CLASS_COUNT)
  /** The class of the first of each 256 slots: where the search begins. */
  readonly #firstClass = new Uint8Array(FREQUENCY_TOTAL / 256)
  #left: number
  #at: number
  #state: number

  /** @throws {MalformedMessageError} as `checkRansCode` does */
  constructor(code: Uint8Array, byteCount: number) {
    checkRansCode(code)
    this.#code = code
    this.#left = byteCount
    this.#at = code.length - STATE_BYTES
    this.#state = lastState(code)
    this.#frequencies = frequenciesOf(code)
    for (let ones = 0; ones < CLASS_COUNT; ones++) {
      this.#bytesBefore[ones] = bytesBefore(ones)
      this.#starts[ones + 1] = this.#starts[ones]! + slotsOfClass(this.#frequencies, ones)
    }
    for (let i = 0, ones = 0; i < this.#firstClass.length; i++) {
      while (i * 256 >= this.#starts[ones + 1]!) ones++
      this.#firstClass[i] = ones
    }
  }

  /** Bytes not yet read. */
  get left(): number {
    return this.#left
  }

  /**
   * Puts up to `max` further bytes into `out` and returns how many: 0 once all were read.
   * @throws {MalformedMessageError} the code ends too early, too late or not in the state that a writer starts from
   */
  next(out: Uint8Array, max: number): number {
    const count = Math.min(max, this.#left)
    const code = this.#code
    const firstClass = this.#firstClass
    const starts = this.#starts
    const frequencies = this.#frequencies
    const before = this.#bytesBefore
    const bytes = this.#bytesByClass
    let x = this.#state
    let at = this.#at
    for (let i = 0; i < count; i++) {
      const slot = x & (FREQUENCY_TOTAL - 1)
      let ones = firstClass[slot >>> 8]!
      while (slot >= starts[ones + 1]!) ones++
      const f = frequencies[ones]!
      const within = slot - starts[ones]!
      const index = (within / f) | 0
      out[i] = bytes[before[ones]! + index]!
      x = Math.imul(f, x >>> 16) + (within - Math.imul(index, f))
      while (x < LOW) {
        if (at === HEADER_BYTES) throw this.#malformed('ends too early', at)
        x = (x << 8) | code[--at]!
      }
    }
    this.#state = x
    this.#at = at
    this.#left -= count
    if (this.#left === 0) this.#checkEnd()
    return count
  }

  #checkEnd(): void {
    if (this.#at !== HEADER_BYTES) throw this.#malformed('bytes that are not used', HEADER_BYTES)
    if (this.#state !== LOW) throw this.#malformed(`ends in state ${this.#state}`, HEADER_BYTES)
  }

  #malformed(problem: string, at: number): MalformedMessageError {
    return new MalformedMessageError(FORMAT, at, problem)
  }
}

function byteAt(words: Uint32Array, index: number): number {
  return (words[index >>> 2]! >>> ((index & 3) << 3)) & 0xff
}

function frequenciesOf(code: Uint8Array): Uint16Array {
  return Uint16Array.from({ length: CLASS_COUNT }, (_, ones) => (code[2 * ones]! << 8) | code[2 * ones + 1]!)
}

function lastState(code: Uint8Array): number {
  const { buffer, byteOffset, length } = code
  return new DataView(buffer, byteOffset, length).getUint32(length - STATE_BYTES)
}
