import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import { murmur3 } from '../../../src/core/filter/murmur3.ts'
import { probePositions, probeSequence } from '../../../src/core/filter/probing.ts'
import { keyOf, keyOfBytes } from './test-keys.ts'

/** MurmurHash3 x86_128 as its reference reads, in integers without a word size. */
function dullMurmur(bytes: Uint8Array, seed: bigint): bigint[] {
  const u32 = (x: bigint): bigint => x & 0xffffffffn
  const rotl = (x: bigint, r: bigint): bigint => u32((x << r) | (x >> (32n - r)))
  const [c1, c2, c3, c4] = [0x239b961bn, 0xab0e9789n, 0x38b34ae5n, 0xa1e38b93n]
  const lanes = [
    { first: c1, turn: 15n, second: c2, rot: 19n, plus: 0x561ccd1bn },
    { first: c2, turn: 16n, second: c3, rot: 17n, plus: 0x0bcaa747n },
    { first: c3, turn: 17n, second: c4, rot: 15n, plus: 0x96cd1c35n },
    { first: c4, turn: 18n, second: c1, rot: 13n, plus: 0x32ac3b17n },
  ]
  const h = [seed, seed, seed, seed]
  for (let at = 0; at < bytes.length; at += 16) {
    const whole = at + 16 <= bytes.length
    for (const [i, lane] of lanes.entries()) {
      let k = 0n
      for (let j = 0; j < 4; j++) k |= BigInt(bytes[at + 4 * i + j] ?? 0) << BigInt(8 * j)
      h[i]! ^= u32(rotl(u32(k * lane.first), lane.turn) * lane.second)
      if (whole) h[i] = u32(u32(rotl(h[i]!, lane.rot) + h[(i + 1) % 4]!) * 5n + lane.plus)
    }
  }
  const spread = (): void => {
    h[0] = u32(h[0]! + h[1]! + h[2]! + h[3]!)
    for (let i = 1; i < 4; i++) h[i] = u32(h[i]! + h[0])
  }
  for (let i = 0; i < 4; i++) h[i]! ^= BigInt(bytes.length)
  spread()
  for (let i = 0; i < 4; i++) {
    let k = h[i]!
    k = u32((k ^ (k >> 16n)) * 0x85ebca6bn)
    k = u32((k ^ (k >> 13n)) * 0xc2b2ae35n)
    h[i] = k ^ (k >> 16n)
  }
  spread()
  return h
}

function hex(bytes: Uint8Array): string {
  const out = new Uint32Array(4)
  murmur3(new DataView(bytes.buffer), 0, bytes.length, out)
  return Array.from(out, (word) => word.toString(16).padStart(8, '0')).join('')
}

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text)
const counting = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => i)

