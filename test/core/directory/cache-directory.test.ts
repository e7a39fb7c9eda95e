import assert from 'node:assert'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  CacheDirectory,
  type ClaimListener,
  type DirectoryEntry,
  type RemovalCause,
} from '../../../src/core/directory/cache-directory.ts'
import type { Slot } from '../../../src/core/directory/eviction-policy.ts'
import { entrySizeBytes } from '../../../src/core/directory/entry-size.ts'
import { DEFAULT_EVICTION_KIND, evictionKinds } from '../../../src/core/directory/eviction-kinds.ts'
import type { CacheKey } from '../../../src/core/http/cache-key.ts'
import { Fields } from '../../../src/core/http/fields.ts'
import { keyOf, storedOf } from './stored-responses.ts'

/** A set that fails when told twice of the same thing, as a counting filter would go wrong. */
class Claims implements ClaimListener {
  readonly holders = new Map<string, Slot>()
  readonly told: string[] = []

  get urls(): ReadonlySet<string> {
    return new Set(this.holders.keys())
  }

  claimed(key: CacheKey, holder: Slot): void {
    assert(!this.holders.has(key.url), `${key.url} was claimed twice`)
    this.holders.set(key.url, holder)
    this.told.push(`+${key.url}`)
  }

  unclaimed(key: CacheKey, holder: Slot): void {
    assert(this.holders.get(key.url) === holder, `${key.url} was not claimed by slot ${holder}`)
    this.holders.delete(key.url)
    this.told.push(`-${key.url}`)
  }

  moved(key: CacheKey, from: Slot, to: Slot): void {
    assert(this.holders.get(key.url) === from, `${key.url} was not claimed by slot ${from}`)
    this.holders.set(key.url, to)
  }
}

/** Slot by slot, each claim once. */
function claimedUrls(directory: CacheDirectory): string[] {
  const urls: string[] = []
  for (let slot = 0; slot < directory.slotCount; slot++)
    directory.forEachClaim(slot, slot + 1, ({ url }) => urls.push(url))
  return urls
}

interface Options {
  readonly capacityBytes?: number
  readonly maxVariants?: number
}

function directoryOf({ capacityBytes = 1_000_000, ...options }: Options = {}) {
  const claims = new Claims()
  const removed: [DirectoryEntry, RemovalCause][] = []
  const directory = new CacheDirectory(evictionKinds[DEFAULT_EVICTION_KIND](), claims, { capacityBytes, ...options })
  directory.onRemoved((entry, cause) => removed.push([entry, cause]))
  return { directory, claims, removed }
}

const gzip = { 'accept-encoding': 'gzip' }
const br = { 'accept-encoding': 'br' }
const MINUTE_MS = 60_000

describe('finding', () => {
  const { directory } = directoryOf()
  const key = keyOf('page')

  test('a variant that has expired does not hide a valid one behind it', () => {
    const valid = directory.admit(key, storedOf({ vary: br, lifetimeMs: MINUTE_MS }), 2, 0)
    const expired = directory.admit(key, storedOf({ vary: gzip, lifetimeMs: 1000 }), 2, 0)
    directory.expire(5000)
    expect(directory.find(key, Fields.of(br))).toBe(valid)
    expect(directory.find(key, Fields.of(gzip))).toBe(expired)
    expect(directory.find(key, Fields.none)).toBeUndefined()
  })

  test('of several that match the latest is found, and validating one makes it the latest (RFC 9111 §4.1)', () => {
    const other = keyOf('matches-twice')
    const early = directory.admit(other, storedOf({ vary: gzip }), 1, 0)
    const late = directory.admit(other, storedOf({ vary: { 'user-agent': 'a' } }), 1, 1000)
    const request = Fields.of({ ...gzip, 'user-agent': 'a' })
    expect(directory.find(other, request)).toBe(late)
    directory.refresh(early, storedOf({ vary: gzip, receivedMs: 2000 }), 2000)
    expect(directory.find(other, request)).toBe(early)
    expect(directory.variantsOf(other)).toEqual([early, late])
    expect(directory.variantCount(other)).toBe(2)
  })

  test('an entry is not found under another URL with the same hash', () => {
    directory.admit(key, storedOf(), 2, 0)
    expect(directory.find({ ...key, url: 'http://example.com/forged' }, Fields.none)).toBeUndefined()
  })
})

