import assert from 'node:assert'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DirectoryEntry } from '../../../src/core/directory/cache-directory.ts'
import { Fields } from '../../../src/core/http/fields.ts'
import type { Filling, LiveBody, StoredResponse } from '../../../src/proxy/ports.ts'
import { keyOf, storedOf } from '../../core/directory/stored-responses.ts'
import { bytesOf, HandDrivenSource, joined, settled } from './hand-driven-source.ts'
import { bytesRead, readerOf, SmallStore } from './small-store.ts'

const key = keyOf('race')

describe('purging', () => {
  test('a fetch begun before a purge is not stored, nor joined by those who ask after it', async () => {
    const small = new SmallStore()
    const old = small.reserve(key)
    const before = bytesRead(old.open())
    const source = new HandDrivenSource()
    const outcome = old.fill(source)
    source.push(Buffer.from('o'))
    await settled()
    expect(small.store.purge(key)).toBe(0)
    expect(old.open()).toBeUndefined()
    const young = small.reserve(key, 3)

    source.push(Buffer.from('ld'))
    source.end()
    expect(await outcome).toBe('too-large')
    expect(Buffer.from(await before).toString()).toBe('old')
    expect(small.find(key)).toBeUndefined()

    expect(await young.fill(Buffer.from('new'))).toBe('committed')
    expect(small.find(key)!.bodyBytes).toBe(3)
    expect(small.directory.reservedBytes).toBe(0)
  })

  test('a fetch that nobody reads is given up by a purge', async () => {
    const small = new SmallStore()
    const source = new HandDrivenSource()
    const outcome = small.reserve(key, 3).fill(source)
    small.store.purge(key)
    expect(await outcome).toBe('unread')
    expect(source.cancelled).toBe(true)
    expect(small.directory.reservedBytes).toBe(0)
  })

  test('every variant goes, and other URLs stay', async () => {
    const small = new SmallStore()
    for (const vary of [{ a: '1' }, { a: '2' }]) await small.store.reserve(key, storedOf({ vary }), 1)!.fill(bytesOf(1))
    const other = await small.admit(keyOf('other'), bytesOf(1))
    expect(small.store.variantCount(key)).toBe(2)
    expect(small.store.purge(key)).toBe(2)
    expect(small.store.variantCount(key)).toBe(0)
    expect(small.store.find(key, Fields.of({ a: '1' }))).toBeUndefined()
    expect(small.find(keyOf('other'))).toBe(other)
  })
})

describe('readers of what has been removed', () => {
  test('its bytes stay reserved until the last has let go', async () => {
    const small = new SmallStore()
    const entry = await small.admit(key, bytesOf(1000))
    const [first, second] = [(await small.store.open(entry))!, (await small.store.open(entry))!]
    small.store.purge(key)
    expect([small.directory.usedBytes, small.directory.reservedBytes]).toEqual([0, entry.sizeBytes])
    expect(await small.store.open(entry)).toBeUndefined()
    first.release()
    first.release()
    expect(small.directory.reservedBytes).toBe(entry.sizeBytes)
    expect(await bytesRead(second)).toEqual(bytesOf(1000))
    second.release()
    expect(small.directory.reservedBytes).toBe(0)
  })

  test('a reader from before the commit counts as one', async () => {
    const small = new SmallStore()
    const filling = small.reserve(key, 1000)
    const reader = readerOf(filling.open())
    await filling.fill(bytesOf(1000))
    small.store.purge(key)
    expect(filling.open()).toBeUndefined()
    expect(small.directory.reservedBytes).toBeGreaterThan(1000)
    expect((await reader.next()).value).toEqual(bytesOf(1000))
    expect((await reader.next()).done).toBe(true)
    expect(small.directory.reservedBytes).toBe(0)
  })

  test('one that is being read, though evicted, leaves no room', async () => {
    const small = new SmallStore({ capacityBytes: 10_000 })
    const opened = (await small.store.open(await small.admit(keyOf(1), bytesOf(6000))))!
    expect(small.store.reserve(keyOf(2), storedOf(), 6000)).toBeUndefined()
    opened.release()
    await small.admit(keyOf(2), bytesOf(6000))
    expect([...small.directory.entries()].map((entry) => entry.key.url)).toEqual([keyOf(2).url])
  })
})

test('what is too large for the store or its budget is refused before anything is evicted', async () => {
  expect(new SmallStore({ maxObjectBytes: 20_000 }).store.reserve(key, storedOf(), 20_001)).toBeUndefined()
  const small = new SmallStore({ capacityBytes: 10_000, maxObjectBytes: 20_000 })
  await small.admit(keyOf(1), bytesOf(5000))
  expect(small.store.reserve(key, storedOf(), 10_000)).toBeUndefined()
  expect(small.store.reserve(key, storedOf({ padding: 10_000 }), undefined)).toBeUndefined()
  expect(small.directory.entryCount).toBe(1)
})

test('a validated entry is served with its new head', async () => {
  const small = new SmallStore()
  const entry = await small.admit(key, bytesOf(10))
  const refreshed = storedOf({ padding: 5, receivedMs: 1 })
  small.store.refresh(entry, refreshed)
  expect((await small.store.open(entry))!.stored).toBe(refreshed)
})

test('a hit counts with the eviction policy', async () => {
  const small = new SmallStore({ capacityBytes: 10_000 })
  const first = await small.admit(keyOf(1), bytesOf(3000))
  const second = await small.admit(keyOf(2), bytesOf(3000))
  ;(await small.store.open(first))!.release()
  await small.admit(keyOf(3), bytesOf(3000))
  expect([small.directory.holds(first), small.directory.holds(second)]).toEqual([true, false])
})