describe('hash scheme 1', () => {
  test('the dull reference meets the verification value of MurmurHash3 x86_128 (SMHasher)', () => {
    const digests = new DataView(new ArrayBuffer(256 * 16))
    for (let length = 0; length < 256; length++) {
      const words = dullMurmur(counting(length), BigInt(256 - length))
      for (const [i, word] of words.entries()) digests.setUint32(length * 16 + i * 4, Number(word), true)
    }
    expect(dullMurmur(new Uint8Array(digests.buffer), 0n)[0]).toBe(0xb3ece62an)
  })

  test.each([
    ['', '00000000000000000000000000000000'],
    ["I will not buy this tobacconist's, it is scratched.", '9b5b7ba2ef3f7866889adeaf00f3f98e'],
  ])('%j hashes as published', (text, expected) => {
    expect(hex(ascii(text))).toBe(expected)
  })

  test('bytes 0 to 255 hash as published', () => {
    expect(hex(counting(256))).toBe('2c56c88fdb4503dfd352b21a494ca2c0')
  })

  test('every byte string hashes as by the reference', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
        const out = new Uint32Array(4)
        murmur3(new DataView(bytes.buffer), 0, bytes.length, out)
        expect(Array.from(out, BigInt)).toEqual(dullMurmur(bytes, 0n))
      }),
    )
  })

  test('bytes behind the key do not enter', () => {
    for (let length = 0; length <= 40; length++) {
      const key = counting(length)
      const buffer = new Uint8Array(64).fill(0xff)
      buffer.set(key)
      const out = new Uint32Array(4)
      murmur3(new DataView(buffer.buffer), 0, length, out)
      expect(out).toEqual(Uint32Array.from(dullMurmur(key, 0n), Number))
    }
  })

  // armon/bloomd#35, Callidon/bloom-filters#9
  test('keys with odd bytes are all different keys', () => {
    const latin1 = (text: string): Uint8Array => Uint8Array.from(text, (c) => c.charCodeAt(0))
    const site = 'http://www.example.com/'
    const texts = [
      '',
      `${site}a\nb`,
      `${site}a`,
      'b',
      `${site}\0`,
      `${site}\u00c3\u00a9`,
      `${site}\u00e9`,
      `${site}%C3%A9`,
    ]
    texts.push(`${site}${'x'.repeat(65000)}`, `${site}${'x'.repeat(65001)}`)
    expect(new Set(texts.map((text) => hex(latin1(text)))).size).toBe(texts.length)
  })

  test('hash words with leading zero bytes keep their value', () => {
    let found = 0
    for (let n = 0; found < 3; n++) {
      const bytes = ascii(`http://www.example.com/${n}`)
      const key = keyOfBytes(bytes)
      if (key.h0 >= 0x10000) continue
      found++
      expect([key.h0, key.h1, key.h2, key.h3].map(BigInt)).toEqual(dullMurmur(bytes, 0n))
    }
  })
})

describe('probes', () => {
  test('are h0 + i s + (i^3 - i)/6 modulo m with s = h1 made odd', () => {
    const word = fc.integer({ min: 0, max: 0xffffffff })
    fc.assert(
      fc.property(word, word, fc.integer({ min: 6, max: 31 }), fc.integer({ min: 1, max: 16 }), (h0, h1, log, k) => {
        const m = 2n ** BigInt(log)
        const out = new Uint32Array(16)
        const geometry = { ...geometryFor(1), bitCount: 2 ** log, probeCount: k }
        probePositions({ h0, h1, h2: 0, h3: 0 }, geometry, out)
        for (let i = 0n; i < BigInt(k); i++) {
          const step = BigInt(h1) | 1n
          expect(BigInt(out[Number(i)]!)).toBe((BigInt(h0) + i * step + (i ** 3n - i) / 6n) % m)
        }
      }),
    )
  })

  test('of one key serve filters of every size when cut to it', () => {
    const key = keyOf('http://www.example.com/')
    const probes = new Uint32Array(16)
    const positions = new Uint32Array(16)
    probeSequence(key, 16, probes)
    for (let bitCount = 64; bitCount <= 2 ** 31; bitCount *= 2) {
      probePositions(key, { ...geometryFor(1), bitCount, probeCount: 16 }, positions)
      expect(positions).toEqual(probes.map((probe) => probe & (bitCount - 1)))
    }
  })

  test('of a key whose second word is 0 do not all fall on one bit', () => {
    const positions = new Uint32Array(4)
    probePositions({ h0: 5, h1: 0, h2: 0, h3: 0 }, geometryFor(1000), positions)
    expect(new Set(positions).size).toBe(4)
  })

  test('of a key and its mirror image do not all meet, as those of plain double hashing do', () => {
    const geometry = geometryFor(100_000)
    const mask = geometry.bitCount - 1
    const [h0, h1] = [12_345, 67_891]
    const [there, back] = [new Uint32Array(4), new Uint32Array(4)]
    probePositions({ h0, h1, h2: 0, h3: 0 }, geometry, there)
    probePositions({ h0: (h0 + 3 * h1) & mask, h1: -h1 >>> 0, h2: 0, h3: 0 }, geometry, back)
    expect(there.filter((position) => back.includes(position)).length).toBeLessThan(4)
  })
})
