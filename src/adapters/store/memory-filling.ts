import assert from 'node:assert'
import type { CacheKey } from '../../core/http/cache-key.ts'
import type { StoredHead } from '../../core/http/stored-head.ts'
import type { Filling, FillOutcome, LiveBody, StoredResponse } from '../../proxy/ports.ts'
import { BodyBlocks } from './body-blocks.ts'
import { BodyReader, type ReadableBody } from './body-reader.ts'
import { openKept, type KeptBody } from './kept-body.ts'

// Of a body that is only passed on, what the source may be ahead of its slowest reader: a few socket buffers' worth.
// It is held as a socket's own buffer is, outside the cache's budget.
const PASSING_WINDOW_BYTES = 256 * 1024

/** What a filling needs of its store. */
export interface FillingPlace {
  /** Makes room for them and reserves them; false: there is none. */
  reserve(bytes: number): boolean
  unreserve(bytes: number): void
  /** Admits the body. The filling has given back what it had reserved for it. */
  commit(filling: MemoryFilling, bytes: Uint8Array): KeptBody
  /** No more will come in. */
  ended(filling: MemoryFilling): void
}

export interface FillingFacts {
  readonly key: CacheKey
  readonly stored: StoredHead
  /** From Content-Length; undefined when it was not sent. */
  readonly announcedBytes: number | undefined
  /** A body that outgrows this is not stored. */
  readonly maxBytes: number
  /** What the store has reserved already: the head's share and, if announced, the body. */
  readonly reservedBytes: number
}