/** One filling of the random test, and what its source has sent. */
interface Flow {
  readonly filling: Filling<LiveBody>
  readonly source: HandDrivenSource
  readonly outcome: Promise<void> | undefined
  readonly sent: Uint8Array[]
  ended: boolean
}

class Watcher {
  readonly #opened: StoredResponse<LiveBody>
  readonly #expected: readonly Uint8Array[]
  readonly #got: Uint8Array[] = []
  ended = false

  constructor(opened: StoredResponse<LiveBody>, expected: readonly Uint8Array[]) {
    this.#opened = opened
    this.#expected = expected
  }

  /** Asks for one piece and looks whether it is the right one. */
  async read(): Promise<void> {
    if (this.ended) return
    if (this.#opened.body instanceof Uint8Array) this.#got.push(this.#opened.body)
    else {
      try {
        const { done, value } = await readerOf(this.#opened).next()
        if (done) this.ended = true
        else this.#got.push(value)
      } catch {
        this.ended = true
      }
    }
    const got = joined(this.#got)
    assert(Buffer.compare(got, joined(this.#expected).subarray(0, got.length)) === 0, 'another body’s bytes')
    if (this.#opened.body instanceof Uint8Array) this.release()
  }

  release(): void {
    this.ended = true
    this.#opened.release()
  }
}

test('no interleaving goes over the budget, mixes bodies or leaks a reservation', async () => {
  const step = fc.record({
    action: fc.constantFrom(
      'reserve',
      'reserve',
      'chunk',
      'chunk',
      'chunk',
      'end',
      'fail',
      'abort',
      'join',
      'open',
      'read',
      'read',
      'release',
      'purge',
      'refresh',
    ),
    key: fc.nat(4),
    choice: fc.nat(100),
    bytes: fc.oneof(fc.nat(20), fc.nat(3000), fc.nat(60_000)),
    announced: fc.boolean(),
    padding: fc.nat(4000),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120, size: 'max' }), async (steps) => {
      const small = new SmallStore({ capacityBytes: 150_000, maxObjectBytes: 70_000 })
      const { directory, store } = small
      const flows: Flow[] = []
      const watchers: Watcher[] = []
      const reads: Promise<void>[] = []
      const bodies = new Map<DirectoryEntry, readonly Uint8Array[]>()
      const pick = <T>(list: readonly T[], choice: number): T | undefined => list[choice % Math.max(1, list.length)]
      for (const [number, { action, key: path, choice, bytes, announced, padding }] of steps.entries()) {
        const flow = pick(flows, choice)
        const entry = pick([...directory.entries()], choice)
        const watcher = pick(watchers, choice)
        switch (action) {
          case 'reserve': {
            const filling = store.reserve(keyOf(path), storedOf({ padding }), announced ? bytes : undefined)
            if (filling === undefined) break
            const source = new HandDrivenSource()
            const sent: Uint8Array[] = []
            const opened = choice % 4 === 0 ? undefined : filling.open()
            if (opened !== undefined) watchers.push(new Watcher(opened, sent))
            const fill = async () => {
              if ((await filling.fill(source)) !== 'committed') return
              for (const one of directory.entries()) if (!bodies.has(one)) bodies.set(one, sent)
            }
            const outcome = choice % 10 === 1 ? undefined : fill()
            flows.push({ filling, source, outcome, sent, ended: false })
            if (announced) {
              sent.push(bytesOf(bytes, number))
              source.push(sent[0]!)
            }
            break
          }
          case 'chunk':
            if (flow === undefined || flow.ended) break
            flow.sent.push(bytesOf(bytes, number))
            flow.source.push(flow.sent.at(-1)!)
            break
          case 'end':
            if (flow === undefined) break
            flow.source.end()
            flow.ended = true
            break
          case 'fail':
            if (flow === undefined) break
            flow.source.fail(new Error('broken off'))
            flow.ended = true
            break
          case 'abort':
            flow?.filling.abort()
            break
          case 'join': {
            const opened = flow?.filling.open()
            if (flow !== undefined && opened !== undefined) watchers.push(new Watcher(opened, flow.sent))
            break
          }
          case 'open': {
            const opened = entry === undefined ? undefined : await store.open(entry)
            if (entry !== undefined && opened !== undefined) watchers.push(new Watcher(opened, bodies.get(entry)!))
            break
          }
          case 'read':
            // One at a time for each: the one before is over, or the watcher waits and is not asked again.
            if (watcher !== undefined) {
              watchers.splice(watchers.indexOf(watcher), 1)
              reads.push(watcher.read().then(() => void watchers.push(watcher)))
            }
            break
          case 'release':
            watcher?.release()
            break
          case 'purge':
            store.purge(keyOf(path))
            break
          case 'refresh':
            if (entry !== undefined) store.refresh(entry, storedOf({ padding }))
            break
        }
        await settled()
        const used = [...directory.entries()].reduce((sum, one) => sum + one.sizeBytes, 0)
        expect(directory.usedBytes).toBe(used)
        expect(directory.usedBytes + directory.reservedBytes).toBeLessThanOrEqual(directory.capacityBytes)
      }
      for (const { filling, source, outcome } of flows) {
        source.end()
        filling.abort()
        await outcome
      }
      await Promise.all(reads)
      for (const watcher of watchers) watcher.release()
      expect(directory.reservedBytes).toBe(0)
      for (const entry of directory.entries()) {
        expect(Buffer.compare(await bytesRead(await store.open(entry)), joined(bodies.get(entry)!))).toBe(0)
      }
    }),
    { numRuns: 150 },
  )
})