describe('room', () => {
  test('an entry counts for body, head, URL and its share of the structures', () => {
    const { directory } = directoryOf()
    const small = directory.admit(keyOf('x'), storedOf(), 0, 0)
    const large = directory.admit(keyOf('x/and/more'), storedOf({ padding: 100 }), 5000, 0)
    expect(small.sizeBytes).toBeGreaterThan(keyOf('x').url.length)
    expect(large.sizeBytes - small.sizeBytes).toBeGreaterThanOrEqual(
      5000 + '/and/more'.length + 'X-Padding'.length + 100,
    )
    expect(directory.usedBytes).toBe(small.sizeBytes + large.sizeBytes)
  })

  test('the same variant takes the place of the one before, another one stands beside it', () => {
    const { directory, removed } = directoryOf()
    const key = keyOf('page')
    const first = directory.admit(key, storedOf({ vary: gzip }), 10, 0)
    const beside = directory.admit(key, storedOf({ vary: br }), 20, 0)
    const again = directory.admit(key, storedOf({ vary: gzip }), 30, 0)
    expect(removed).toEqual([[first, 'replaced']])
    expect(new Set(directory.entries())).toEqual(new Set([beside, again]))
    expect(directory.holds(first)).toBe(false)
    expect(directory.holds(again)).toBe(true)
    expect(directory.usedBytes).toBe(beside.sizeBytes + again.sizeBytes)
  })

  test('a URL with a variant per browser keeps its latest and leaves others alone', () => {
    const { directory, removed } = directoryOf({ capacityBytes: 100_000_000, maxVariants: 4 })
    const neighbour = directory.admit(keyOf('neighbour'), storedOf(), 10, 0)
    for (let n = 0; n < 20_000; n++) directory.admit(keyOf('ua'), storedOf({ vary: { 'user-agent': `${n}` } }), 10, 0)
    expect(directory.variantsOf(keyOf('ua')).map((entry) => entry.stored.variant)).toEqual(
      [19_999, 19_998, 19_997, 19_996].map((n) => JSON.stringify(['user-agent', `${n}`])),
    )
    expect(directory.holds(neighbour)).toBe(true)
    expect(directory.entryCount).toBe(5)
    expect(directory.evictionCount).toBe(19_996)
    expect(removed.every(([, cause]) => cause === 'evicted')).toBe(true)
  })

  test('what can never fit evicts nothing', () => {
    const { directory } = directoryOf({ capacityBytes: 10_000 })
    directory.admit(keyOf(1), storedOf(), 100, 0)
    expect(directory.makeRoom(10_001)).toBe(false)
    directory.reserve(5000)
    expect(directory.makeRoom(5001)).toBe(false)
    expect(directory.entryCount).toBe(1)
    expect(() => directory.admit(keyOf(2), storedOf(), 9999, 0)).toThrow('without room')
  })

  test('reservations push entries out, and give their room back', () => {
    const { directory, removed } = directoryOf({ capacityBytes: 10_000 })
    const first = directory.admit(keyOf(1), storedOf(), 2000, 0)
    const second = directory.admit(keyOf(2), storedOf(), 2000, 0)
    expect(directory.makeRoom(5000)).toBe(true)
    directory.reserve(5000)
    expect(removed).toEqual([[first, 'evicted']])
    directory.unreserve(5000)
    expect(directory.reservedBytes).toBe(0)
    expect(directory.usedBytes).toBe(second.sizeBytes)
    expect(() => directory.unreserve(1)).toThrow('more was given back')
    expect(() => directory.reserve(10_000)).toThrow('without room')
  })

  test('a victim whose bytes stay reserved for its readers leaves no room', () => {
    const { directory } = directoryOf({ capacityBytes: 10_000 })
    directory.onRemoved((entry) => directory.reserve(entry.sizeBytes))
    const entry = directory.admit(keyOf(1), storedOf(), 6000, 0)
    expect(directory.makeRoom(5000)).toBe(false)
    expect([directory.usedBytes, directory.reservedBytes]).toEqual([0, entry.sizeBytes])
  })

  test('a hit spares an entry, and one that has gone has no more hits', () => {
    const { directory } = directoryOf({ capacityBytes: 10_000 })
    const first = directory.admit(keyOf(1), storedOf(), 2000, 0)
    const second = directory.admit(keyOf(2), storedOf(), 2000, 0)
    directory.hit(first)
    directory.makeRoom(5000)
    expect(directory.holds(first)).toBe(true)
    expect(directory.holds(second)).toBe(false)
    const third = directory.admit(keyOf(3), storedOf(), 10, 0)
    expect(third.slot).toBe(second.slot)
    directory.hit(second)
    directory.remove(second)
    directory.remove(first)
    expect([...directory.entries()]).toEqual([third])
  })
})

