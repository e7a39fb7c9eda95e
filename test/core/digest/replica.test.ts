import { describe, expect, test } from 'vitest'
import {
  encodeDelta,
  encodeGoodbye,
  encodeHeartbeat,
  encodeTurnover,
  encodeWant,
} from '../../../src/core/digest/digest-codec.ts'
import { DoubleBuffer } from '../../../src/core/digest/double-buffer.ts'
import { Replica } from '../../../src/core/digest/replica.ts'
import { encodeSnapshot } from '../../../src/core/digest/snapshot-encoder.ts'
import { BitArray } from '../../../src/core/filter/bit-array.ts'
import type { StateHead } from '../../../src/core/digest/state-head.ts'
import { geometryFor, type FilterGeometry } from '../../../src/core/filter/filter-geometry.ts'
import { keyOf, randomPositions, seededRandom } from '../filter/test-keys.ts'
import { TestPublisher, bitsAt, bitsOf, decoded, finish, limits, stateOf } from './test-publisher.ts'

const geometry: FilterGeometry = geometryFor(64)

const urls = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, n) => `http://www.example.com/${from + n}`)

/** A replica that holds what the publisher has published. */
function following(publisher: TestPublisher): Replica {
  const replica = new Replica(limits)
  replica.receive(decoded(publisher.snapshot()))
  finish(replica)
  return replica
}

function isExact(replica: Replica, publisher: TestPublisher): boolean {
  return replica.name !== undefined && replica.bits !== undefined && publisher.published(replica.name, bitsOf(replica)!)
}