/** The body will not come to its end. Its readers get this after what had come. */
export class BrokenBodyError extends Error {
  override readonly name = 'BrokenBodyError'
  readonly code: 'SOURCE_FAILED' | 'TOO_SHORT' | 'TOO_LONG' | 'ABORTED'
  constructor(code: BrokenBodyError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/**
 * A response on its way into memory, read by any number of readers while it comes. Either it is *stored*: all of it is
 * held and reserved, and the source runs at full pace; or, once it has outgrown what may be stored, it *passes*: what
 * every reader has had is dropped, and the source waits for the slowest of them.
 */
export class MemoryFilling implements Filling<LiveBody>, ReadableBody {
  readonly key: CacheKey
  readonly stored: StoredHead
  readonly #announcedBytes: number | undefined
  readonly #maxBytes: number
  readonly #place: FillingPlace
  readonly #blocks: BodyBlocks
  readonly #readers = new Set<BodyReader>()
  #reservedBytes: number
  #begun = false
  #passing = false
  #forgotten = false
  /** Undefined while it goes on. */
  #outcome: FillOutcome | undefined
  #error: BrokenBodyError | undefined
  #kept: KeptBody | undefined
  /** Stops waiting for the source's next chunk, which is lost. */
  #stopReading: (() => void) | undefined
  /** Stops waiting for the slowest reader. */
  #readOn: (() => void) | undefined

  constructor(facts: FillingFacts, place: FillingPlace) {
    this.key = facts.key
    this.stored = facts.stored
    this.#announcedBytes = facts.announcedBytes
    this.#maxBytes = facts.maxBytes
    this.#reservedBytes = facts.reservedBytes
    this.#place = place
    this.#blocks = new BodyBlocks(facts.announcedBytes)
  }

  async fill(body: LiveBody): Promise<FillOutcome> {
    assert(!this.#begun, 'a filling has one source')
    this.#begun = true
    if (body instanceof Uint8Array) {
      if (this.#outcome === undefined) this.#take(body)
      if (this.#outcome === undefined) this.#finish()
    } else {
      await this.#drain(body[Symbol.asyncIterator]())
    }
    assert(this.#outcome !== undefined)
    return this.#outcome
  }

  open(): StoredResponse<LiveBody> | undefined {
    if (this.#kept !== undefined) return this.#kept.removed ? undefined : openKept(this.#kept, this.stored)
    if (this.#outcome !== undefined || this.#passing || this.#forgotten) return undefined
    const reader = new BodyReader(this)
    this.#readers.add(reader)
    return {
      stored: this.stored,
      bodyBytes: this.#announcedBytes,
      body: reader,
      release: () => reader.leave(),
    }
  }

  abort(): void {
    if (this.#outcome !== undefined) return
    this.#free()
    this.#break(new BrokenBodyError('ABORTED', 'the response was given up before its body came'))
  }

  /** Its key was purged: those who read it may go on, but nobody joins them and it is not stored. */
  forget(): void {
    this.#forgotten = true
    if (this.#readers.size === 0) this.#end('unread')
  }

  read(offset: number): Uint8Array | 'later' | 'end' {
    if (this.#kept !== undefined) return offset < this.#kept.bytes.length ? this.#kept.bytes.subarray(offset) : 'end'
    if (offset < this.#blocks.length && this.#blocks.heldBytes > 0) return this.#blocks.view(offset)
    if (this.#outcome === undefined) return 'later'
    if (this.#error !== undefined) throw this.#error
    return 'end'
  }

  moved(): void {
    if (this.#passing) this.#dropRead()
  }

  left(reader: BodyReader): void {
    this.#readers.delete(reader)
    if (this.#kept !== undefined) this.#kept.unpin()
    else if (this.#readers.size > 0) this.moved()
    else if (this.#outcome === undefined) this.#end('unread')
    else this.#free()
  }

  async #drain(source: AsyncIterator<Uint8Array>): Promise<void> {
    for (;;) {
      while (this.#outcome === undefined && this.#isAhead()) await this.#readersToMove()
      if (this.#outcome !== undefined) break
      let step: IteratorResult<Uint8Array, unknown> | undefined
      try {
        step = await this.#nextOf(source)
      } catch (cause) {
        if (this.#outcome === undefined)
          this.#break(new BrokenBodyError('SOURCE_FAILED', 'the source broke off', { cause }))
        return
      }
      if (step?.done) {
        if (this.#outcome === undefined) this.#finish()
        return
      }
      if (step !== undefined && this.#outcome === undefined) this.#take(step.value)
    }
    // Not waited for: a generator that waits for a chunk itself takes notice only after it.
    source.return?.().then(ignore, ignore)
  }

  /** Undefined when the filling ended before the source gave anything. */
  #nextOf(source: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array, unknown> | undefined> {
    return new Promise((resolve, reject) => {
      this.#stopReading = () => resolve(undefined)
      source.next().then(resolve, reject)
    })
  }

  #readersToMove(): Promise<void> {
    return new Promise((resolve) => {
      this.#readOn = resolve
    })
  }

  #take(chunk: Uint8Array): void {
    const length = this.#blocks.length + chunk.length
    if (this.#announcedBytes !== undefined && length > this.#announcedBytes) {
      this.#break(new BrokenBodyError('TOO_LONG', `more than the ${this.#announcedBytes} bytes announced`))
      return
    }
    if (!this.#passing && !this.#mayHold(chunk.length)) this.#pass()
    if (this.#outcome !== undefined) return
    this.#blocks.append(chunk)
    this.#wakeReaders()
  }

  #finish(): void {
    const length = this.#blocks.length
    if (this.#announcedBytes !== undefined && length < this.#announcedBytes) {
      this.#break(new BrokenBodyError('TOO_SHORT', `${length} of the ${this.#announcedBytes} bytes announced`))
    } else if (this.#passing || this.#forgotten) {
      // For its readers a purge means what outgrowing does: they get all of it, and nothing stays.
      this.#end('too-large')
    } else {
      this.#commit()
    }
  }

  #commit(): void {
    const bytes = this.#blocks.joined()
    this.#free()
    this.#kept = this.#place.commit(this, bytes)
    this.#kept.pin(this.#readers.size)
    this.#end('committed')
  }

  #break(error: BrokenBodyError): void {
    this.#error = error
    this.#end('failed')
  }

  #end(outcome: FillOutcome): void {
    if (this.#outcome !== undefined) return
    this.#outcome = outcome
    this.#place.ended(this)
    this.#stopReading?.()
    this.#readOn?.()
    this.#wakeReaders()
    if (this.#readers.size === 0) this.#free()
  }

  #wakeReaders(): void {
    for (const reader of this.#readers) reader.wake()
  }

  /** Reserves what `count` bytes more take; false: they may not be stored. */
  #mayHold(count: number): boolean {
    // Reserved as a whole from the start.
    if (this.#announcedBytes !== undefined) return true
    if (this.#blocks.length + count > this.#maxBytes) return false
    const growth = this.#blocks.growthFor(count)
    if (growth === 0) return true
    if (!this.#place.reserve(growth)) return false
    this.#reservedBytes += growth
    return true
  }

  #pass(): void {
    this.#passing = true
    if (this.#readers.size === 0) this.#end('too-large')
    else this.#dropRead()
  }

  #isAhead(): boolean {
    return this.#passing && this.#blocks.length - this.#slowestOffset() > PASSING_WINDOW_BYTES
  }

  #slowestOffset(): number {
    let slowest = Infinity
    for (const reader of this.#readers) slowest = Math.min(slowest, reader.offset)
    return slowest
  }

  #dropRead(): void {
    const before = this.#blocks.heldBytes
    this.#blocks.dropBefore(this.#slowestOffset())
    // The oldest blocks are the reserved ones; those that came since it passes are not.
    this.#unreserve(Math.min(this.#reservedBytes, before - this.#blocks.heldBytes))
    if (!this.#isAhead()) this.#readOn?.()
  }

  #free(): void {
    this.#blocks.dropAll()
    this.#unreserve(this.#reservedBytes)
  }

  #unreserve(bytes: number): void {
    this.#reservedBytes -= bytes
    this.#place.unreserve(bytes)
  }
}

function ignore(): void {
  // The source was given up: how it takes that is of no interest any more.
}
