import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { KeyHasher } from '../../../src/core/filter/key-hasher.ts'
import { md5 } from '../../../src/core/filter/md5.ts'
import { NumberedKeys } from './random-keys.ts'

/** Distinct keys by number. The hash returned may be overwritten by the next call. */
export interface KeySource {
  at(index: number): KeyHash
}

/** As random as a hash can be. */
export function idealSource(seed: number): KeySource {
  return new NumberedKeys(seed)
}

/** Sets of keys with so little between them that a weak hash would show it, each hashed as digests are. */
export const HOSTILE_SOURCES: readonly (readonly [name: string, source: (set: number) => KeySource])[] = [
  ['numbers in a row, as text', (set) => hashedText((n) => `${set * 1e8 + n}`)],
  ['numbers in a row, of 4 bytes', (set) => hashedBytes(4, (view, n) => view.setUint32(0, set * 2e7 + n, true))],
  ['URLs with a long common prefix', (set) => hashedText((n) => `https://www.example.com/a/b/c/${set}/?page=${n}`)],
  ['keys with a common end', (set) => hashedText((n) => `${n}/of/set/${set}/index.html`)],
  ['texts that differ in one character', (set) => hashedText((n) => oneCharacterApart(set, n))],
  ['MD5 of N', md5OfNumbers],
  ['64-bit numbers with zero low halves', (set) => hashedBytes(8, (view, n) => view.setUint32(4, set * 2e7 + n, true))],
  [
    '64-bit numbers with zero high halves',
    (set) => hashedBytes(8, (view, n) => view.setUint32(0, set * 2e7 + n, true)),
  ],
]

function hashedText(text: (n: number) => string): KeySource {
  const hasher = KeyHasher.murmur3()
  return { at: (n) => hasher.hashText(text(n)) }
}

function hashedBytes(byteCount: number, fill: (view: DataView, n: number) => void): KeySource {
  const hasher = KeyHasher.murmur3()
  const view = new DataView(new ArrayBuffer(byteCount))
  return {
    at: (n) => {
      fill(view, n)
      return hasher.hash(view)
    },
  }
}

/** One text in which three places vary, each over 256 letters: each has 765 others that differ in one. */
function oneCharacterApart(set: number, n: number): string {
  const letter = (i: number): string => String.fromCharCode(0x100 + ((n >>> (8 * i)) & 0xff))
  return `GET http://${letter(0)}.example/${set}/aaaaaaaaaaaa${letter(1)}bbbbbbbbbbbbbbbb${letter(2)}`
}

function md5OfNumbers(set: number): KeySource {
  const hasher = KeyHasher.murmur3()
  const number = new DataView(new ArrayBuffer(8))
  const digest = new Uint32Array(4)
  const bytes = new DataView(digest.buffer)
  number.setUint32(0, set)
  return {
    at: (n) => {
      number.setUint32(4, n)
      md5(number, 0, 8, 1, digest)
      return hasher.hash(bytes)
    },
  }
}