describe('a replica', () => {
  test('holds nothing, claims nothing and asks for a snapshot at first', () => {
    const replica = new Replica(limits)
    expect([replica.state, replica.bits, replica.lacks, replica.have]).toEqual([undefined, undefined, true, undefined])
    expect(replica.mayContain(keyOf('http://www.example.com/0'))).toBe(false)
    expect(replica.work(100)).toBe(false)
  })

  test('follows deltas and turnovers bit for bit', () => {
    const publisher = new TestPublisher(geometry)
    const replica = following(publisher)
    for (let n = 0; n < 20; n++) {
      publisher.add(...urls(n, n + 1))
      if (n > 5) publisher.remove(...urls(n - 6, n - 5))
      const turns = n % 4 === 3
      expect(replica.receive(decoded(turns ? publisher.turnover() : publisher.delta()))).toBe(
        turns ? 'building' : 'applied',
      )
      finish(replica)
      expect(replica.name).toEqual(publisher.name)
      expect(isExact(replica, publisher)).toBe(true)
      expect(replica.lacks).toBe(false)
      expect(replica.have).toEqual(publisher.name)
    }
    for (const url of urls(14, 20)) expect(replica.mayContain(keyOf(url))).toBe(true)
  })

  test('is proved by a heartbeat that names its state, and takes over its counts', () => {
    const publisher = new TestPublisher(geometry)
    const replica = following(publisher)
    const heartbeat = encodeHeartbeat({ ...publisher.state, entryCount: 7, oldestChangeAgeMs: 250 })
    expect(replica.receive(decoded(heartbeat))).toBe('proved')
    expect(replica.state).toMatchObject({ entryCount: 7, oldestChangeAgeMs: 250 })
  })

  test('sees a gap at once and asks for what follows its own state', () => {
    const publisher = new TestPublisher(geometry)
    const replica = following(publisher)
    const [lost, next] = [publisher.add('a').delta(), publisher.add('b').delta()]
    expect(replica.receive(decoded(next))).toBe('ahead')
    expect(replica.lacks).toBe(true)
    expect(replica.have).toEqual({ ...publisher.name, sequence: 0 })
    expect(replica.receive(decoded(lost))).toBe('applied')
    expect(replica.name).toEqual(publisher.name)
    expect(replica.lacks).toBe(false)
    expect(isExact(replica, publisher)).toBe(true)
  })

  test('learns of a gap from a heartbeat', () => {
    const publisher = new TestPublisher(geometry)
    const replica = following(publisher)
    publisher.add('a').delta()
    expect(replica.receive(decoded(publisher.heartbeat()))).toBe('ahead')
    expect(replica.lacks).toBe(true)
    for (const frame of publisher.catchUp(replica.have)) replica.receive(decoded(frame))
    expect(replica.lacks).toBe(false)
  })

  test('does not go on asking for a state that the publisher never reached, once that says that it is where we are', () => {
    const publisher = new TestPublisher(geometry)
    const replica = following(publisher)
    replica.receive(decoded(encodeHeartbeat({ ...publisher.state, name: { ...publisher.name, sequence: 4e9 } })))
    expect(replica.lacks).toBe(true)
    publisher.add('a').delta()
    replica.receive(decoded(publisher.snapshot()))
    finish(replica)
    expect(replica.lacks).toBe(true)
    expect(replica.receive(decoded(publisher.heartbeat()))).toBe('proved')
    expect(replica.lacks).toBe(false)
  })

  // Snapshots are kept for half a minute, for all who come.
  test('asks at once for what was published after a snapshot that was made earlier', () => {
    const publisher = new TestPublisher(geometry)
    publisher.add('a').delta()
    const kept = publisher.snapshot()
    publisher.add('b').delta()
    const replica = new Replica(limits)
    replica.receive(decoded(publisher.heartbeat()))
    replica.receive(decoded(kept))
    finish(replica)
    expect(replica.lacks).toBe(true)
    for (const frame of publisher.catchUp(replica.have)) replica.receive(decoded(frame))
    expect(replica.lacks).toBe(false)
    expect(isExact(replica, publisher)).toBe(true)
  })

  test('drops what waits for a change that never was, once the publisher says that it stands where the replica does', () => {
    const publisher = new TestPublisher(geometry)
    const replica = following(publisher)
    const ahead = { ...publisher.state, name: { ...publisher.name, sequence: 9 } }
    expect(replica.receive(decoded(encodeDelta(8, ahead, new Uint32Array(0))))).toBe('ahead')
    expect(replica.lacks).toBe(true)
    expect(replica.waiting.count).toBe(1)
    expect(replica.receive(decoded(publisher.heartbeat()))).toBe('proved')
    expect(replica.lacks).toBe(false)
    expect(replica.waiting.count).toBe(0)
    replica.receive(decoded(publisher.add('a').delta()))
    expect(isExact(replica, publisher)).toBe(true)
  })

  // PROTOCOL rule 2
  test('merges repeated and overlapping deltas as one arrival would', () => {
    const publisher = new TestPublisher(geometry)
    const replica = following(publisher)
    const first = publisher.add('a').delta()
    const second = publisher.add('b').delta()
    const both = publisher.repair(0)
    expect(replica.receive(decoded(first))).toBe('applied')
    expect(replica.receive(decoded(both))).toBe('applied')
    expect(isExact(replica, publisher)).toBe(true)
    expect([first, second, both].map((frame) => replica.receive(decoded(frame)))).toEqual(['stale', 'proved', 'proved'])
    expect(isExact(replica, publisher)).toBe(true)
  })

  test('raises no bit of a delta that cannot be proved, and asks for a snapshot', () => {
    const publisher = new TestPublisher(geometry)
    const replica = following(publisher)
    publisher.add('a').delta()
    const lie = encodeDelta(0, { ...publisher.state, checksumLo: 5 }, Uint32Array.of(3, 9))
    expect(replica.receive(decoded(lie))).toBe('refused-proof')
    expect(replica.bits?.countSet()).toBe(0)
    expect([replica.name?.sequence, replica.lacks, replica.have]).toEqual([0, true, undefined])
    expect(replica.lastRefusal).toBe('refused-proof')
    replica.receive(decoded(publisher.snapshot()))
    expect(replica.lacks).toBe(false)
    finish(replica)
    expect(isExact(replica, publisher)).toBe(true)
    expect([replica.lacks, replica.lastRefusal]).toEqual([false, undefined])
  })

  // apache/datasketches-rust#187
  test('is not changed by a snapshot whose counts or checksum are untrue', () => {
    const publisher = new TestPublisher(geometry)
    publisher.add(...urls(0, 40)).delta()
    const replica = following(publisher)
    const name = { ...publisher.name, sequence: 2 }
    const bits = bitsAt(geometry.bitCount, randomPositions(seededRandom(1), 512, geometry.bitCount))
    const honest = stateOf(name, geometry, bits, 100)
    for (const lie of [{ setBitCount: 0 }, { setBitCount: 513 }, { checksumHi: 0 }, { checksumHi: 0, checksumLo: 0 }]) {
      expect(replica.receive(decoded(encodeSnapshot({ ...honest, ...lie }, bits)))).toBe('building')
      finish(replica)
      expect(replica.lastRefusal).toBe('refused-proof')
      expect(replica.lacks).toBe(true)
      expect(isExact(replica, publisher)).toBe(true)
    }
    replica.receive(decoded(encodeSnapshot(honest, bits)))
    finish(replica)
    expect(bitsOf(replica)?.equals(bits)).toBe(true)
  })

  // The field case would refuse bits without entries. Here they are told apart (PROTOCOL rule 3): entries are what the
  // directory holds now, and bits of keys that have gone wait for the turnover.
  test('takes a digest that has bits and no entries any more, and one that has neither', () => {
    const publisher = new TestPublisher(geometry)
    const replica = following(publisher)
    expect([replica.state?.entryCount, replica.state?.setBitCount]).toEqual([0, 0])
    publisher.add('a').delta()
    publisher.remove('a')
    replica.receive(decoded(publisher.snapshot()))
    finish(replica)
    expect(replica.state).toMatchObject({ entryCount: 0, setBitCount: publisher.summary.setBitCount })
    expect(publisher.summary.setBitCount).toBeGreaterThan(0)
    expect(isExact(replica, publisher)).toBe(true)
  })

  // PROTOCOL rule 8
  test('refuses a digest that is nearly full, or larger than allowed', () => {
    const replica = new Replica({ maxBitCount: 1024 })
    const name = { incarnation: 1, generation: 0, sequence: 0 }
    const full = bitsAt(
      1024,
      Array.from({ length: 1000 }, (_, i) => i),
    )
    expect(replica.receive(decoded(encodeSnapshot(stateOf(name, geometry, full), full)))).toBe('refused-density')
    const large = { ...geometry, bitCount: 2048 }
    const empty = new BitArray(2048)
    expect(replica.receive(decoded(encodeSnapshot(stateOf(name, large, empty), empty)))).toBe('refused-geometry')
    expect(replica.lastRefusal).toBe('refused-geometry')
    expect(replica.receive(decoded(encodeWant(undefined)))).toBe('refused-want')
    expect(replica.state).toBeUndefined()
  })

  test('disputes a heartbeat that gives its state other bits, until a snapshot settles it', () => {
    const publisher = new TestPublisher(geometry)
    publisher.add('a').delta()
    const replica = following(publisher)
    expect(replica.receive(decoded(encodeHeartbeat({ ...publisher.state, checksumHi: 1 })))).toBe('refused-proof')
    expect([replica.lacks, replica.have]).toEqual([true, undefined])
    expect(replica.mayContain(keyOf('a'))).toBe(true)
    // Of the very same name: that alone would be stale.
    expect(replica.receive(decoded(publisher.snapshot()))).toBe('building')
    finish(replica)
    expect(replica.lacks).toBe(false)
    expect(replica.receive(decoded(publisher.snapshot()))).toBe('proved')
  })

  test('refuses a delta or turnover with another geometry in mid-life', () => {
    const publisher = new TestPublisher(geometry)
    const replica = following(publisher)
    const other = { ...publisher.state, geometry: { ...geometry, probeCount: 5 } }
    const later = { ...other, name: { ...publisher.name, sequence: 1 } }
    const none = new Uint32Array()
    expect(replica.receive(decoded(encodeDelta(0, later, none)))).toBe('refused-conflict')
    expect(replica.receive(decoded(encodeHeartbeat(other)))).toBe('refused-conflict')
    const turned = { ...other, name: { ...publisher.name, generation: 1 } }
    expect(replica.receive(decoded(encodeTurnover(publisher.name, turned, none, none)))).toBe('refused-conflict')
    expect(replica.have).toBeUndefined()
  })

  test('gives up a change whose positions break their format', () => {
    const publisher = new TestPublisher(geometry)
    const replica = following(publisher)
    const frame = publisher.add('a').delta()
    frame[frame.length - 1] = 0xff
    expect(replica.receive(decoded(frame))).toBe('refused-malformed')
    expect([replica.bits?.countSet(), replica.have]).toEqual([0, undefined])
  })
})

