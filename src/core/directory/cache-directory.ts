import assert from 'node:assert'
import type { CacheKey } from '../http/cache-key.ts'
import type { Fields } from '../http/fields.ts'
import { freshUntilMs } from '../http/freshness.ts'
import type { StoredHead } from '../http/stored-head.ts'
import type { ClaimSource } from '../filter/claim-source.ts'
import type { EvictionPolicy, Slot } from './eviction-policy.ts'
import { entrySizeBytes } from './entry-size.ts'
import { ExpiryBuckets } from './expiry-buckets.ts'
import { type Variant, variantsFrom, VariantTable } from './variant-table.ts'

/** A stored response as the directory knows it: everything but its body. */
export interface DirectoryEntry {
  /** Its own while it is held, another entry's afterwards. */
  readonly slot: Slot
  readonly key: CacheKey
  /** Another one after a refresh. */
  readonly stored: StoredHead
  readonly bodyBytes: number
  /** What it counts for in the budget: `entrySizeBytes`. */
  readonly sizeBytes: number
}

/**
 * What a digest may claim: keys of which a peer could be served some variant now (PROTOCOL rule 14). Of a key with several
 * fresh variants one entry, the holder, stands for the claim.
 */
export interface ClaimListener {
  /** The first fresh variant of the key came. */
  claimed(key: CacheKey, holder: Slot): void
  /** The last fresh variant of the key went, or went stale. */
  unclaimed(key: CacheKey, holder: Slot): void
  /** The holder went, and another fresh variant stands for the claim now. */
  moved(key: CacheKey, from: Slot, to: Slot): void
}

export type RemovalCause = 'evicted' | 'replaced' | 'purged' | 'removed'

/** Called when the entry's bytes are already out of `usedBytes`, before its slot is used again. Must not admit. */
type RemovalListener = (entry: DirectoryEntry, cause: RemovalCause) => void

export interface DirectoryOptions {
  readonly capacityBytes: number
  /** Variants of one URL; 16 by default: a Vary on User-Agent must not empty the cache of everything else. */
  readonly maxVariants?: number
}

interface Entry extends DirectoryEntry, Variant<Entry> {
  readonly key: CacheKey
  stored: StoredHead
  sizeBytes: number
  /** Monotonic; meaningful while `fresh`. */
  freshUntilMs: number
  fresh: boolean
  /** Stands for its key's claim: one of its fresh variants does. */
  isHolder: boolean
}

/**
 * What the cache holds, without the bodies: entries by key and variant, their bytes against the budget, who goes
 * when room is needed, and which keys may be claimed. The budget also counts reservations: bytes of responses on
 * their way in and of removed bodies that someone still reads.
 *
 * Always holds: usedBytes + reservedBytes <= capacityBytes.
 */
export class CacheDirectory implements ClaimSource {
  readonly capacityBytes: number
  readonly #maxVariants: number
  readonly #policy: EvictionPolicy
  readonly #claims: ClaimListener
  readonly #removalListeners: RemovalListener[] = []
  readonly #variants = new VariantTable<Entry>()
  readonly #slots: (Entry | undefined)[] = []
  readonly #freeSlots: Slot[] = []
  readonly #expiries = new ExpiryBuckets<Entry>()
  #entryCount = 0
  #usedBytes = 0
  #reservedBytes = 0
  #evictionCount = 0
  /** The latest time seen. */
  #nowMs = -Infinity

  constructor(policy: EvictionPolicy, claims: ClaimListener, options: DirectoryOptions) {
    this.#policy = policy
    this.#claims = claims
    this.capacityBytes = options.capacityBytes
    this.#maxVariants = options.maxVariants ?? 16
  }

