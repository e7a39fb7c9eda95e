// Half a minute, so that with a tick at least as often an entry is out within the minute of going stale that
// PROTOCOL rule 14 allows.
const BUCKET_MS = 30_000

/**
 * Things that end at a known moment, grouped by the half-minute of it, so that a tick touches only what has ended.
 * Buckets exist only while something is in them, and any moment a double can hold has one, Infinity included.
 */
export class ExpiryBuckets<T> {
  readonly #buckets = new Map<number, Set<T>>()
  /** Every bucket below this one has been taken. */
  #firstBucket = -Infinity

  /** `endsMs` must lie beyond the latest `takeEnded`. */
  place(thing: T, endsMs: number): void {
    const number = bucketOf(endsMs)
    const bucket = this.#buckets.get(number)
    if (bucket === undefined) this.#buckets.set(number, new Set([thing]))
    else bucket.add(thing)
  }

  /** `endsMs` as it was given to `place`. */
  remove(thing: T, endsMs: number): void {
    const number = bucketOf(endsMs)
    const bucket = this.#buckets.get(number)
    if (bucket?.delete(thing) && bucket.size === 0) this.#buckets.delete(number)
  }

  /** What has ended by `nowMs`, less what has ended within the half-minute that is running; it is in no bucket any more. */
  takeEnded(nowMs: number): T[] {
    const running = bucketOf(nowMs)
    const ended: T[] = []
    // After a long pause there may be more numbers to try than buckets.
    if (running - this.#firstBucket <= this.#buckets.size) {
      for (let number = this.#firstBucket; number < running; number++) this.#take(number, ended)
    } else {
      for (const number of this.#buckets.keys()) if (number < running) this.#take(number, ended)
    }
    if (running > this.#firstBucket) this.#firstBucket = running
    return ended
  }

  #take(number: number, ended: T[]): void {
    const bucket = this.#buckets.get(number)
    if (bucket === undefined) return
    this.#buckets.delete(number)
    for (const thing of bucket) ended.push(thing)
  }
}

function bucketOf(ms: number): number {
  return Math.floor(ms / BUCKET_MS)
}