describe('incarnations', () => {
  test('of a later life throw the old replica away at once', () => {
    const old = new TestPublisher(geometry, 1)
    old.add('a').delta()
    const replica = following(old)
    const reborn = new TestPublisher(geometry, 2)
    expect(replica.receive(decoded(reborn.heartbeat()))).toBe('ahead')
    expect(replica.mayContain(keyOf('a'))).toBe(false)
    expect([replica.state, replica.bits, replica.have, replica.lacks]).toEqual([undefined, undefined, undefined, true])
    replica.receive(decoded(reborn.snapshot()))
    finish(replica)
    expect(isExact(replica, reborn)).toBe(true)
  })

  test('of an earlier life are refused', () => {
    const replica = following(new TestPublisher(geometry, 5))
    const old = new TestPublisher(geometry, 4)
    const frames = [old.heartbeat(), old.snapshot(), old.add('a').delta()]
    for (const frame of frames) expect(replica.receive(decoded(frame))).toBe('refused-incarnation')
    // It only comes late.
    expect(replica.receive(decoded(encodeGoodbye(old.name)))).toBe('stale')
    expect(replica.name?.incarnation).toBe(5)
    expect(replica.lacks).toBe(false)
  })

  test('end with a goodbye, after which nothing is claimed and only a snapshot counts', () => {
    const publisher = new TestPublisher(geometry)
    publisher.add('a').delta()
    const replica = following(publisher)
    expect(replica.receive(decoded(encodeGoodbye(publisher.name)))).toBe('left')
    expect(replica.mayContain(keyOf('a'))).toBe(false)
    expect(replica.receive(decoded(publisher.add('b').delta()))).toBe('ahead')
    expect([replica.state, replica.have]).toEqual([undefined, undefined])
    replica.receive(decoded(publisher.snapshot()))
    finish(replica)
    expect(isExact(replica, publisher)).toBe(true)
  })

  test('may differ in size', () => {
    const replica = following(new TestPublisher(geometry, 1))
    const large = new TestPublisher(geometryFor(1000), 2)
    large.add(...urls(0, 500)).delta()
    replica.receive(decoded(large.snapshot()))
    finish(replica)
    expect(isExact(replica, large)).toBe(true)
    expect(replica.mayContain(keyOf(urls(0, 1)[0]!))).toBe(true)
  })
})

