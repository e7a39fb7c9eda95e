import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { KeyHashList } from '../../../src/core/filter/key-hash-list.ts'
import type { KeyHasher } from '../../../src/core/filter/key-hasher.ts'

const TEMPLATE = new TextEncoder().encode('http://origin-000.example/a/path/to/object-0000000000.tar.gz')
const ORIGIN_END = 17
const OBJECT_END = 53

/** All sample keys are URLs of so many bytes. */
export const KEY_BYTES = TEMPLATE.length

/** Keys from this index on are strangers to any filter that was filled from 0. */
export const FIRST_STRANGER = 5_000_000_000

/** Key `index`, below 10^10, to the bytes from `at` on. */
function writeKey(bytes: Uint8Array, at: number, index: number): void {
  bytes.set(TEMPLATE, at)
  writeDigits(bytes, at + ORIGIN_END, index % 1000)
  writeDigits(bytes, at + OBJECT_END, index)
}

function writeDigits(bytes: Uint8Array, end: number, value: number): void {
  for (let at = end - 1, rest = value; rest > 0; at--) {
    const next = Math.floor(rest / 10)
    bytes[at] = 48 + (rest - 10 * next)
    rest = next
  }
}

/** Keys `first` to `first + count`, one after the other in one buffer. */
export function packedKeys(first: number, count: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(count * KEY_BYTES)
  for (let i = 0; i < count; i++) writeKey(bytes, i * KEY_BYTES, first + i)
  return bytes
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** Hands on the hash of each key; it holds until the next. */
export function eachKeyHash(
  hasher: KeyHasher,
  first: number,
  count: number,
  take: (hash: KeyHash, index: number) => void,
): void {
  const bytes = new Uint8Array(KEY_BYTES)
  const view = viewOf(bytes)
  for (let i = 0; i < count; i++) {
    writeKey(bytes, 0, first + i)
    take(hasher.hash(view), i)
  }
}

export function keyHashes(hasher: KeyHasher, first: number, count: number): KeyHashList {
  const list = new KeyHashList(count)
  eachKeyHash(hasher, first, count, (hash) => list.push(hash))
  return list
}

/** One hash after the other out of a list, without an object for each. */
export class HashCursor implements KeyHash {
  readonly #words: Uint32Array
  #at = 0

  constructor(list: KeyHashList) {
    this.#words = list.words
  }

  moveTo(index: number): void {
    this.#at = 4 * index
  }

  get h0(): number {
    return this.#words[this.#at]!
  }
  get h1(): number {
    return this.#words[this.#at + 1]!
  }
  get h2(): number {
    return this.#words[this.#at + 2]!
  }
  get h3(): number {
    return this.#words[this.#at + 3]!
  }
}
