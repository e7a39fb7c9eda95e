// A fetch takes as long as the origin may: older purges cannot matter to one under way.
const KEPT_MS = 300_000
/** About a megabyte; the oldest go first. */
const MAX_KEPT = 8_192

/** When keys were purged of late: what was asked for before that must not be stored after it. */
export class RecentPurges {
  readonly #purgedAtMs = new Map<string, number>()

  add(url: string, nowMs: number): void {
    this.#purgedAtMs.delete(url)
    this.#purgedAtMs.set(url, nowMs)
    // Insertion order is order in time.
    for (const [oldest, atMs] of this.#purgedAtMs) {
      if (this.#purgedAtMs.size <= MAX_KEPT && nowMs - atMs <= KEPT_MS) break
      this.#purgedAtMs.delete(oldest)
    }
  }

  /** Was the key purged at or after `ms`? */
  since(url: string, ms: number): boolean {
    return this.#purgedAtMs.size > 0 && (this.#purgedAtMs.get(url) ?? -Infinity) >= ms
  }
}
