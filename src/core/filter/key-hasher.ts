import { MD5, MURMUR3, SIPHASH } from './hash-schemes.ts'
import type { KeyHash, KeyHashing } from './key-hash.ts'
import { md5 } from './md5.ts'
import { murmur3 } from './murmur3.ts'
import { sipHash128 } from './siphash.ts'

/** A hash that is filled anew for each key. */
class HashWords implements KeyHash {
  readonly words = new Int32Array(4)
  next: HashWords | undefined = undefined
  get h0(): number {
    return this.words[0]!
  }
  get h1(): number {
    return this.words[1]!
  }
  get h2(): number {
    return this.words[2]!
  }
  get h3(): number {
    return this.words[3]!
  }
}

type Fill = (view: DataView, start: number, end: number, hash: HashWords) => void

const FIRST_BUFFER_BYTES = 256

/**
 * Turns the bytes of keys into the hashes that filters take. The hash returned is the hasher's own and holds until
 * its next call: nothing is allocated for a key. Whoever keeps hashes copies them (`KeyHashList`).
 */
export class KeyHasher {
  readonly hashing: KeyHashing
  readonly #fill: Fill
  readonly #hash = new HashWords()
  #buffer = new Uint8Array(FIRST_BUFFER_BYTES)
  #view = new DataView(this.#buffer.buffer)

  private constructor(hashing: KeyHashing, fill: Fill) {
    this.hashing = hashing
    this.#fill = fill
  }

  /** What digests use: fast, and predictable by anyone. */
  static murmur3(keyRules = 0): KeyHasher {
    return new KeyHasher({ hashScheme: MURMUR3, keyId: 0, keyRules }, (view, start, end, hash) => {
      murmur3(view, start, end, hash.words)
    })
  }

  /**
   * As in Summary Cache and Squid.
   * @param probeCount the most probes that filters of these hashes have; each four more cost another MD5
   */
  static md5(probeCount = 4, keyRules = 0): KeyHasher {
    return new KeyHasher({ hashScheme: MD5, keyId: 0, keyRules }, (view, start, end, hash) => {
      let part = hash
      for (let repeats = 1; ; repeats++) {
        md5(view, start, end, repeats, part.words)
        if (repeats * 4 >= probeCount) return
        part = part.next ??= new HashWords()
      }
    })
  }

  /**
   * Hashes that nobody can predict or make collide who lacks the secret.
   * @param secret 16 bytes
   * @param keyId how those who share the secret call it, from 1
   * @throws {RangeError} a secret of another length, or no key id
   */
  static siphash(secret: Uint8Array, keyId: number, keyRules = 0): KeyHasher {
    if (secret.length !== 16) throw new RangeError(`a SipHash key has 16 bytes, not ${secret.length}`)
    if (!(Number.isInteger(keyId) && keyId >= 1 && keyId <= 0xffffffff)) throw new RangeError(`key id ${keyId}`)
    const view = new DataView(secret.buffer, secret.byteOffset, 16)
    const key = Uint32Array.from({ length: 4 }, (_, i) => view.getUint32(4 * i, true))
    return new KeyHasher({ hashScheme: SIPHASH, keyId, keyRules }, (bytes, start, end, hash) => {
      sipHash128(key, bytes, start, end, hash.words)
    })
  }

  /** Hashes the bytes `start` to `end`, the latter not included, where they lie. */
  hash(view: DataView, start = 0, end = view.byteLength): KeyHash {
    this.#fill(view, start, end, this.#hash)
    return this.#hash
  }

  hashBytes(bytes: Uint8Array): KeyHash {
    this.#reserve(bytes.length)
    this.#buffer.set(bytes)
    return this.hash(this.#view, 0, bytes.length)
  }

  /** Of the text's UTF-8 bytes. */
  hashText(text: string): KeyHash {
    this.#reserve(3 * text.length)
    return this.hash(this.#view, 0, new TextEncoder().encodeInto(text, this.#buffer).written)
  }

  #reserve(byteCount: number): void {
    if (byteCount <= this.#buffer.length) return
    this.#buffer = new Uint8Array(2 * byteCount)
    this.#view = new DataView(this.#buffer.buffer)
  }
}
