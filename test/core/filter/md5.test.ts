import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { md5 } from '../../../src/core/filter/md5.ts'

function wordsOf(bytes: Uint8Array, repeats = 1): Uint32Array {
  const out = new Uint32Array(4)
  md5(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0, bytes.length, repeats, out)
  return out
}

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text)
const hex = (words: Uint32Array): string => Array.from(words, (word) => word.toString(16).padStart(8, '0')).join('')

describe('MD5', () => {
  // RFC 1321, A.5
  test.each([
    ['', 'd41d8cd98f00b204e9800998ecf8427e'],
    ['a', '0cc175b9c0f1b6a831c399e269772661'],
    ['abc', '900150983cd24fb0d6963f7d28e17f72'],
    ['message digest', 'f96b697d7cb7938d525a2f31aaf161d0'],
    ['abcdefghijklmnopqrstuvwxyz', 'c3fcd3d76192e4007dfb496cca67e13b'],
    ['ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', 'd174ab98d277d9f5a5611c2c9f419d9f'],
    ['1234567890'.repeat(8), '57edf4a22be3c955ac49da2e2107b67a'],
  ])('of %j is as in RFC 1321', (text, expected) => {
    expect(hex(wordsOf(ascii(text)))).toBe(expected)
  })

  test("gives a URL's hashes as in Summary Cache: four words, most significant byte first", () => {
    const words = wordsOf(ascii('http://www.example.com/index.html'))
    expect([...words]).toEqual([350031637, 3911599919, 3282668683, 2450587191])
    expect([...words].map((word) => word % 524_288)).toEqual([331541, 411439, 101515, 65079])
  })

  test('of any bytes, once or repeated, is what another implementation says', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 1, max: 4 }), (bytes, repeats) => {
        const whole = createHash('md5')
        for (let i = 0; i < repeats; i++) whole.update(bytes)
        expect(hex(wordsOf(bytes, repeats))).toBe(whole.digest('hex'))
      }),
    )
  })

  test('takes only the bytes of its range', () => {
    const bytes = ascii('..abc...')
    const out = new Uint32Array(4)
    md5(new DataView(bytes.buffer), 2, 5, 1, out)
    expect(hex(out)).toBe('900150983cd24fb0d6963f7d28e17f72')
    expect(() => md5(new DataView(bytes.buffer), 2, 9, 1, out)).toThrow(RangeError)
  })
})
