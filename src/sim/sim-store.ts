import type { CacheDirectory, DirectoryEntry } from '../core/directory/cache-directory.ts'
import { entrySizeBytes } from '../core/directory/entry-size.ts'
import type { CacheKey } from '../core/http/cache-key.ts'
import type { Fields } from '../core/http/fields.ts'
import type { StoredHead } from '../core/http/stored-head.ts'
import type { CacheStore, Clock, Filling, FillOutcome, StoredResponse } from '../proxy/ports.ts'
import type { SeededRandom } from './seeded-random.ts'

export interface SimStoreOptions {
  readonly maxObjectBytes: number
  /** How long a body takes to come, at most. */
  readonly fillMs: number
  /** Of bodies that break off on their way. */
  readonly failureShare: number
  readonly bodyBytes: (body: number) => number
}

/** What a store that outlives its process brings back. */
export interface KeptResponse {
  readonly key: CacheKey
  readonly stored: StoredHead
  readonly body: number
}

/** Bodies by number, over the directory that the live proxy has too. */
export class SimStore implements CacheStore<number> {
  readonly #directory: CacheDirectory
  readonly #clock: Clock
  readonly #random: SeededRandom
  readonly #options: SimStoreOptions
  /** By slot. */
  readonly #bodies: (number | undefined)[] = []
  readonly #fillings = new Set<SimFilling>()

  constructor(directory: CacheDirectory, clock: Clock, random: SeededRandom, options: SimStoreOptions) {
    this.#directory = directory
    this.#clock = clock
    this.#random = random
    this.#options = options
    directory.onRemoved((entry) => {
      this.#bodies[entry.slot] = undefined
    })
  }

  find(key: CacheKey, request: Fields): DirectoryEntry | undefined {
    return this.#directory.find(key, request)
  }

  open(entry: DirectoryEntry): Promise<StoredResponse<number> | undefined> {
    const body = this.#directory.holds(entry) ? this.#bodies[entry.slot] : undefined
    if (body === undefined) return Promise.resolve(undefined)
    this.#directory.hit(entry)
    return Promise.resolve({ stored: entry.stored, bodyBytes: entry.bodyBytes, body, release: () => undefined })
  }

  reserve(key: CacheKey, stored: StoredHead, bodyBytes: number | undefined): Filling<number> | undefined {
    if (bodyBytes === undefined || bodyBytes > this.#options.maxObjectBytes) return undefined
    const reservedBytes = entrySizeBytes(key, stored, bodyBytes)
    if (!this.#directory.makeRoom(reservedBytes)) return undefined
    this.#directory.reserve(reservedBytes)
    const filling = new SimFilling(key, stored, bodyBytes, () => this.#settle(filling, reservedBytes))
    this.#fillings.add(filling)
    return filling
  }

  refresh(entry: DirectoryEntry, stored: StoredHead): void {
    this.#directory.refresh(entry, stored, this.#clock.monotonicMs())
  }

  variantCount(key: CacheKey): number {
    return this.#directory.variantCount(key)
  }

  purge(key: CacheKey): number {
    for (const filling of this.#fillings) if (filling.key.url === key.url) filling.isForgotten = true
    return this.#directory.purge(key)
  }

  bodyOf(entry: DirectoryEntry): number | undefined {
    return this.#bodies[entry.slot]
  }

  /** All that is held, as a disk would keep it. */
  kept(): KeptResponse[] {
    return [...this.#directory.entries()].map((entry) => ({
      key: entry.key,
      stored: entry.stored,
      body: this.#bodies[entry.slot]!,
    }))
  }

  restore(responses: readonly KeptResponse[]): void {
    for (const { key, stored, body } of responses) this.#admit(key, stored, body)
  }

  async #settle(filling: SimFilling, reservedBytes: number): Promise<FillOutcome> {
    const breaksOff = this.#random.chance(this.#options.failureShare)
    await this.#clock.sleep(this.#random.next() * this.#options.fillMs, NEVER)
    this.#fillings.delete(filling)
    this.#directory.unreserve(reservedBytes)
    if (breaksOff) return 'failed'
    if (!filling.isForgotten) this.#admit(filling.key, filling.stored, filling.body!)
    return 'committed'
  }

  #admit(key: CacheKey, stored: StoredHead, body: number): void {
    const entry = this.#directory.admit(key, stored, this.#options.bodyBytes(body), this.#clock.monotonicMs())
    this.#bodies[entry.slot] = body
  }
}

/** A body on its way. Whoever opens it gets its number, which is known by the time it is read. */
class SimFilling implements Filling<number> {
  readonly key: CacheKey
  readonly stored: StoredHead
  readonly #bodyBytes: number
  readonly #settle: () => Promise<FillOutcome>
  body: number | undefined
  /** A purge has come: it is not to be stored. */
  isForgotten = false

  constructor(key: CacheKey, stored: StoredHead, bodyBytes: number, settle: () => Promise<FillOutcome>) {
    this.key = key
    this.stored = stored
    this.#bodyBytes = bodyBytes
    this.#settle = settle
  }

  fill(body: number): Promise<FillOutcome> {
    this.body = body
    return this.#settle()
  }

  open(): StoredResponse<number> {
    const { stored } = this
    const body = (): number => this.body!
    return {
      stored,
      bodyBytes: this.#bodyBytes,
      get body() {
        return body()
      },
      release: () => undefined,
    }
  }

  abort(): void {
    this.isForgotten = true
    void this.#settle()
  }
}

const NEVER = new AbortController().signal
