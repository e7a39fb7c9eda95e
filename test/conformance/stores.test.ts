import { describe, expect, test } from 'vitest'
import { Fields } from '../../src/core/http/fields.ts'
import type { CacheStore, LiveBody } from '../../src/proxy/ports.ts'
import { bytesOf, cut, HandDrivenSource, settled } from '../adapters/store/hand-driven-source.ts'
import { bytesRead, SmallStore, type StoreSizes } from '../adapters/store/small-store.ts'
import { keyOf, storedOf } from '../core/directory/stored-responses.ts'

// What CacheProxy relies on, whatever keeps the bodies. Every store is run through it.
const stores: readonly [string, (sizes?: StoreSizes) => CacheStore<LiveBody>][] = [
  ['memory', (sizes) => new SmallStore(sizes).store],
]

const key = keyOf('page')
const body = bytesOf(10_000)

describe.each(stores)('store %s', (_, empty) => {
  test('a response is found from its commit on, and every reader gets its bytes', async () => {
    const store = empty()
    const stored = storedOf()
    const filling = store.reserve(key, stored, body.length)!
    expect(filling.stored).toBe(stored)
    const early = bytesRead(filling.open())
    expect(store.find(key, Fields.none)).toBeUndefined()
    expect(await filling.fill(body)).toBe('committed')
    expect(await early).toEqual(body)
    const entry = store.find(key, Fields.none)!
    for (let i = 0; i < 2; i++) {
      const opened = (await store.open(entry))!
      expect([opened.stored, opened.bodyBytes]).toEqual([stored, body.length])
      expect(await bytesRead(opened)).toEqual(body)
      opened.release()
    }
  })

  test.each([body.length, undefined])(
    'a reader of a body still coming in gets it chunk by chunk (length %s)',
    async (announced) => {
      const store = empty()
      const filling = store.reserve(key, storedOf(), announced)!
      const opened = filling.open()!
      expect(opened.bodyBytes).toBe(announced)
      const source = new HandDrivenSource()
      const outcome = filling.fill(source)
      const read = bytesRead(opened)
      for (const chunk of cut(body, [1, 999, 3000])) {
        source.push(chunk)
        await settled()
      }
      source.end()
      expect(await outcome).toBe('committed')
      expect(await read).toEqual(body)
    },
  )

  test('a request finds the variant that its fields select, and a purge takes them all', async () => {
    const store = empty()
    for (const coding of ['gzip', 'br']) {
      await store
        .reserve(key, storedOf({ vary: { 'accept-encoding': coding } }), 2)!
        .fill(Buffer.from(coding.slice(0, 2)))
    }
    for (const coding of ['gzip', 'br']) {
      const entry = store.find(key, Fields.of({ 'Accept-Encoding': coding }))!
      expect(Buffer.from(await bytesRead(await store.open(entry))).toString()).toBe(coding.slice(0, 2))
    }
    expect(store.find(key, Fields.of({ 'Accept-Encoding': 'zstd' }))).toBeUndefined()
    expect(store.variantCount(key)).toBe(2)
    expect(store.purge(key)).toBe(2)
    expect([store.variantCount(key), store.purge(key)]).toEqual([0, 0])
  })

  test('an entry removed since it was found does not open, and its readers are not disturbed', async () => {
    const store = empty()
    await store.reserve(key, storedOf(), body.length)!.fill(body)
    const entry = store.find(key, Fields.none)!
    const opened = (await store.open(entry))!
    store.purge(key)
    expect(await store.open(entry)).toBeUndefined()
    for (let n = 0; n < 20; n++)
      await store.reserve(keyOf(n), storedOf(), body.length)!.fill(bytesOf(body.length, n + 1))
    expect(await bytesRead(opened)).toEqual(body)
    opened.release()
  })

  test('what is evicted to make room was there before, and what pushed it out is there now', async () => {
    const store = empty({ capacityBytes: 50_000, maxObjectBytes: 20_000 })
    for (let n = 0; n < 20; n++)
      expect(await store.reserve(keyOf(n), storedOf(), 10_000)!.fill(bytesOf(10_000, n))).toBe('committed')
    const held = Array.from({ length: 20 }, (__, n) => n).filter((n) => store.find(keyOf(n), Fields.none) !== undefined)
    expect(held).toHaveLength(4)
    expect(held).toContain(19)
    for (const n of held) {
      expect(await bytesRead(await store.open(store.find(keyOf(n), Fields.none)!))).toEqual(bytesOf(10_000, n))
    }
  })

  test('a body that breaks off is not stored, and neither is one fetched before a purge', async () => {
    const store = empty()
    const broken = new HandDrivenSource()
    const failed = store.reserve(key, storedOf(), undefined)!.fill(broken)
    broken.push(body)
    broken.fail(new Error('reset'))
    expect(await failed).toBe('failed')

    const filling = store.reserve(key, storedOf(), undefined)!
    const read = bytesRead(filling.open())
    const source = new HandDrivenSource()
    const outcome = filling.fill(source)
    store.purge(key)
    source.push(body)
    source.end()
    expect(await outcome).not.toBe('committed')
    expect(await read).toEqual(body)
    expect(store.find(key, Fields.none)).toBeUndefined()
  })

  test('a response too large for it is refused, or reaches its reader all the same', async () => {
    const store = empty({ maxObjectBytes: 5000 })
    expect(store.reserve(key, storedOf(), 5001)).toBeUndefined()
    const filling = store.reserve(key, storedOf(), undefined)!
    const read = bytesRead(filling.open())
    expect(await filling.fill(body)).toBe('too-large')
    expect(await read).toEqual(body)
    expect(store.find(key, Fields.none)).toBeUndefined()
  })

  test('after a validation the body is served with the new head', async () => {
    const store = empty()
    await store.reserve(key, storedOf(), body.length)!.fill(body)
    const entry = store.find(key, Fields.none)!
    const refreshed = storedOf({ receivedMs: 1, padding: 100 })
    store.refresh(entry, refreshed)
    const opened = (await store.open(entry))!
    expect(opened.stored).toBe(refreshed)
    expect(await bytesRead(opened)).toEqual(body)
  })
})