describe('while a state is being built', () => {
  test('the old one is consulted until the last step, and deltas of its generation go to it', () => {
    const publisher = new TestPublisher(geometry)
    const replica = following(publisher)
    const first = publisher.add('a').delta()
    const second = publisher.add('b').delta()
    expect(replica.receive(decoded(publisher.snapshot()))).toBe('building')
    expect(replica.work(1)).toBe(true)
    expect(replica.receive(decoded(first))).toBe('applied')
    expect([replica.name?.sequence, isExact(replica, publisher)]).toEqual([1, true])
    expect(replica.lacks).toBe(false)
    for (let more = true; more;) {
      expect(isExact(replica, publisher)).toBe(true)
      more = replica.work(1)
    }
    expect(replica.name).toEqual(publisher.name)
    expect(replica.receive(decoded(second))).toBe('proved')
  })

  test('a snapshot is dropped when deltas have overtaken it', () => {
    const publisher = new TestPublisher(geometry)
    const replica = following(publisher)
    const first = publisher.add('a').delta()
    const snapshot = publisher.snapshot()
    const second = publisher.add('b').delta()
    replica.receive(decoded(snapshot))
    replica.work(1)
    for (const frame of [first, second]) expect(replica.receive(decoded(frame))).toBe('applied')
    expect(replica.work(1)).toBe(false)
    expect(replica.name).toEqual(publisher.name)
  })

  // PROTOCOL rule 3
  test('deltas of the new generation wait for the turnover and follow it', () => {
    const publisher = new TestPublisher(geometry)
    publisher.add('a', 'b').delta()
    const replica = following(publisher)
    publisher.remove('a')
    expect(replica.receive(decoded(publisher.turnover()))).toBe('building')
    replica.work(1)
    expect(replica.receive(decoded(publisher.add('c').delta()))).toBe('ahead')
    expect(replica.receive(decoded(publisher.add('d').delta()))).toBe('ahead')
    expect(replica.name?.generation).toBe(0)
    expect(replica.lacks).toBe(false)
    finish(replica)
    expect(replica.name).toEqual(publisher.name)
    expect(isExact(replica, publisher)).toBe(true)
  })

  test('a turnover waits for the last deltas of its own generation', () => {
    const publisher = new TestPublisher(geometry)
    const replica = following(publisher)
    const deltas = [publisher.add('a').delta(), publisher.add('b').delta()]
    const turnover = publisher.remove('a').turnover()
    expect(replica.receive(decoded(turnover))).toBe('ahead')
    expect(replica.receive(decoded(deltas[1]!))).toBe('ahead')
    expect(replica.lacks).toBe(true)
    expect(replica.have).toMatchObject({ generation: 0, sequence: 0 })
    expect(replica.receive(decoded(deltas[0]!))).toBe('applied')
    expect(replica.lacks).toBe(false)
    finish(replica)
    expect(replica.name).toEqual(publisher.name)
    expect(isExact(replica, publisher)).toBe(true)
  })

  test('no delta can follow the state that a turnover starts from', () => {
    const publisher = new TestPublisher(geometry)
    publisher.add('a').delta()
    const replica = following(publisher)
    const forked = encodeDelta(1, { ...publisher.state, name: { ...publisher.name, sequence: 2 } }, new Uint32Array())
    replica.receive(decoded(publisher.remove('a').turnover()))
    expect(replica.receive(decoded(forked))).toBe('refused-conflict')
    finish(replica)
    expect(isExact(replica, publisher)).toBe(true)
  })

  test('a newer snapshot waits, and a later one takes its place', () => {
    const publisher = new TestPublisher(geometry)
    const replica = new Replica(limits)
    for (const url of urls(0, 5)) {
      publisher.add(url).delta()
      expect(replica.receive(decoded(publisher.snapshot()))).toBe('building')
    }
    expect(replica.lacks).toBe(false)
    finish(replica)
    expect(replica.name).toEqual(publisher.name)
    expect(isExact(replica, publisher)).toBe(true)
  })

  test('a delta too large for one go is proved before any bit is raised', () => {
    const large = geometryFor(2 ** 14)
    const publisher = new TestPublisher(large)
    const replica = following(publisher)
    publisher.add(...urls(0, 6000))
    const frame = publisher.delta()
    expect(replica.receive(decoded(frame))).toBe('building')
    expect(replica.bits?.countSet()).toBe(0)
    publisher.add(...urls(6000, 6001))
    expect(replica.receive(decoded(publisher.delta()))).toBe('ahead')
    expect(replica.lacks).toBe(false)
    finish(replica)
    expect(replica.name).toEqual(publisher.name)
    expect(isExact(replica, publisher)).toBe(true)
  })

  // PROTOCOL rule 4
  test('a suspended reader sees its old state unchanged, across generations', () => {
    const control = new Int32Array(DoubleBuffer.controlWords(1))
    let shared: DoubleBuffer | undefined
    const makeBuffers = ({ geometry: { bitCount } }: StateHead): DoubleBuffer =>
      (shared = new DoubleBuffer(bitCount, { control }))
    const replica = new Replica({ ...limits, makeBuffers })
    const publisher = new TestPublisher(geometry)
    publisher.add('a', 'b').delta()
    replica.receive(decoded(publisher.snapshot()))
    finish(replica)
    const seen = shared!.enter(0)
    const before = bitsAt(geometry.bitCount, [])
    before.copyFrom(seen)
    publisher.remove('a', 'b')
    for (const url of urls(0, 6)) {
      publisher.add(url)
      replica.receive(decoded(publisher.turnover()))
      finish(replica)
      expect(isExact(replica, publisher)).toBe(true)
      expect(seen.equals(before)).toBe(true)
    }
  })

  test('a turnover waits while readers hold every buffer', () => {
    const control = new Int32Array(DoubleBuffer.controlWords(1))
    const buffers: DoubleBuffer[] = []
    const makeBuffers = ({ geometry: { bitCount } }: StateHead): DoubleBuffer => {
      buffers.push(new DoubleBuffer(bitCount, { control, poolSize: 2 }))
      return buffers.at(-1)!
    }
    const replica = new Replica({ ...limits, makeBuffers })
    const publisher = new TestPublisher(geometry)
    replica.receive(decoded(publisher.snapshot()))
    finish(replica)
    buffers[0]!.enter(0)
    replica.receive(decoded(publisher.add('a').turnover()))
    finish(replica)
    replica.receive(decoded(publisher.add('b').turnover()))
    expect(replica.work(1000)).toBe(true)
    expect(replica.name?.generation).toBe(1)
    buffers[0]!.leave(0)
    finish(replica)
    expect(replica.name?.generation).toBe(2)
  })
})

