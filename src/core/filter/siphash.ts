// 64-bit words as pairs of 32-bit halves. Written and read within one call, which nothing interrupts.
const lo = new Int32Array(4)
const hi = new Int32Array(4)

/**
 * SipHash-2-4 with 128 bits of output (Aumasson, Bernstein 2012, and their reference implementation): made for keys, so
 * that whoever lacks the secret can neither predict a hash nor find keys that collide. Allocates nothing.
 *
 * @param secret the 16 bytes of the secret as four words, least significant byte first
 * @param out four words of the output, least significant byte first
 * @throws {RangeError} the range lies outside the view
 */
export function sipHash128(secret: Uint32Array, view: DataView, start: number, end: number, out: Uint32Array): void {
  // "somepseudorandomlygeneratedbytes"; 0xee marks the longer output.
  load(0, 0x736f6d65 ^ secret[1]!, 0x70736575 ^ secret[0]!)
  load(1, 0x646f7261 ^ secret[3]!, 0x6e646f6d ^ 0xee ^ secret[2]!)
  load(2, 0x6c796765 ^ secret[1]!, 0x6e657261 ^ secret[0]!)
  load(3, 0x74656462 ^ secret[3]!, 0x79746573 ^ secret[2]!)

  const length = end - start
  const bodyEnd = end - (length & 7)
  let at = start
  for (; at < bodyEnd; at += 8) compress(view.getInt32(at + 4, true), view.getInt32(at, true))
  let high = length << 24
  let low = 0
  for (let i = 0; at + i < end; i++) {
    if (i < 4) low |= view.getUint8(at + i) << (8 * i)
    else high |= view.getUint8(at + i) << (8 * (i - 4))
  }
  compress(high, low)

  lo[2]! ^= 0xee
  for (let i = 0; i < 4; i++) round()
  out[0] = lo[0]! ^ lo[1]! ^ lo[2]! ^ lo[3]!
  out[1] = hi[0]! ^ hi[1]! ^ hi[2]! ^ hi[3]!
  lo[1]! ^= 0xdd
  for (let i = 0; i < 4; i++) round()
  out[2] = lo[0]! ^ lo[1]! ^ lo[2]! ^ lo[3]!
  out[3] = hi[0]! ^ hi[1]! ^ hi[2]! ^ hi[3]!
}

function load(index: number, high: number, low: number): void {
  hi[index] = high
  lo[index] = low
}

function compress(high: number, low: number): void {
  hi[3]! ^= high
  lo[3]! ^= low
  round()
  round()
  hi[0]! ^= high
  lo[0]! ^= low
}

function round(): void {
  add(0, 1)
  rotate(1, 13)
  mix(1, 0)
  rotate(0, 32)
  add(2, 3)
  rotate(3, 16)
  mix(3, 2)
  add(0, 3)
  rotate(3, 21)
  mix(3, 0)
  add(2, 1)
  rotate(1, 17)
  mix(1, 2)
  rotate(2, 32)
}

function add(to: number, from: number): void {
  const low = (lo[to]! >>> 0) + (lo[from]! >>> 0)
  hi[to] = hi[to]! + hi[from]! + (low > 0xffffffff ? 1 : 0)
  lo[to] = low
}

function mix(to: number, from: number): void {
  hi[to]! ^= hi[from]!
  lo[to]! ^= lo[from]!
}

function rotate(index: number, by: number): void {
  const high = hi[index]!
  const low = lo[index]!
  if (by === 32) {
    hi[index] = low
    lo[index] = high
  } else {
    hi[index] = (high << by) | (low >>> (32 - by))
    lo[index] = (low << by) | (high >>> (32 - by))
  }
}
