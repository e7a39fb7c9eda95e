import type { KeyHash, KeyHashing } from './key-hash.ts'

/** Reading is all that a peer's digest needs. False hits happen, false misses never. */
export interface MembershipFilter {
  mayContain(key: KeyHash): boolean
}

/** What every kind of filter has. Those that cannot change are built from all their keys at once. */
export interface Filter extends MembershipFilter {
  readonly hashing: KeyHashing
  /** Keys in it, as it was told: adding one twice counts twice. After an intersection an estimate. */
  readonly entryCount: number
  /** What it takes in memory, but for a few words of parameters. */
  readonly sizeInBits: number
  /** From its parameters and `entryCount`: how likely a key is claimed that is not in it. */
  readonly expectedFalseHitRate: number
  /** The same from what its memory holds. */
  readonly estimatedFalseHitRate: number
  /** How many keys are in it, from what its memory holds. */
  readonly estimatedEntryCount: number
  /** In the format of docs/filters.md; `loadFilter` reads it back. */
  serialise(): Uint8Array<ArrayBuffer>
}

export interface GrowingFilter extends Filter {
  /** @throws {FilterFullError} nothing has changed */
  add(key: KeyHash): void
}

export interface ForgettingFilter extends GrowingFilter {
  /**
   * Only for a key that was added: taking out another that the filter merely seems to contain takes a neighbour's
   * place.
   * @throws {KeyNotHeldError} the key is certainly not in it; nothing has changed
   */
  remove(key: KeyHash): void
}

/** Takes a filter of equal geometry, and throws a RangeError for another. */
export interface UnitingFilter extends Filter {
  /** Afterwards it claims what either claimed, as if all keys had been added to one. */
  unionWith(other: this): void
}

/** Takes a filter of equal geometry, and throws a RangeError for another. */
export interface IntersectingFilter extends Filter {
  /** Afterwards it claims what both claimed: every key that is in both, and perhaps some that are in one or neither. */
  intersectWith(other: this): void
}

export interface FoldingFilter extends Filter {
  /**
   * The same keys in half the memory, with more false hits.
   * @throws {RangeError} its size cannot be halved
   */
  foldedToHalf(): Filter
}

/** There is no room for the key. Nothing that was added is lost. */
export class FilterFullError extends Error {
  override readonly name = 'FilterFullError'
  readonly code = 'FILTER_FULL'
  readonly entryCount: number
  constructor(entryCount: number) {
    super(`no room for a key beside ${entryCount} others: build a larger filter`)
    this.entryCount = entryCount
  }
}

/** A key was to be removed that is certainly not there: a bug of the caller's. */
export class KeyNotHeldError extends Error {
  override readonly name = 'KeyNotHeldError'
  readonly code = 'KEY_NOT_HELD'
  constructor() {
    super('the key is not in the filter and cannot be removed')
  }
}

/** No seed led to a filter of these keys. */
export class FilterBuildError extends Error {
  override readonly name = 'FilterBuildError'
  readonly code = 'FILTER_BUILD'
  readonly attempts: number
  constructor(kind: string, entryCount: number, attempts: number) {
    super(`no ${kind} filter of ${entryCount} keys came out of ${attempts} attempts`)
    this.attempts = attempts
  }
}