describe('what waits is bounded', () => {
  test('in number: what finds no room is asked for again', () => {
    const publisher = new TestPublisher(geometry)
    const replica = following(publisher)
    const frames = urls(0, 200).map((url) => publisher.add(url).delta())
    for (const frame of frames.slice(1)) expect(replica.receive(decoded(frame))).toBe('ahead')
    expect(replica.receive(decoded(frames[0]!))).toBe('applied')
    expect(replica.name?.sequence).toBe(65)
    expect([replica.lacks, replica.have]).toEqual([true, replica.name])
    for (const frame of publisher.catchUp(replica.have)) replica.receive(decoded(frame))
    expect(replica.name).toEqual(publisher.name)
    expect(isExact(replica, publisher)).toBe(true)
  })

  test('in bytes, to the size of a snapshot', () => {
    const replica = new Replica({ maxBitCount: 1024 })
    const publisher = new TestPublisher(geometry)
    replica.receive(decoded(publisher.snapshot()))
    finish(replica)
    const [first, ...rest] = [0, 1, 2, 3].map((n) => publisher.add(...urls(20 * n, 20 * n + 20)).delta())
    for (const frame of rest) replica.receive(decoded(frame))
    replica.receive(decoded(first!))
    finish(replica)
    expect(replica.name?.sequence).toBeLessThan(4)
    expect(replica.lacks).toBe(true)
    expect(isExact(replica, publisher)).toBe(true)
  })
})
