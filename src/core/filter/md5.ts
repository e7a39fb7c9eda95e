// MD5 (RFC 1321), for what Summary Cache and Squid hash with it; it withstands nobody today. Our own, since this folder
// also runs where there is no node:crypto, which moreover takes a microsecond to hand a hash over.

const BLOCK_BYTES = 64
const LENGTH_BYTES = 8
// RFC 1321, 3.4: rotations of each round, and floor(2^32 abs(sin(i + 1))).
const ROTATIONS = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
] as const
const SHIFTS = Uint8Array.from(
  { length: 64 },
  (_, i) => ROTATIONS[(i >>> 4) as 0 | 1 | 2 | 3][(i & 3) as 0 | 1 | 2 | 3],
)
const SINES = Int32Array.from({ length: 64 }, (_, i) => Math.floor(2 ** 32 * Math.abs(Math.sin(i + 1))))

// Filled and read within one call, which nothing interrupts.
const block = new DataView(new ArrayBuffer(BLOCK_BYTES))
const words = new Int32Array(16)
const state = new Int32Array(4)

/**
 * MD5 of the bytes `start` to `end`, the latter not included, taken `repeats` times one after the other: Summary Cache gets
 * further bits by hashing the URL concatenated with itself. Allocates nothing.
 *
 * @param out four words of the digest, most significant byte first, as Squid takes them
 * @throws {RangeError} the range lies outside the view
 */
export function md5(view: DataView, start: number, end: number, repeats: number, out: Uint32Array | Int32Array): void {
  state[0] = 0x67452301
  state[1] = 0xefcdab89
  state[2] = 0x98badcfe
  state[3] = 0x10325476
  let used = 0
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (let at = start; at < end; at++) {
      block.setUint8(used++, view.getUint8(at))
      if (used === BLOCK_BYTES) {
        digestBlock()
        used = 0
      }
    }
  }
  block.setUint8(used++, 0x80)
  if (used > BLOCK_BYTES - LENGTH_BYTES) {
    zeroFrom(used)
    digestBlock()
    used = 0
  }
  zeroFrom(used)
  const byteCount = (end - start) * repeats
  block.setUint32(BLOCK_BYTES - LENGTH_BYTES, byteCount << 3, true)
  block.setUint32(BLOCK_BYTES - LENGTH_BYTES + 4, Math.floor(byteCount / 2 ** 29), true)
  digestBlock()
  for (let i = 0; i < 4; i++) out[i] = reversed(state[i]!)
}

function digestBlock(): void {
  for (let i = 0; i < 16; i++) words[i] = block.getInt32(4 * i, true)
  let a = state[0]!
  let b = state[1]!
  let c = state[2]!
  let d = state[3]!
  for (let i = 0; i < 64; i++) {
    let mixed: number
    let index: number
    if (i < 16) {
      mixed = d ^ (b & (c ^ d))
      index = i
    } else if (i < 32) {
      mixed = c ^ (d & (b ^ c))
      index = (5 * i + 1) & 15
    } else if (i < 48) {
      mixed = b ^ c ^ d
      index = (3 * i + 5) & 15
    } else {
      mixed = c ^ (b | ~d)
      index = (7 * i) & 15
    }
    const sum = (a + mixed + SINES[i]! + words[index]!) | 0
    const shift = SHIFTS[i]!
    a = d
    d = c
    c = b
    b = (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0
  }
  state[0]! += a
  state[1]! += b
  state[2]! += c
  state[3]! += d
}

function zeroFrom(byte: number): void {
  for (let i = byte; i < BLOCK_BYTES; i++) block.setUint8(i, 0)
}

function reversed(word: number): number {
  return ((word & 0xff) << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)
}