describe('refreshing', () => {
  test('a larger head may cost other entries their room', () => {
    const { directory, removed } = directoryOf({ capacityBytes: 10_000 })
    const first = directory.admit(keyOf(1), storedOf(), 3000, 0)
    const second = directory.admit(keyOf(2), storedOf(), 3000, 0)
    expect(directory.refresh(second, storedOf({ padding: 3000 }), 0)).toBe(true)
    expect(removed).toEqual([[first, 'evicted']])
    expect(directory.usedBytes).toBe(entrySizeBytes(keyOf(2), storedOf({ padding: 3000 }), 3000))
  })

  test('an entry whose larger head has no room goes', () => {
    for (const reserved of [1000, 5000]) {
      const { directory, claims, removed } = directoryOf({ capacityBytes: 10_000 })
      const entry = directory.admit(keyOf(1), storedOf(), 3000, 0)
      directory.reserve(reserved)
      expect(directory.refresh(entry, storedOf({ padding: 5500 }), 0)).toBe(false)
      expect(removed).toEqual([[entry, 'evicted']])
      expect(directory.usedBytes).toBe(0)
      expect(claims.urls.size).toBe(0)
      expect(directory.refresh(entry, storedOf(), 0)).toBe(false)
    }
  })

  test('an entry that becomes the same variant as another takes its place', () => {
    const { directory, removed } = directoryOf()
    const first = directory.admit(keyOf(1), storedOf({ vary: gzip }), 10, 0)
    const second = directory.admit(keyOf(1), storedOf({ vary: br }), 20, 0)
    directory.refresh(first, storedOf({ vary: br }), 0)
    expect(removed).toEqual([[second, 'replaced']])
    expect(directory.find(keyOf(1), Fields.of(br))).toBe(first)
  })
})

describe('claims (PROTOCOL rule 14)', () => {
  test('several variants of a URL count once: the first adds the key, the last removes it', () => {
    const { directory, claims } = directoryOf()
    const key = keyOf('v')
    directory.admit(key, storedOf({ vary: gzip }), 1, 0)
    const second = directory.admit(key, storedOf({ vary: br }), 1, 0)
    directory.admit(key, storedOf({ vary: br }), 1, 0)
    expect(directory.holds(second)).toBe(false)
    for (const entry of directory.variantsOf(key)) {
      expect(directory.claims(key)).toBe(true)
      directory.remove(entry)
    }
    expect(claims.told).toEqual([`+${key.url}`, `-${key.url}`])
  })

  test('neither a stale response nor one that must be validated is claimed', () => {
    const { directory, claims } = directoryOf()
    directory.admit(keyOf(1), storedOf({ lifetimeMs: 1000, receivedMs: 0 }), 1, 1000)
    directory.admit(keyOf(2), storedOf({ noCache: true }), 1, 0)
    directory.admit(keyOf(3), storedOf({ lifetimeMs: -Infinity }), 1, 0)
    expect(claims.told).toEqual([])
    expect(claimedUrls(directory)).toEqual([])
  })

  test('an entry leaves within a minute of going stale, ticked every half-minute, and stays in the directory', () => {
    for (const lifetimeMs of [1, 29_999, 30_000, 30_001, 59_000, 123_456, 3_600_000]) {
      const { directory, claims } = directoryOf()
      const entry = directory.admit(keyOf(1), storedOf({ lifetimeMs, receivedMs: 17_000 }), 1, 17_000)
      let nowMs = 17_000
      for (; nowMs < 17_000 + lifetimeMs; nowMs += 30_000) {
        directory.expire(nowMs)
        expect(claims.urls.size).toBe(1)
      }
      while (nowMs + 30_000 <= 17_000 + lifetimeMs + MINUTE_MS) directory.expire((nowMs += 30_000))
      expect(claims.urls.size).toBe(0)
      expect(directory.holds(entry)).toBe(true)
    }
  })

  test('lifetimes beyond any clock stay claimed, long ones to their end', () => {
    const { directory, claims } = directoryOf()
    const yearsMs = 2 ** 31 * 100
    directory.admit(keyOf(1), storedOf({ lifetimeMs: Infinity }), 1, 0)
    directory.admit(keyOf(2), storedOf({ lifetimeMs: 1e300 }), 1, 0)
    directory.admit(keyOf(3), storedOf({ lifetimeMs: yearsMs }), 1, 0)
    directory.expire(yearsMs - 1)
    expect(claims.urls.size).toBe(3)
    directory.expire(yearsMs + MINUTE_MS)
    expect([...claims.urls]).toEqual([keyOf(1).url, keyOf(2).url])
  })

  test('a validated entry comes back', () => {
    const { directory, claims } = directoryOf()
    const entry = directory.admit(keyOf(1), storedOf({ lifetimeMs: 1000 }), 1, 0)
    directory.expire(MINUTE_MS)
    directory.refresh(entry, storedOf({ lifetimeMs: 1000, receivedMs: 70_000 }), 70_000)
    expect(claims.told).toEqual([`+${entry.key.url}`, `-${entry.key.url}`, `+${entry.key.url}`])
    directory.expire(70_000 + MINUTE_MS)
    expect(claims.urls.size).toBe(0)
  })

  test('a refresh before the end moves the end', () => {
    const { directory, claims } = directoryOf()
    const entry = directory.admit(keyOf(1), storedOf({ lifetimeMs: MINUTE_MS }), 1, 0)
    directory.refresh(entry, storedOf({ lifetimeMs: MINUTE_MS, receivedMs: 50_000 }), 50_000)
    directory.expire(100_000)
    expect(claims.told).toEqual([`+${entry.key.url}`])
    directory.expire(150_000)
    expect(claims.urls.size).toBe(0)
  })
})

