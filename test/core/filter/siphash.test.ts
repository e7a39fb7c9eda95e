import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sipHash128 } from '../../../src/core/filter/siphash.ts'

const M64 = 0xffff_ffff_ffff_ffffn

/** SipHash-2-4-128 as its reference reads, in integers without a word size. */
function dullSipHash(key: Uint8Array, bytes: Uint8Array): string {
  const read = (from: Uint8Array, at: number, count = 8): bigint => {
    let value = 0n
    for (let i = 0; i < count; i++) value |= BigInt(from[at + i]!) << BigInt(8 * i)
    return value
  }
  const rotl = (x: bigint, b: bigint): bigint => ((x << b) | (x >> (64n - b))) & M64
  const [k0, k1] = [read(key, 0), read(key, 8)]
  let v0 = 0x736f6d6570736575n ^ k0
  let v1 = 0x646f72616e646f6dn ^ k1 ^ 0xeen
  let v2 = 0x6c7967656e657261n ^ k0
  let v3 = 0x7465646279746573n ^ k1
  const rounds = (count: number): void => {
    for (let i = 0; i < count; i++) {
      v0 = (v0 + v1) & M64
      v1 = rotl(v1, 13n) ^ v0
      v0 = rotl(v0, 32n)
      v2 = (v2 + v3) & M64
      v3 = rotl(v3, 16n) ^ v2
      v0 = (v0 + v3) & M64
      v3 = rotl(v3, 21n) ^ v0
      v2 = (v2 + v1) & M64
      v1 = rotl(v1, 17n) ^ v2
      v2 = rotl(v2, 32n)
    }
  }
  const whole = Math.floor(bytes.length / 8)
  for (let i = 0; i <= whole; i++) {
    const last = i === whole
    const m = last ? read(bytes, 8 * i, bytes.length % 8) | (BigInt(bytes.length % 256) << 56n) : read(bytes, 8 * i)
    v3 ^= m
    rounds(2)
    v0 ^= m
  }
  v2 ^= 0xeen
  rounds(4)
  const first = v0 ^ v1 ^ v2 ^ v3
  v1 ^= 0xddn
  rounds(4)
  const bigEndian = (first << 64n) | (v0 ^ v1 ^ v2 ^ v3)
  const text = bigEndian.toString(16).padStart(32, '0')
  // Least significant byte first, in each half.
  const swapped = (half: string): string => half.match(/../g)!.toReversed().join('')
  return swapped(text.slice(0, 16)) + swapped(text.slice(16))
}

const counting = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => i)

function hex(key: Uint8Array, bytes: Uint8Array): string {
  const secret = Uint32Array.from({ length: 4 }, (_, i) => new DataView(key.buffer).getUint32(4 * i, true))
  const out = new Uint32Array(4)
  sipHash128(secret, new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0, bytes.length, out)
  const view = new DataView(new ArrayBuffer(16))
  for (let i = 0; i < 4; i++) view.setUint32(4 * i, out[i]!, true)
  return Buffer.from(view.buffer).toString('hex')
}

describe('SipHash-2-4-128', () => {
  // The reference's vectors_sip128: key 00 01 ... 0f, input 00 01 ... of that length.
  test.each([
    [0, 'a3817f04ba25a8e66df67214c7550293'],
    [1, 'da87c1d86b99af44347659119b22fc45'],
    [2, '8177228da4a45dc7fca38bdef60affe4'],
    [3, '9c70b60c5267a94e5f33b6b02985ed51'],
    [7, 'a1f1ebbed8dbc153c0b84aa61ff08239'],
    [8, '3b62a9ba6258f5610f83e264f31497b4'],
    [9, '264499060ad9baabc47f8b02bb6d71ed'],
    [15, '5493e99933b0a8117e08ec0f97cfc3d9'],
    [16, '6ee2a4ca67b054bbfd3315bf85230577'],
    [17, '473d06e8738db89854c066c47ae47740'],
    [31, '2939b0183223fafc1723de4f52c43d35'],
    [32, '7c3956ca5eeafc3e363e9d556546eb68'],
    [63, '5150d1772f50834a503e069a973fbd7c'],
  ])('of %d bytes is as published', (length, expected) => {
    expect(hex(counting(16), counting(length))).toBe(expected)
  })

  test('of any bytes under any secret is as by the dull reference', () => {
    const key = fc.uint8Array({ minLength: 16, maxLength: 16 })
    fc.assert(
      fc.property(key, fc.uint8Array({ maxLength: 80 }), (secret, bytes) => {
        expect(hex(secret, bytes)).toBe(dullSipHash(secret, bytes))
      }),
    )
    for (let length = 0; length <= 80; length++) {
      expect(hex(counting(16), counting(length))).toBe(dullSipHash(counting(16), counting(length)))
    }
    expect(hex(counting(16), counting(300))).toBe(dullSipHash(counting(16), counting(300)))
  })

  test('under another secret is another', () => {
    expect(hex(new Uint8Array(16), counting(20))).not.toBe(hex(counting(16), counting(20)))
  })
})
