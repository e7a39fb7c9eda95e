/**
 * SipHash-2-4 with 128 bits of output (Aumasson, Bernstein 2012, and their reference implementation): made for keys, so
 * that whoever lacks the secret can neither predict a hash nor find keys that collide. Allocates nothing.
 *
 * @param secret the 16 bytes of the secret as four words, least significant byte first
 * @param out four words of the output, least significant byte first
 * @throws {RangeError} the range lies outside the view
 */
export function sipHash128(
  secret: Uint32Array,
  view: DataView,
  start: number,
  end: number,
  out: Uint32Array | Int32Array,
): void {
  // The 64-bit words v0 to v3 of the paper as halves, l the lower. Local, since memory would take six times as long.
  // "somepseudorandomlygeneratedbytes"; 0xee marks the longer output.
  let l0 = 0x70736575 ^ secret[0]!
  let h0 = 0x736f6d65 ^ secret[1]!
  let l1 = 0x6e646f6d ^ 0xee ^ secret[2]!
  let h1 = 0x646f7261 ^ secret[3]!
  let l2 = 0x6e657261 ^ secret[0]!
  let h2 = 0x6c796765 ^ secret[1]!
  let l3 = 0x79746573 ^ secret[2]!
  let h3 = 0x74656462 ^ secret[3]!

  const length = end - start
  const bodyEnd = end - (length & 7)
  const tailStep = (bodyEnd - start) / 8
  // A step for each word of the message, and one for each half of the output: the round stands here only once.
  for (let step = 0; step <= tailStep + 2; step++) {
    let low = 0
    let high = 0
    if (step < tailStep) {
      low = view.getInt32(start + 8 * step, true)
      high = view.getInt32(start + 8 * step + 4, true)
    } else if (step === tailStep) {
      high = length << 24
      for (let i = 0; bodyEnd + i < end; i++) {
        const byte = view.getUint8(bodyEnd + i)
        if (i < 4) low |= byte << (8 * i)
        else high |= byte << (8 * (i - 4))
      }
    } else if (step === tailStep + 1) {
      l2 ^= 0xee
    } else {
      out[0] = l0 ^ l1 ^ l2 ^ l3
      out[1] = h0 ^ h1 ^ h2 ^ h3
      l1 ^= 0xdd
    }

    l3 ^= low
    h3 ^= high
    for (let rounds = step <= tailStep ? 2 : 4; rounds > 0; rounds--) {
      let sum = (l0 + l1) | 0
      h0 = (h0 + h1 + carry(l0, l1, sum)) | 0
      l0 = sum
      sum = (l2 + l3) | 0
      h2 = (h2 + h3 + carry(l2, l3, sum)) | 0
      l2 = sum
      let turned = (l1 << 13) | (h1 >>> 19)
      h1 = ((h1 << 13) | (l1 >>> 19)) ^ h0
      l1 = turned ^ l0
      turned = (l3 << 16) | (h3 >>> 16)
      h3 = ((h3 << 16) | (l3 >>> 16)) ^ h2
      l3 = turned ^ l2

      // v0 turns by 32 bits here: its halves are added crosswise.
      sum = (h0 + l3) | 0
      h0 = (l0 + h3 + carry(h0, l3, sum)) | 0
      l0 = sum
      sum = (l2 + l1) | 0
      h2 = (h2 + h1 + carry(l2, l1, sum)) | 0
      l2 = sum
      turned = (l3 << 21) | (h3 >>> 11)
      h3 = ((h3 << 21) | (l3 >>> 11)) ^ h0
      l3 = turned ^ l0
      turned = (l1 << 17) | (h1 >>> 15)
      h1 = ((h1 << 17) | (l1 >>> 15)) ^ h2
      l1 = turned ^ l2
      // And v2.
      sum = l2
      l2 = h2
      h2 = sum
    }
    l0 ^= low
    h0 ^= high
  }
  out[2] = l0 ^ l1 ^ l2 ^ l3
  out[3] = h0 ^ h1 ^ h2 ^ h3
}

/** The bit that the sum of two words has lost. A comparison of unsigned words would take three times as long. */
function carry(a: number, b: number, sum: number): number {
  return ((a & b) | ((a | b) & ~sum)) >>> 31
}