describe('any sequence of changes', () => {
  const step = fc.record({
    action: fc.constantFrom(
      'admit',
      'admit',
      'admit',
      'refresh',
      'expire',
      'purge',
      'remove',
      'hit',
      'reserve',
      'unreserve',
    ),
    key: fc.nat(6),
    variant: fc.nat(4),
    choice: fc.nat(1000),
    bodyBytes: fc.nat(3000),
    lifetimeMs: fc.oneof(fc.integer({ min: -1000, max: 200_000 }), fc.constantFrom(Infinity, -Infinity, 1e15)),
    passedMs: fc.oneof(fc.constant(0), fc.nat(50_000), fc.nat(5_000_000)),
  })

  test('leaves the claims of a plain list, and never goes over the budget', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
        const capacityBytes = 20_000
        const { directory, claims } = directoryOf({ capacityBytes, maxVariants: 3 })
        const model = new Map<DirectoryEntry, { untilMs: number; fresh: boolean }>()
        directory.onRemoved((entry) => model.delete(entry))
        let nowMs = 0
        let reservedBytes = 0
        for (const { action, key, variant, choice, bodyBytes, lifetimeMs, passedMs } of steps) {
          nowMs += passedMs
          const judged = { untilMs: nowMs + lifetimeMs, fresh: lifetimeMs > 0 }
          const stored = storedOf({
            lifetimeMs,
            receivedMs: nowMs,
            vary: variant === 0 ? {} : { 'x-v': `${variant}` },
            padding: choice,
          })
          const entries = [...directory.entries()]
          const entry = entries[choice % Math.max(1, entries.length)]
          switch (action) {
            case 'admit':
              if (directory.makeRoom(entrySizeBytes(keyOf(key), stored, bodyBytes))) {
                model.set(directory.admit(keyOf(key), stored, bodyBytes, nowMs), judged)
              }
              break
            case 'refresh':
              if (entry !== undefined && directory.refresh(entry, stored, nowMs)) model.set(entry, judged)
              break
            case 'expire':
              directory.expire(nowMs)
              for (const one of model.values()) {
                if (Math.floor(one.untilMs / 30_000) < Math.floor(nowMs / 30_000)) one.fresh = false
              }
              break
            case 'purge': {
              const count = entries.filter((other) => other.key.url === keyOf(key).url).length
              assert.equal(directory.purge(keyOf(key)), count)
              assert.equal(directory.variantCount(keyOf(key)), 0)
              break
            }
            case 'remove':
              if (entry !== undefined) directory.remove(entry)
              break
            case 'hit':
              if (entry !== undefined) directory.hit(entry)
              break
            case 'reserve':
              if (!directory.makeRoom(bodyBytes)) break
              directory.reserve(bodyBytes)
              reservedBytes += bodyBytes
              break
            case 'unreserve':
              directory.unreserve(reservedBytes)
              reservedBytes = 0
              break
          }
          const held = [...directory.entries()]
          expect(new Set(held)).toEqual(new Set(model.keys()))
          expect(directory.entryCount).toBe(held.length)
          expect(directory.usedBytes).toBe(held.reduce((sum, one) => sum + one.sizeBytes, 0))
          expect(directory.reservedBytes).toBe(reservedBytes)
          expect(directory.usedBytes + reservedBytes).toBeLessThanOrEqual(capacityBytes)
          const fresh = new Set([...model].filter(([, one]) => one.fresh).map(([one]) => one.key.url))
          expect(claims.urls).toEqual(fresh)
          expect(claimedUrls(directory).toSorted()).toEqual([...fresh].toSorted())
          for (const [url, holder] of claims.holders) {
            const standing: string[] = []
            directory.forEachClaim(holder, holder + 1, (claimed) => standing.push(claimed.url))
            expect(standing).toEqual([url])
          }
          for (const one of held) expect(directory.variantsOf(one.key).length).toBeLessThanOrEqual(3)
        }
      }),
      { numRuns: 60 },
    )
  })
})