  get entryCount(): number {
    return this.#entryCount
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  get reservedBytes(): number {
    return this.#reservedBytes
  }

  /** Evicted since the start, whether for room or by the bound on variants. */
  get evictionCount(): number {
    return this.#evictionCount
  }

  /** Whoever keeps something by slot learns here when to let go. */
  onRemoved(listener: RemovalListener): void {
    this.#removalListeners.push(listener)
  }

  /**
   * The stored response that `request` selects, fresh or not: the one received or validated last among those whose
   * selecting fields match (RFC 9111 §4.1). Others of its URL are beside the point, whatever their state. An older
   * match does not come back when the latest has gone stale: it is what the origin has since replaced.
   */
  find(key: CacheKey, request: Fields): DirectoryEntry | undefined {
    return this.#variants.find(key, request)
  }

  holds(entry: DirectoryEntry): boolean {
    return this.#slots[entry.slot] === entry
  }

  /** The key's entries, the one received last first. */
  variantsOf(key: CacheKey): readonly DirectoryEntry[] {
    return [...variantsFrom(this.#variants.newest(key))]
  }

  variantCount(key: CacheKey): number {
    let count = 0
    for (let entry = this.#variants.newest(key); entry !== undefined; entry = entry.older) count++
    return count
  }

  *entries(): Generator<DirectoryEntry, void, undefined> {
    for (const entry of this.#slots) if (entry !== undefined) yield entry
  }

  /** Slots in use are below it. */
  get slotCount(): number {
    return this.#slots.length
  }

  /** Every key claimed at present by an entry in slots `fromSlot` to `toSlot`: all together, what the summary must hold. */
  forEachClaim(fromSlot: Slot, toSlot: Slot, visit: (key: CacheKey) => void): void {
    for (let slot = fromSlot; slot < toSlot; slot++) {
      const entry = this.#slots[slot]
      if (entry?.isHolder) visit(entry.key)
    }
  }

  claims(key: CacheKey): boolean {
    return firstFresh(this.#variants.newest(key)) !== undefined
  }

  /**
   * Takes a response in, in the place of the same variant. Evicts what it needs.
   * @param nowMs monotonic, as `freshUntilMs` counts
   * @throws {AssertionError} it cannot fit: `makeRoom` or a reservation would have told
   */
  admit(key: CacheKey, stored: StoredHead, bodyBytes: number, nowMs: number): DirectoryEntry {
    const sizeBytes = entrySizeBytes(key, stored, bodyBytes)
    const slot = this.#freeSlots.pop() ?? this.#slots.length
    const entry: Entry = {
      slot,
      key,
      stored,
      bodyBytes,
      sizeBytes,
      older: undefined,
      freshUntilMs: 0,
      fresh: false,
      isHolder: false,
    }
    // The new one is in the table before the old one goes: the key's claim does not flicker.
    this.#slots[slot] = entry
    this.#entryCount++
    this.#variants.add(entry)
    this.#judge(entry, nowMs)
    this.#dropSameVariant(entry)
    this.#dropOldestVariants(entry)

    // Unknown to the policy yet, it cannot be evicted for itself.
    assert(this.makeRoom(sizeBytes), 'admitted without room')
    this.#usedBytes += sizeBytes
    this.#policy.admitted(slot, sizeBytes)
    return entry
  }

  /** Someone asked for it. Nothing happens when it is no longer held. */
  hit(entry: DirectoryEntry): void {
    if (this.holds(entry)) this.#policy.hit(entry.slot)
  }

  /**
   * A new head after a 304: the entry counts as received now. May evict, when the head has grown.
   * @returns false: it was not held, or is no longer, since a larger head had no room
   */
  refresh(entry: DirectoryEntry, stored: StoredHead, nowMs: number): boolean {
    const held = this.#held(entry)
    if (held === undefined) return false
    const sizeBytes = entrySizeBytes(held.key, stored, held.bodyBytes)
    const growthBytes = sizeBytes - held.sizeBytes
    const fits = growthBytes <= 0 || this.makeRoom(growthBytes)
    // To make room, the entry itself may have been evicted.
    if (!this.holds(held)) return false
    if (!fits) {
      this.#drop(held, 'evicted')
      return false
    }

    this.#usedBytes += growthBytes
    held.sizeBytes = sizeBytes
    held.stored = stored
    this.#variants.remove(held)
    this.#variants.add(held)
    this.#judge(held, nowMs)
    this.#dropSameVariant(held)
    return true
  }

  /** Nothing happens when it is no longer held. */
  remove(entry: DirectoryEntry): void {
    const held = this.#held(entry)
    if (held !== undefined) this.#drop(held, 'removed')
  }

  /** Every variant of the key. Returns how many went. */
  purge(key: CacheKey): number {
    let purged = 0
    for (let entry = this.#variants.newest(key); entry !== undefined; entry = this.#variants.newest(key)) {
      this.#drop(entry, 'purged')
      purged++
    }
    return purged
  }

  /**
   * Evicts until `bytes` more fit beside what is used and reserved.
   * @returns false: they do not, though everything that helps was evicted; nothing is when they never could
   */
  makeRoom(bytes: number): boolean {
    if (this.#reservedBytes + bytes > this.capacityBytes) return false
    while (this.#usedBytes + this.#reservedBytes + bytes > this.capacityBytes) {
      // A listener may turn an evicted entry's bytes into a reservation, so that in the end nothing was won.
      if (this.#usedBytes === 0) return false
      const victim = this.#slots[this.#policy.victim()]
      assert(victim !== undefined, 'the policy named a slot that holds nothing')
      this.#drop(victim, 'evicted')
    }
    return true
  }

  /** @throws {AssertionError} no room was made for them */
  reserve(bytes: number): void {
    assert(this.#usedBytes + this.#reservedBytes + bytes <= this.capacityBytes, 'reserved without room')
    this.#reservedBytes += bytes
  }

  unreserve(bytes: number): void {
    assert(bytes <= this.#reservedBytes, 'more was given back than reserved')
    this.#reservedBytes -= bytes
  }

  /** Lets go of the claims of entries that have gone stale. To be called at least every half-minute (rule 14). */
  expire(nowMs: number): void {
    if (nowMs > this.#nowMs) this.#nowMs = nowMs
    for (const entry of this.#expiries.takeEnded(this.#nowMs)) this.#markFresh(entry, false)
  }

  #held(entry: DirectoryEntry): Entry | undefined {
    const inSlot = this.#slots[entry.slot]
    return inSlot === entry ? inSlot : undefined
  }

  #drop(entry: Entry, cause: RemovalCause): void {
    this.#expiries.remove(entry, entry.freshUntilMs)
    this.#markFresh(entry, false)
    this.#variants.remove(entry)
    this.#policy.removed(entry.slot)
    this.#slots[entry.slot] = undefined
    this.#entryCount--
    this.#usedBytes -= entry.sizeBytes
    if (cause === 'evicted') this.#evictionCount++
    for (const listener of this.#removalListeners) listener(entry, cause)
    this.#freeSlots.push(entry.slot)
  }

  /** A head says what its variant is, so two entries can come to be the same one: the one received last stays. */
  #dropSameVariant(kept: Entry): void {
    const older = this.#variants.sameOlder(kept)
    if (older !== undefined) this.#drop(older, 'replaced')
  }

  #dropOldestVariants(newest: Entry): void {
    let last = newest
    for (let count = 1; count < this.#maxVariants && last.older !== undefined; count++) last = last.older
    while (last.older !== undefined) this.#drop(last.older, 'evicted')
  }

  #judge(entry: Entry, nowMs: number): void {
    if (nowMs > this.#nowMs) this.#nowMs = nowMs
    this.#expiries.remove(entry, entry.freshUntilMs)
    entry.freshUntilMs = freshUntilMs(entry.stored.facts)
    const fresh = entry.freshUntilMs > this.#nowMs
    if (fresh) this.#expiries.place(entry, entry.freshUntilMs)
    this.#markFresh(entry, fresh)
  }

  /** `entry` must be in the table. */
  #markFresh(entry: Entry, fresh: boolean): void {
    if (entry.fresh === fresh) return
    entry.fresh = false
    const other = firstFresh(this.#variants.newest(entry.key))
    entry.fresh = fresh
    if (fresh && other === undefined) {
      entry.isHolder = true
      this.#claims.claimed(entry.key, entry.slot)
    } else if (!fresh && entry.isHolder) {
      entry.isHolder = false
      if (other === undefined) {
        this.#claims.unclaimed(entry.key, entry.slot)
      } else {
        other.isHolder = true
        this.#claims.moved(entry.key, entry.slot, other.slot)
      }
    }
  }
}

function firstFresh(newest: Entry | undefined): Entry | undefined {
  for (let entry = newest; entry !== undefined; entry = entry.older) if (entry.fresh) return entry
  return undefined
}
