// MurmurHash3 x86_128 (Appleby, public domain), seed 0: a word at a time by Math.imul. For single keys WebAssembly is no
// quicker, even where the key lies in its memory.

const C1 = 0x239b961b
const C2 = 0xab0e9789
const C3 = 0x38b34ae5
const C4 = 0xa1e38b93

/**
 * Hashes the bytes `start` to `end`, the latter not included, where they lie. Allocates nothing.
 *
 * @param out four words: h0 to h3 of a KeyHash
 * @throws {RangeError} the range lies outside the view
 */
export function murmur3(view: DataView, start: number, end: number, out: Uint32Array | Int32Array): void {
  const length = end - start
  let h1 = 0
  let h2 = 0
  let h3 = 0
  let h4 = 0
  const bodyEnd = end - (length & 15)
  let at = start
  for (; at < bodyEnd; at += 16) {
    h1 ^= Math.imul(rotate(Math.imul(view.getInt32(at, true), C1), 15), C2)
    h1 = (Math.imul(rotate(h1, 19) + h2, 5) + 0x561ccd1b) | 0
    h2 ^= Math.imul(rotate(Math.imul(view.getInt32(at + 4, true), C2), 16), C3)
    h2 = (Math.imul(rotate(h2, 17) + h3, 5) + 0x0bcaa747) | 0
    h3 ^= Math.imul(rotate(Math.imul(view.getInt32(at + 8, true), C3), 17), C4)
    h3 = (Math.imul(rotate(h3, 15) + h4, 5) + 0x96cd1c35) | 0
    h4 ^= Math.imul(rotate(Math.imul(view.getInt32(at + 12, true), C4), 18), C1)
    h4 = (Math.imul(rotate(h4, 13) + h1, 5) + 0x32ac3b17) | 0
  }

  // A word without bytes is 0 and mixes to 0, so the tail needs no cases.
  h1 ^= Math.imul(rotate(Math.imul(lastWord(view, at, end), C1), 15), C2)
  h2 ^= Math.imul(rotate(Math.imul(lastWord(view, at + 4, end), C2), 16), C3)
  h3 ^= Math.imul(rotate(Math.imul(lastWord(view, at + 8, end), C3), 17), C4)
  h4 ^= Math.imul(rotate(Math.imul(lastWord(view, at + 12, end), C4), 18), C1)

  h1 ^= length
  h2 ^= length
  h3 ^= length
  h4 ^= length
  h1 = (h1 + h2 + h3 + h4) | 0
  h2 = (h2 + h1) | 0
  h3 = (h3 + h1) | 0
  h4 = (h4 + h1) | 0
  h1 = mix32(h1)
  h2 = mix32(h2)
  h3 = mix32(h3)
  h4 = mix32(h4)
  h1 = (h1 + h2 + h3 + h4) | 0
  out[0] = h1
  out[1] = h2 + h1
  out[2] = h3 + h1
  out[3] = h4 + h1
}

/** The up to four bytes before `end`; 0 when there are none. */
function lastWord(view: DataView, at: number, end: number): number {
  switch (end - at) {
    case 1:
      return view.getUint8(at)
    case 2:
      return view.getUint16(at, true)
    case 3:
      return view.getUint16(at, true) | (view.getUint8(at + 2) << 16)
    default:
      return at < end ? view.getInt32(at, true) : 0
  }
}

function rotate(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by))
}

/** The finalizer of MurmurHash3: a bijection in which every bit of the input reaches every bit of the result. */
export function mix32(value: number): number {
  let h = value
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
