import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ReplicaTable } from '../../../src/core/digest/replica-table.ts'
import { Replica } from '../../../src/core/digest/replica.ts'
import { geometryFor, type FilterGeometry } from '../../../src/core/filter/filter-geometry.ts'
import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { keyOf } from '../filter/test-keys.ts'
import { TestPublisher, bitsOf, decoded, finish, limits } from './test-publisher.ts'

const MAX_PEERS = 1024

/** Peers whose digests are followed, and a table over their replicas. */
class Cluster {
  readonly table: ReplicaTable
  readonly publishers: (TestPublisher | undefined)[] = []
  readonly replicas: (Replica | undefined)[] = []
  readonly #out = new Uint32Array(MAX_PEERS)
  #incarnation = 1

  constructor(slicedFrom: number) {
    this.table = new ReplicaTable({ slicedFrom })
  }

  join(peer: number, geometry: FilterGeometry): void {
    this.leave(peer)
    const replica = new Replica({ ...limits, makeBuffers: (state) => this.table.buffersFor(peer, state) })
    this.table.set(peer, replica)
    this.replicas[peer] = replica
    this.restart(peer, geometry)
  }

  /** A new life, perhaps of another geometry. */
  restart(peer: number, geometry: FilterGeometry): void {
    if (this.replicas[peer] === undefined) return
    this.publishers[peer] = new TestPublisher(geometry, this.#incarnation++)
    this.hear(peer, this.publishers[peer].snapshot())
  }

  leave(peer: number): void {
    this.table.set(peer, undefined)
    this.replicas[peer] = undefined
    this.publishers[peer] = undefined
  }

  hear(peer: number, frame: Uint8Array | undefined): void {
    if (frame !== undefined) this.replicas[peer]?.receive(decoded(frame))
  }

  work(steps: number): void {
    for (const replica of this.replicas) replica?.work(steps)
  }

  finish(): void {
    for (const replica of this.replicas) if (replica !== undefined) finish(replica)
  }

  candidates(key: KeyHash): number[] {
    return [...this.#out.subarray(0, this.table.candidates(key, this.#out))]
  }

  /** Those whose replica claims the key by its bits, read one by one. */
  claimants(key: KeyHash): number[] {
    return this.replicas.flatMap((replica, peer) => (replica?.mayContain(key) === true ? [peer] : []))
  }

  /** Every replica holds, bit for bit, a state that its publisher published. */
  get isExact(): boolean {
    return this.replicas.every((replica, peer) => {
      if (replica?.name === undefined) return true
      const publisher = this.publishers[peer]!
      return (
        replica.name.incarnation !== publisher.name.incarnation || publisher.published(replica.name, bitsOf(replica)!)
      )
    })
  }
}

const urls = Array.from({ length: 24 }, (_, n) => `http://www.example.com/${n}`)
const keys = urls.map(keyOf)
const small: FilterGeometry = { ...geometryFor(1), bitCount: 256 }

test('the candidates for a key are the peers whose digest may contain it, whatever their geometries', () => {
  const cluster = new Cluster(99)
  for (const [i, probeCount] of [4, 1, 6, 16, 4].entries()) {
    cluster.join(2 * i, geometryFor([100, 100, 400, 1000, 5000][i]!, 16, probeCount))
    cluster.publishers[2 * i]!.add(...urls.filter((_, n) => n % (i + 2) === 0))
    cluster.hear(2 * i, cluster.publishers[2 * i]!.delta())
  }
  cluster.finish()
  for (const key of keys) expect(cluster.candidates(key)).toEqual(cluster.claimants(key))
  expect(cluster.candidates(keys[0]!)).toEqual([0, 2, 4, 6, 8])
})

test('a peer taken out of the table is no candidate, and one without a proved state never is', () => {
  for (const slicedFrom of [1, 99]) {
    const cluster = new Cluster(slicedFrom)
    cluster.join(0, small)
    cluster.table.set(1, new Replica(limits))
    cluster.publishers[0]!.add(urls[0]!)
    cluster.hear(0, cluster.publishers[0]!.delta())
    expect(cluster.candidates(keys[0]!)).toEqual([])
    cluster.finish()
    expect(cluster.candidates(keys[0]!)).toEqual([0])
    cluster.leave(0)
    expect(cluster.candidates(keys[0]!)).toEqual([])
  }
})

describe('peers of one geometry', () => {
  function crowd(peers: number, slicedFrom: number): Cluster {
    const cluster = new Cluster(slicedFrom)
    for (let peer = 0; peer < peers; peer++) cluster.join(peer, small)
    cluster.finish()
    return cluster
  }
  const slicedIn = (cluster: Cluster): number =>
    cluster.replicas.filter((_, peer) => cluster.table.isSliced(peer)).length

  test('stand in arrays of their own while they are few, and in a matrix from a number on', () => {
    expect(slicedIn(crowd(15, 16))).toBe(0)
    expect(slicedIn(crowd(16, 16))).toBe(16)
    expect(slicedIn(crowd(200, 16))).toBe(200)
  })

  test('go back when they are half as many, and the matrix with them', () => {
    const cluster = crowd(40, 16)
    for (let peer = 0; peer < 32; peer++) cluster.leave(peer)
    cluster.finish()
    expect(slicedIn(cluster)).toBe(8)
    cluster.leave(32)
    cluster.finish()
    expect(slicedIn(cluster)).toBe(0)
    expect(cluster.candidates(keys[0]!)).toEqual([])
    expect(cluster.table.matrixBytes).toBe(0)
  })

  test('leave the larger part of a matrix that has become too large', () => {
    const cluster = crowd(300, 16)
    const full = cluster.table.matrixBytes
    for (let peer = 20; peer < 300; peer++) cluster.leave(peer)
    cluster.finish()
    cluster.candidates(keys[0]!)
    expect(cluster.table.matrixBytes).toBeLessThan(full / 4)
    expect(slicedIn(cluster)).toBe(20)
  })

  test('wait for a column while those who build have all of a word', () => {
    const cluster = crowd(16, 16)
    for (let peer = 0; peer < 16; peer++) cluster.hear(peer, cluster.publishers[peer]!.add(urls[0]!).turnover())
    // Each has its old state and a new one: 32 columns.
    cluster.work(1)
    cluster.join(16, small)
    cluster.hear(16, cluster.publishers[16]!.add(urls[0]!).delta())
    expect(cluster.replicas[16]!.work(1)).toBe(true)
    expect(cluster.replicas[16]!.state).toBeUndefined()
    cluster.finish()
    expect(cluster.candidates(keys[0]!)).toEqual(Array.from({ length: 17 }, (_, peer) => peer))
    expect(slicedIn(cluster)).toBe(17)
  })

  test('may be 1,024', () => {
    const cluster = crowd(MAX_PEERS, 16)
    for (let peer = 0; peer < MAX_PEERS; peer += 31) {
      cluster.publishers[peer]!.add(urls[0]!)
      cluster.hear(peer, cluster.publishers[peer]!.delta())
    }
    cluster.finish()
    expect(cluster.candidates(keys[0]!)).toEqual(Array.from({ length: Math.ceil(MAX_PEERS / 31) }, (_, i) => 31 * i))
    expect(slicedIn(cluster)).toBe(MAX_PEERS)
  })

  test('are found at every step of their way into a matrix and out of it', () => {
    const cluster = new Cluster(4)
    for (let peer = 0; peer < 3; peer++) {
      cluster.join(peer, geometryFor(64))
      cluster.publishers[peer]!.add(urls[peer]!)
      cluster.hear(peer, cluster.publishers[peer]!.delta())
    }
    cluster.finish()
    const claims = keys.map((key) => cluster.claimants(key))
    cluster.join(3, geometryFor(64))
    let steps = 0
    for (; cluster.replicas.some((replica) => replica!.hasWork); steps++) {
      cluster.work(1)
      expect(keys.map((key) => cluster.candidates(key))).toEqual(claims)
    }
    expect(steps).toBeGreaterThan(20)
    expect(slicedIn(cluster)).toBe(4)
    for (const peer of [3, 2, 1]) cluster.leave(peer)
    for (let left = 0; cluster.replicas[0]!.hasWork; left++) {
      cluster.work(1)
      expect(keys.map((key) => cluster.candidates(key))).toEqual(
        claims.map((peers) => peers.filter((peer) => peer === 0)),
      )
    }
    expect(slicedIn(cluster)).toBe(0)
  })
})

describe('a digest larger than the matrix', () => {
  const large = { ...small, bitCount: 1024 }

  function folded(): Cluster {
    const cluster = new Cluster(4)
    for (let peer = 0; peer < 4; peer++) cluster.join(peer, small)
    cluster.join(4, large)
    cluster.publishers[4]!.add(urls[0]!, urls[1]!)
    cluster.hear(4, cluster.publishers[4]!.delta())
    cluster.finish()
    return cluster
  }

  test('is folded onto it, and claims what it claims and no more', () => {
    const cluster = folded()
    expect(cluster.table.isSliced(4)).toBe(true)
    // The fold claims more than the digest: of many strangers some.
    for (let n = 0; n < 4000; n++) {
      const key = keyOf(`http://elsewhere.example/${n}`)
      expect(cluster.candidates(key)).toEqual(cluster.claimants(key))
    }
    expect(cluster.candidates(keys[0]!)).toEqual([4])
  })

  test('is found after deltas and at every step of a turnover', () => {
    const cluster = folded()
    const publisher = cluster.publishers[4]!
    cluster.hear(4, publisher.add(urls[2]!).delta())
    expect(cluster.candidates(keys[2]!)).toEqual([4])
    publisher.remove(urls[0]!)
    cluster.hear(4, publisher.turnover())
    for (let more = true; more;) {
      more = cluster.replicas[4]!.work(1)
      cluster.hear(4, undefined)
      for (const key of keys) expect(cluster.candidates(key)).toEqual(cluster.claimants(key))
    }
    expect(cluster.table.isSliced(4)).toBe(true)
    expect(cluster.candidates(keys[0]!)).toEqual([])
  })

  test('gets the bits of a delta that comes while it is being folded', () => {
    const cluster = folded()
    const publisher = cluster.publishers[4]!
    cluster.hear(4, publisher.turnover())
    for (let step = 0; cluster.table.isSliced(4); step++) cluster.replicas[4]!.work(1)
    cluster.replicas[4]!.work(8)
    expect(cluster.replicas[4]!.hasWork).toBe(true)
    cluster.hear(4, publisher.add(...urls.slice(3)).delta())
    cluster.finish()
    expect(cluster.table.isSliced(4)).toBe(true)
    for (const key of keys.slice(3)) expect(cluster.candidates(key)).toEqual([4])
  })

  test('leaves the matrix room to grow for digests of its own size', () => {
    const cluster = new Cluster(16)
    const sizes = [512, 1024, 2048]
    for (let peer = 0; peer < 45; peer++) cluster.join(peer, { ...small, bitCount: sizes[peer % 3]! })
    cluster.finish()
    for (let peer = 45; peer < 61; peer++) cluster.join(peer, small)
    cluster.finish()
    expect(Array.from({ length: 61 }, (_, peer) => cluster.table.isSliced(peer)).every(Boolean)).toBe(true)
    // None of them makes a larger matrix necessary.
    for (let peer = 61; peer < 69; peer++) {
      cluster.join(peer, small)
      expect(cluster.replicas.slice(0, 45).some((replica) => replica!.hasWork)).toBe(false)
    }
  })

  test('stands alone where it would fill more than half of the matrix', () => {
    const cluster = new Cluster(4)
    for (let peer = 0; peer < 4; peer++) cluster.join(peer, small)
    for (const [peer, entries] of [[4, 25] as const, [5, 80] as const]) {
      const publisher = new TestPublisher({ ...small, bitCount: 512 })
      publisher.add(...Array.from({ length: entries }, (_, n) => `http://full.example/${n}`)).delta()
      const replica = new Replica({ ...limits, makeBuffers: (state) => cluster.table.buffersFor(peer, state) })
      cluster.table.set(peer, replica)
      replica.receive(decoded(publisher.snapshot()))
      finish(replica)
    }
    expect(cluster.table.isSliced(4)).toBe(true)
    expect(cluster.table.isSliced(5)).toBe(false)
  })
})

test('whoever comes, goes, changes or starts anew, the candidates are those who claim the key', () => {
  const geometries: FilterGeometry[] = [small, small, small, { ...small, bitCount: 512 }, { ...small, probeCount: 3 }]
  const peer = fc.nat(11)
  const step = fc.oneof(
    fc.record({ kind: fc.constant('join' as const), peer, geometry: fc.constantFrom(...geometries) }),
    fc.record({ kind: fc.constant('restart' as const), peer, geometry: fc.constantFrom(...geometries) }),
    fc.record({ kind: fc.constantFrom('leave' as const, 'goodbye' as const), peer }),
    fc.record({ kind: fc.constantFrom('add' as const, 'remove' as const), peer, url: fc.constantFrom(...urls) }),
    fc.record({ kind: fc.constantFrom('delta' as const, 'turnover' as const, 'snapshot' as const), peer }),
    fc.record({ kind: fc.constant('work' as const), steps: fc.integer({ min: 1, max: 200 }) }),
  )
  let sliced = 0
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 20, maxLength: 120 }),
      fc.integer({ min: 1, max: 6 }),
      (steps, slicedFrom) => {
        const cluster = new Cluster(slicedFrom)
        for (const at of steps) {
          const publisher = 'peer' in at ? cluster.publishers[at.peer] : undefined
          if (at.kind === 'join') cluster.join(at.peer, at.geometry)
          else if (at.kind === 'restart') cluster.restart(at.peer, at.geometry)
          else if (at.kind === 'leave') cluster.leave(at.peer)
          else if (at.kind === 'work') cluster.work(at.steps)
          else if (publisher === undefined) continue
          else if (at.kind === 'add') publisher.add(at.url)
          else if (at.kind === 'remove') publisher.removeIfAdded(at.url)
          else if (at.kind === 'goodbye') cluster.replicas[at.peer]!.receive({ kind: 'goodbye', name: publisher.name })
          else cluster.hear(at.peer, publisher[at.kind]())
          for (const key of keys) expect(cluster.candidates(key)).toEqual(cluster.claimants(key))
          expect(cluster.isExact).toBe(true)
        }
        cluster.finish()
        for (const key of keys) expect(cluster.candidates(key)).toEqual(cluster.claimants(key))
        sliced += cluster.replicas.filter((_, i) => cluster.table.isSliced(i)).length
      },
    ),
    { numRuns: 300 },
  )
  expect(sliced).toBeGreaterThan(100)
})
