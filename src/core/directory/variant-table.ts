import assert from 'node:assert'
import type { CacheKey } from '../http/cache-key.ts'
import type { Fields } from '../http/fields.ts'
import type { StoredHead } from '../http/stored-head.ts'
import { selectingValues } from '../http/vary.ts'

/** What a stored response needs to be found by. */
export interface Variant<V> {
  readonly key: CacheKey
  readonly stored: StoredHead
  /** The variant of the same URL received before this one; the table's own. */
  older: V | undefined
}

/**
 * Stored responses by key and by the request fields that select them. By URL, not by hash: one is believed only after
 * its URL has compared equal, so that a forged collision serves nobody another URL's body.
 */
export class VariantTable<V extends Variant<V>> {
  /** The one received last; the others hang on it. */
  readonly #newest = new Map<string, V>()

  newest(key: CacheKey): V | undefined {
    return this.#newest.get(key.url)
  }

  /** The newest variant whose selecting fields match the request's (RFC 9111 §4.1). */
  find(key: CacheKey, request: Fields): V | undefined {
    let names: readonly string[] = []
    let selecting = ''
    for (let variant = this.newest(key); variant !== undefined; variant = variant.older) {
      const { stored } = variant
      // The variants of a URL usually share their Vary, so that its values are worked out once.
      if (!sameNames(stored.varyNames, names)) {
        names = stored.varyNames
        selecting = selectingValues(names, request)
      }
      if (selecting === stored.variant) return variant
    }
    return undefined
  }

  /** From now on the newest of its key; must not be in the table. */
  add(variant: V): void {
    variant.older = this.newest(variant.key)
    this.#newest.set(variant.key.url, variant)
  }

  /** Must be in the table. Its `older` stays, so that a walk can go on from it. */
  remove(variant: V): void {
    const { url } = variant.key
    let newer = this.#newest.get(url)
    if (newer === variant) {
      if (variant.older === undefined) this.#newest.delete(url)
      else this.#newest.set(url, variant.older)
      return
    }
    while (newer !== undefined && newer.older !== variant) newer = newer.older
    assert(newer !== undefined, 'a variant that is not in the table')
    newer.older = variant.older
  }

  /** The older one that the same requests select. */
  sameOlder(variant: V): V | undefined {
    for (let older = variant.older; older !== undefined; older = older.older) {
      if (older.stored.variant !== variant.stored.variant) continue
      if (sameNames(older.stored.varyNames, variant.stored.varyNames)) return older
    }
    return undefined
  }
}

/** Every variant from `newest` on, in the order of receipt, last first. */
export function* variantsFrom<V extends Variant<V>>(newest: V | undefined): Generator<V, void, undefined> {
  for (let variant = newest; variant !== undefined; variant = variant.older) yield variant
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i])
}
