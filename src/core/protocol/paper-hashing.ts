import { geometryFor, type FilterGeometry } from '../filter/filter-geometry.ts'
import { MD5 } from '../filter/hash-schemes.ts'
import type { KeyHash } from '../filter/key-hash.ts'
import { KeyHasher } from '../filter/key-hasher.ts'

/**
 * How the paper's wire hashes: words of the MD5 of the URL itself, in our normal form. Summary Cache hashes "the URL"; a
 * method in front of it, as in our own digests, would match nobody else's bits.
 */
const PAPER_HASHING = { hashScheme: MD5, keyId: 0, keyRules: 0 } as const

/** Of a digest for about so many keys, with the paper's four functions. */
export function paperGeometryFor(expectedEntries: number): FilterGeometry {
  return { ...geometryFor(expectedEntries), ...PAPER_HASHING }
}

/** Of a digest that says so of itself. */
export function paperGeometry(bitCount: number, functionCount: number): FilterGeometry {
  return { ...PAPER_HASHING, bitCount, probeCount: functionCount }
}

/** Hashes URLs for the paper's wire, the one asked for last not again: a lookup asks once for each peer. */
export class PaperHasher {
  #functionCount = 4
  #hasher = KeyHasher.md5(this.#functionCount)
  #url: string | undefined
  #hash: KeyHash | undefined

  /** The hasher's own, until its next call. */
  hash(url: string, functionCount: number): KeyHash {
    if (functionCount > this.#functionCount) {
      this.#functionCount = functionCount
      this.#hasher = KeyHasher.md5(functionCount)
      this.#hash = undefined
    }
    if (this.#hash === undefined || this.#url !== url) {
      this.#url = url
      this.#hash = this.#hasher.hashText(url)
    }
    return this.#hash
  }
}
