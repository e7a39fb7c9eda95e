import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KeyHashList } from '../../../src/core/filter/key-hash-list.ts'
import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { KeyHasher } from '../../../src/core/filter/key-hasher.ts'
import { murmur3 } from '../../../src/core/filter/murmur3.ts'
import { probePositions, scaleTo } from '../../../src/core/filter/probing.ts'

const secret = Uint8Array.from({ length: 16 }, (_, i) => i)
const hashers = [KeyHasher.murmur3(), KeyHasher.md5(16), KeyHasher.siphash(secret, 1)]
const wordsOf = ({ h0, h1, h2, h3 }: KeyHash): number[] => [h0 >>> 0, h1 >>> 0, h2 >>> 0, h3 >>> 0]

describe('a hasher', () => {
  test.each(hashers)('gives bytes one hash, wherever they lie and whoever hands them over (scheme %#)', (hasher) => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), fc.nat(9), (bytes, offset) => {
        const alone = wordsOf(hasher.hashBytes(bytes))
        const buffer = new Uint8Array(offset + bytes.length + 5).fill(0xaa)
        buffer.set(bytes, offset)
        expect(wordsOf(hasher.hash(new DataView(buffer.buffer), offset, offset + bytes.length))).toEqual(alone)
        expect(wordsOf(hasher.hash(new DataView(buffer.buffer, offset, bytes.length)))).toEqual(alone)
      }),
    )
  })

  test('hashes a text\u2019s UTF-8 bytes, and a longer one after a shorter', () => {
    const [hasher] = hashers
    for (const text of ['', 'a', 'h\u00e9', '\u{1f600}', 'x'.repeat(70_000), 'b']) {
      expect(wordsOf(hasher!.hashText(text))).toEqual(
        wordsOf(KeyHasher.murmur3().hashBytes(new TextEncoder().encode(text))),
      )
    }
  })

  // armon/bloomd#35, Callidon/bloom-filters#9
  test.each(hashers)('tells keys with odd bytes apart (scheme %#)', (hasher) => {
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
    texts.push(`${site}${'x'.repeat(65_000)}`, `${site}${'x'.repeat(65_001)}`)
    const latin1 = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0))
    expect(new Set(texts.map((text) => wordsOf(hasher.hashBytes(latin1(text))).join())).size).toBe(texts.length)
  })

  test('keeps no hash: the next one takes its place', () => {
    const hasher = KeyHasher.murmur3()
    const first = hasher.hashText('a')
    const words = wordsOf(first)
    const kept = new KeyHashList()
    kept.push(first)
    expect(hasher.hashText('b')).toBe(first)
    expect(wordsOf(first)).not.toEqual(words)
    expect(wordsOf(kept.at(0))).toEqual(words)
  })

  test('refuses a range outside the view', () => {
    for (const hasher of hashers)
      expect(() => hasher.hash(new DataView(new ArrayBuffer(20)), 4, 30)).toThrow(RangeError)
  })
})

describe('MD5 as in Summary Cache', () => {
  test('gives probes five to eight from the URL concatenated with itself, the next from three of it', () => {
    const url = 'http://www.example.com/index.html'
    const digest = (repeats: number): number[] => {
      const bytes = createHash('md5').update(url.repeat(repeats)).digest()
      return [0, 4, 8, 12].map((at) => bytes.readUInt32BE(at))
    }
    const expected = [1, 2, 3].flatMap(digest).slice(0, 11)
    for (const bitCount of [524_288, 1_000_003, 7]) {
      const positions = new Uint32Array(11)
      const key = KeyHasher.md5(11).hashText(url)
      probePositions(key, { hashScheme: 2, keyId: 0, keyRules: 0, bitCount, probeCount: 11 }, positions)
      expect([...positions]).toEqual(expected.map((word) => word % bitCount))
    }
  })

  test('has no more probes than were asked of the hasher', () => {
    const geometry = { hashScheme: 2, keyId: 0, keyRules: 0, bitCount: 1024, probeCount: 5 }
    const key = KeyHasher.md5(4).hashText('a')
    expect(() => probePositions(key, geometry, new Uint32Array(5))).toThrow('5 probes of an MD5 hashed for 4')
  })
})

test.each([
  [new Uint8Array(15), 1],
  [new Uint8Array(17), 1],
  [secret, 0],
  [secret, 1.5],
  [secret, 2 ** 32],
])('a SipHash secret of other than 16 bytes, or without a name, is refused', (bytes, keyId) => {
  expect(() => KeyHasher.siphash(bytes, keyId)).toThrow(RangeError)
})

describe('positions where the size is no power of two', () => {
  test('are floor(fmix32(probe) m / 2^32) of the probes of enhanced double hashing', () => {
    const word = fc.integer({ min: 0, max: 0xffffffff })
    const mix = (value: bigint): bigint => {
      const mask = 0xffffffffn
      let h = ((value ^ (value >> 16n)) * 0x85ebca6bn) & mask
      h = ((h ^ (h >> 13n)) * 0xc2b2ae35n) & mask
      return h ^ (h >> 16n)
    }
    fc.assert(
      fc.property(word, word, fc.integer({ min: 1, max: 2 ** 31 }), fc.integer({ min: 1, max: 16 }), (h0, h1, m, k) => {
        if (Number.isInteger(Math.log2(m))) return
        const out = new Uint32Array(k)
        probePositions(
          { h0, h1, h2: 0, h3: 0 },
          { hashScheme: 1, keyId: 0, keyRules: 0, bitCount: m, probeCount: k },
          out,
        )
        for (let i = 0n; i < BigInt(k); i++) {
          const probe = (BigInt(h0) + i * (BigInt(h1) | 1n) + (i ** 3n - i) / 6n) & 0xffffffffn
          expect(BigInt(out[Number(i)]!)).toBe((mix(probe) * BigInt(m)) >> 32n)
        }
      }),
    )
  })

  test('scaling is exact to the last bit', () => {
    const edge = fc.constantFrom(0, 1, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff)
    const word = fc.oneof(edge, fc.integer({ min: 0, max: 0xffffffff }))
    fc.assert(
      fc.property(word, word, (value, count) => {
        expect(BigInt(scaleTo(value, count))).toBe((BigInt(value) * BigInt(count)) >> 32n)
        expect(scaleTo(value | 0, count)).toBe(scaleTo(value, count))
      }),
    )
  })
})

test('a key read as signed or as unsigned words has the same positions', () => {
  const [signed, unsigned] = [new Int32Array(4), new Uint32Array(4)]
  const positions = [new Uint32Array(4), new Uint32Array(4)]
  for (let n = 0; n < 200; n++) {
    const bytes = new TextEncoder().encode(`key ${n}`)
    for (const [i, words] of [signed, unsigned].entries()) {
      murmur3(new DataView(bytes.buffer), 0, bytes.length, words)
      const [h0, h1, h2, h3] = words as Uint32Array & [number, number, number, number]
      for (const hashScheme of [1, 2]) {
        const geometry = { hashScheme, keyId: 0, keyRules: 0, bitCount: 1000, probeCount: 4 }
        probePositions({ h0: h0, h1: h1, h2: h2, h3: h3 }, geometry, positions[i]!)
      }
    }
    expect(positions[0]).toEqual(positions[1])
  }
})
