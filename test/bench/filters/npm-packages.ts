import { BloomFilter as AblyFilter } from '@ably/bloomit'
import BitcoinFilter from 'bloom-filter'
import bloomFilters from 'bloom-filters'
import { BloomFilter as JasonDaviesFilter } from 'bloomfilter'
import { BloomFilter } from '../../../src/core/filter/bloom-filter.ts'
import { KeyHasher } from '../../../src/core/filter/key-hasher.ts'
import { KEY_BYTES } from './sample-keys.ts'

/** The same keys in the form that each takes: ours where they lie in one buffer, the others one by one. */
export interface KeyForms {
  readonly view: DataView
  readonly texts: readonly string[]
  readonly buffers: readonly Uint8Array[]
}

/** A filter whose loops are its own, so that the compiler sees one callee in each. */
export interface PackageFilter {
  /** Keys `from` to `to`, the latter not included. */
  add(from: number, to: number): void
  /** How many of them it claims. */
  count(from: number, to: number): number
}

export interface FilterPackage {
  readonly name: string
  /** Slow ones get one key of so many that the fastest get. */
  readonly shareOfKeys: number
  create(entryCount: number, falseHitRate: number, keys: KeyForms): PackageFilter
}

export const OURS: FilterPackage = {
  name: 'ours',
  shareOfKeys: 1,
  create(entryCount, falseHitRate, { view }) {
    const hasher = KeyHasher.murmur3()
    const filter = BloomFilter.withCapacity(entryCount, falseHitRate, hasher.hashing)
    return {
      add(from, to) {
        for (let at = from * KEY_BYTES; at < to * KEY_BYTES; at += KEY_BYTES)
          filter.add(hasher.hash(view, at, at + KEY_BYTES))
      },
      count(from, to) {
        let claimed = 0
        for (let at = from * KEY_BYTES; at < to * KEY_BYTES; at += KEY_BYTES) {
          if (filter.mayContain(hasher.hash(view, at, at + KEY_BYTES))) claimed++
        }
        return claimed
      },
    }
  },
}

export const NPM_PACKAGES: readonly FilterPackage[] = [
  {
    name: 'bloomfilter',
    shareOfKeys: 1,
    create(entryCount, falseHitRate, { texts }) {
      const filter = JasonDaviesFilter.withTargetError(entryCount, falseHitRate)
      return {
        add(from, to) {
          for (let i = from; i < to; i++) filter.add(texts[i]!)
        },
        count(from, to) {
          let claimed = 0
          for (let i = from; i < to; i++) if (filter.test(texts[i]!)) claimed++
          return claimed
        },
      }
    },
  },
  {
    // Never larger than 36,000 bytes, as in BIP 37: full beyond 30,000 keys, which does not slow it.
    name: 'bloom-filter',
    shareOfKeys: 1 / 4,
    create(entryCount, falseHitRate, { buffers }) {
      const filter = BitcoinFilter.create(entryCount, falseHitRate)
      return {
        add(from, to) {
          for (let i = from; i < to; i++) filter.insert(buffers[i]!)
        },
        count(from, to) {
          let claimed = 0
          for (let i = from; i < to; i++) if (filter.contains(buffers[i]!)) claimed++
          return claimed
        },
      }
    },
  },
  {
    name: '@ably/bloomit',
    shareOfKeys: 1 / 4,
    create(entryCount, falseHitRate, { texts }) {
      const filter = AblyFilter.create(entryCount, falseHitRate)
      return {
        add(from, to) {
          for (let i = from; i < to; i++) filter.add(texts[i]!)
        },
        count(from, to) {
          let claimed = 0
          for (let i = from; i < to; i++) if (filter.has(texts[i]!)) claimed++
          return claimed
        },
      }
    },
  },
  {
    name: 'bloom-filters',
    shareOfKeys: 1 / 16,
    create(entryCount, falseHitRate, { texts }) {
      const filter = bloomFilters.BloomFilter.create(entryCount, falseHitRate)
      return {
        add(from, to) {
          for (let i = from; i < to; i++) filter.add(texts[i]!)
        },
        count(from, to) {
          let claimed = 0
          for (let i = from; i < to; i++) if (filter.has(texts[i]!)) claimed++
          return claimed
        },
      }
    },
  },
]
