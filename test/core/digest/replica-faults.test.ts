import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Replica } from '../../../src/core/digest/replica.ts'
import { geometryFor, type FilterGeometry } from '../../../src/core/filter/filter-geometry.ts'
import { keyOf } from '../filter/test-keys.ts'
import { TestPublisher, bitsOf, decoded, finish, limits } from './test-publisher.ts'

const geometry: FilterGeometry = { ...geometryFor(1), bitCount: 512 }

const url = (n: number): string => `http://www.example.com/${n}`

const event = fc.oneof(
  { weight: 6, arbitrary: fc.record({ what: fc.constant('change' as const), n: fc.nat(29) }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('delta' as const), n: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('turnover' as const), n: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('snapshot' as const), n: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('repair' as const), n: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('heartbeat' as const), n: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('restart' as const), n: fc.nat(9) }) },
  { weight: 9, arbitrary: fc.record({ what: fc.constant('arrive' as const), n: fc.nat(99) }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('work' as const), n: fc.nat(40) }) },
)

/** A publisher, a network that loses, repeats and reorders, and the replica at its other end. */
class FaultyWorld {
  readonly replica = new Replica(limits)
  readonly flying: Uint8Array[] = []
  readonly held = new Set<number>()
  readonly lives: TestPublisher[] = [new TestPublisher(geometry, 1)]

  get publisher(): TestPublisher {
    return this.lives.at(-1)!
  }

  step(what: string, n: number): void {
    const { publisher } = this
    if (what === 'change') this.change(n)
    else if (what === 'delta') this.flying.push(publisher.delta())
    else if (what === 'turnover') this.flying.push(publisher.turnover())
    else if (what === 'snapshot') this.flying.push(publisher.snapshot())
    else if (what === 'heartbeat') this.flying.push(publisher.heartbeat())
    else if (what === 'repair' && publisher.name.sequence > n) this.flying.push(publisher.repair(n))
    else if (what === 'restart' && n === 0) this.restart()
    else if (what === 'work') this.replica.work(n)
    else if (what === 'arrive' && this.flying.length > 0) this.arrive(n)
  }

  change(n: number): void {
    if (this.held.delete(n)) this.publisher.remove(url(n))
    else this.publisher.add(...(this.held.add(n) && [url(n)]))
  }

  restart(): void {
    this.lives.push(new TestPublisher(geometry, this.lives.length + 1))
    this.held.clear()
  }

  /** Any of those in flight; one time in three it stays there, to arrive again. */
  arrive(n: number): void {
    const index = n % this.flying.length
    this.replica.receive(decoded(this.flying[index]!))
    if (n % 3 !== 0) this.flying.splice(index, 1)
  }

  /** Of a claimed state every bit is right, unless a delta already proved is being raised: then none is lost. */
  get isRight(): boolean {
    const { name } = this.replica
    const bits = bitsOf(this.replica)
    if (name === undefined || bits === undefined) return this.replica.state === undefined
    const publisher = this.lives[name.incarnation - 1]!
    return this.replica.work(0) ? publisher.rising(name, bits) : publisher.published(name, bits)
  }

  get isExact(): boolean {
    const { name } = this.replica
    const bits = bitsOf(this.replica)
    return name !== undefined && bits !== undefined && this.publisher.published(name, bits)
  }
}

describe('a replica under loss, repetition, reordering and restarts', () => {
  test('never has a wrong bit under the name it claims, never goes back, and ends where the publisher is', () => {
    fc.assert(
      fc.property(fc.array(event, { minLength: 20, maxLength: 120 }), (events) => {
        const world = new FaultyWorld()
        const { replica } = world
        let highest = ''
        for (const { what, n } of events) {
          world.step(what, n)
          expect(world.isRight).toBe(true)
          expect(replica.lastRefusal).toBeUndefined()
          const { name } = replica
          const now = name === undefined ? '' : [name.incarnation, name.generation, name.sequence].map(pad).join('.')
          expect(now === '' || now >= highest).toBe(true)
          if (now !== '') highest = now
        }
        // The network heals: the publisher's heartbeat tells the replica whether it lacks anything.
        for (let tries = 0; tries < 5; tries++) {
          replica.receive(decoded(world.publisher.heartbeat()))
          finish(replica)
          if (!replica.lacks) break
          for (const frame of world.publisher.catchUp(replica.have)) replica.receive(decoded(frame))
          finish(replica)
        }
        expect(replica.lacks).toBe(false)
        expect(replica.name).toEqual(world.publisher.name)
        expect(world.isExact).toBe(true)
        world.flying.push(world.publisher.delta())
        world.arrive(world.flying.length - 1)
        finish(replica)
        expect([...world.held].every((n) => replica.mayContain(keyOf(url(n))))).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  const pad = (n: number): string => String(n).padStart(5, '0')
})
