import { MURMUR3 } from '../../../src/core/filter/hash-schemes.ts'
import type { FilterKind } from '../../../src/core/filter/filter-kinds.ts'
import { KeyHashList } from '../../../src/core/filter/key-hash-list.ts'
import {
  FilterFullError,
  type Filter,
  type ForgettingFilter,
  type GrowingFilter,
} from '../../../src/core/filter/membership-filter.ts'
import { NumberedKeys, RandomKeys } from './random-keys.ts'

const RATES = [0.3, 0.05, 0.01, 0.001, 1e-4]
const MIN_CAPACITY = 4
/** What a filter with removals goes through before it makes place for one of another size. */
const OPERATIONS_PER_KEY = 40

/**
 * Adds, removes, where the kind can, and looks up keys at random, in filters of `MIN_CAPACITY` to `maxCapacity` keys,
 * each of which takes more than it was made for: no key that it holds may be missed. Kinds that cannot grow are built of
 * one set after another.
 *
 * @returns how many operations it took, `operationCount` or a filter's life more
 * @throws {Error} a false miss, with the seed that leads to it
 */
export function searchFalseMiss(kind: FilterKind, operationCount: number, maxCapacity: number, seed: number): number {
  const random = new RandomKeys(seed)
  let done = 0
  for (let round = 0; done < operationCount; round++) {
    // As many small ones as large ones.
    const capacity = Math.floor(MIN_CAPACITY * (maxCapacity / MIN_CAPACITY) ** (random.word() / 2 ** 32))
    const rate = RATES[random.below(RATES.length)]!
    done += new Round(kind, capacity, rate, random, `${kind.name}: seed ${seed}, round ${round}`).run()
  }
  return done
}

/** The life of one filter. */
class Round {
  readonly #kind: FilterKind
  readonly #capacity: number
  readonly #rate: number
  readonly #random: RandomKeys
  readonly #where: string
  readonly #keys: NumberedKeys
  /** Numbers of keys, one for each time that the key was added. */
  readonly #held: number[] = []
  #operations = 0

  constructor(kind: FilterKind, capacity: number, rate: number, random: RandomKeys, where: string) {
    this.#kind = kind
    this.#capacity = capacity
    this.#rate = rate
    this.#random = random
    this.#where = where
    this.#keys = new NumberedKeys(random.word())
  }

  /** Returns the number of operations. */
  run(): number {
    const list = new KeyHashList(this.#capacity)
    for (let i = 0; i < this.#capacity; i++) list.push(this.#keys.at(this.#choose()))
    this.#operations += this.#capacity
    const filter = this.#build(list)
    if (filter === undefined) return this.#operations
    this.#lookUpAll(filter)
    // The table's `can` is held to the filter's methods by the conformance suite.
    if (this.#kind.can.remove) this.#addAndRemove(filter as ForgettingFilter)
    else if (this.#kind.can.add) this.#grow(filter as GrowingFilter)
    return this.#operations
  }

  /** Undefined: some of the keys, of which many repeat, found no room, as happens to a cuckoo filter. */
  #build(list: KeyHashList): Filter | undefined {
    try {
      return this.#kind.build(list, this.#rate, { hashScheme: MURMUR3, keyId: 0, keyRules: 0 })
    } catch (error) {
      if (error instanceof FilterFullError) return undefined
      throw error
    }
  }

  /** A key of so few that many come again: the held are a multiset. */
  #choose(): number {
    const index = this.#random.below(4 * this.#capacity)
    this.#held.push(index)
    return index
  }

  #addAndRemove(filter: ForgettingFilter): void {
    const steps = OPERATIONS_PER_KEY * this.#capacity
    for (let step = 0; step < steps; step++) {
      const action = this.#random.below(8)
      if (action < 2) this.#add(filter)
      else if (action < 4) this.#remove(filter)
      else this.#lookUpOne(filter)
    }
    this.#operations += steps
    this.#lookUpAll(filter)
    while (this.#held.length > 0) this.#remove(filter)
    if (filter.entryCount !== 0) this.#fail(`${filter.entryCount} entries when all are removed`)
  }

  #grow(filter: GrowingFilter): void {
    while (this.#held.length < 3 * this.#capacity) {
      this.#add(filter)
      for (let i = 0; i < 3; i++) this.#lookUpOne(filter)
      this.#operations += 4
    }
    this.#lookUpAll(filter)
  }

  #add(filter: GrowingFilter): void {
    const index = this.#choose()
    try {
      filter.add(this.#keys.at(index))
    } catch (error) {
      if (!(error instanceof FilterFullError)) throw error
      this.#held.pop()
    }
  }

  #remove(filter: ForgettingFilter): void {
    if (this.#held.length === 0) return
    const place = this.#random.below(this.#held.length)
    const index = this.#held[place]!
    this.#held[place] = this.#held.at(-1)!
    this.#held.pop()
    filter.remove(this.#keys.at(index))
  }

  #lookUpOne(filter: Filter): void {
    if (this.#held.length === 0) return
    const index = this.#held[this.#random.below(this.#held.length)]!
    if (!filter.mayContain(this.#keys.at(index))) this.#fail(`a false miss of key ${index}`)
  }

  #lookUpAll(filter: Filter): void {
    for (const index of this.#held) {
      if (!filter.mayContain(this.#keys.at(index))) this.#fail(`a false miss of key ${index} at a full look`)
    }
    this.#operations += this.#held.length
  }

  #fail(problem: string): never {
    throw new Error(`${this.#where}, ${this.#capacity} keys at ${this.#rate}: ${problem}`)
  }
}
