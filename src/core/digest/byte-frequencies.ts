import assert from 'node:assert'

// The model behind the coded form of a digest: all bytes with the same number of ones share one frequency. Hashed bits
// are independent, so that the number of ones is all that a byte's probability depends on.

/** Each number of ones that a byte can have, 0 to 8, is a class. */
export const CLASS_COUNT = 9
/** What the frequencies of all 256 bytes sum to. */
export const FREQUENCY_TOTAL = 2 ** 16

const CLASS_BYTES: readonly number[] = [1, 8, 28, 56, 70, 56, 28, 8, 1]
// As it travels in 16 bits; where all bytes are alike, the one left goes to a byte that does not occur.
const MAX_FREQUENCY = FREQUENCY_TOTAL - 1

/** The ones in each byte. */
export function onesOfBytes(): Uint8Array {
  const ones = new Uint8Array(256)
  for (let byte = 1; byte < 256; byte++) ones[byte] = ones[byte >> 1]! + (byte & 1)
  return ones
}

/** All bytes in the order that the code gives them: by the number of their ones, then by value. */
export function bytesByClass(): Uint8Array {
  const ones = onesOfBytes()
  return Uint8Array.from(ones.keys()).sort((a, b) => ones[a]! - ones[b]! || a - b)
}

/** How many bytes come before those of a class in that order. */
export function bytesBefore(ones: number): number {
  return CLASS_BYTES.slice(0, ones).reduce((sum, bytes) => sum + bytes, 0)
}

/** The slots of `FREQUENCY_TOTAL` that all bytes of a class have together. */
export function slotsOfClass(frequencies: Uint16Array, ones: number): number {
  return CLASS_BYTES[ones]! * frequencies[ones]!
}

/**
 * The frequency that a byte of each class gets where `counts` bytes of each occur: at least 1 where any does, and for
 * all 256 bytes together exactly `FREQUENCY_TOTAL`. The shares are rounded down first; what that leaves, or what the
 * ones that had to be 1 have taken too much, then goes where a slot is worth most, or least.
 */
export function frequenciesFor(counts: Float64Array): Uint16Array {
  const total = counts.reduce((sum, count) => sum + count, 0)
  const frequencies = new Uint16Array(CLASS_COUNT)
  let left = FREQUENCY_TOTAL
  for (const [ones, count] of counts.entries()) {
    if (count === 0) continue
    const share = Math.floor((FREQUENCY_TOTAL * count) / (total * CLASS_BYTES[ones]!))
    frequencies[ones] = Math.min(MAX_FREQUENCY, Math.max(1, share))
    left -= slotsOfClass(frequencies, ones)
  }
  // The saving by one more is log((f + 1) / f), very nearly 1 / (f + 1/2), for each of `count` bytes.
  const worth = (ones: number, middle: number): number => counts[ones]! / (CLASS_BYTES[ones]! * middle)
  while (left < 0) {
    let least = -1
    for (let ones = 0; ones < CLASS_COUNT; ones++) {
      const f = frequencies[ones]!
      if (f > 1 && (least < 0 || worth(ones, f - 0.5) < worth(least, frequencies[least]! - 0.5))) least = ones
    }
    frequencies[least]!--
    left += CLASS_BYTES[least]!
  }
  while (left > 0) {
    let most = -1
    for (let ones = 0; ones < CLASS_COUNT; ones++) {
      const f = frequencies[ones]!
      if (CLASS_BYTES[ones]! > left || f === MAX_FREQUENCY) continue
      if (most < 0 || worth(ones, f + 0.5) > worth(most, frequencies[most]! + 0.5)) most = ones
    }
    frequencies[most]!++
    left -= CLASS_BYTES[most]!
  }
  return frequencies
}

/** The cross entropy of `counts` bytes of each class under those frequencies, in bits. */
export function costBits(counts: Float64Array, frequencies: Uint16Array): number {
  let bits = 0
  for (const [ones, count] of counts.entries()) {
    if (count === 0) continue
    assert(frequencies[ones]! > 0, 'a byte that occurs has a frequency')
    bits += count * Math.log2(FREQUENCY_TOTAL / frequencies[ones]!)
  }
  return bits
}

/** How many bytes of each class to expect where `bitCount` bits are set at random with that density. */
export function expectedCounts(bitCount: number, density: number): Float64Array {
  const counts = new Float64Array(CLASS_COUNT)
  for (const [ones, bytes] of CLASS_BYTES.entries()) {
    counts[ones] = Math.round((bitCount / 8) * bytes * density ** ones * (1 - density) ** (8 - ones))
  }
  return counts
}
