import { describe, expect, test } from 'vitest'
import { SeededRandom } from '../../src/sim/seeded-random.ts'
import { SimNetwork, type Host, type NetworkMode } from '../../src/sim/sim-network.ts'
import { SimStream } from '../../src/sim/sim-stream.ts'
import { Transcript } from '../../src/sim/transcript.ts'
import { VirtualTime } from '../../src/sim/virtual-time.ts'

const settle = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))

/** Two proxies, a stream from the one to the other, and what has come over it. */
function streamed(mode: NetworkMode) {
  const time = new VirtualTime(settle)
  const network = new SimNetwork<Host>(mode, time, new SeededRandom(5), new Transcript(false))
  const [publisher, follower] = [0, 1].map((index) => ({ index, name: `p${index}`, isUp: true }))
  const got: number[] = []
  const ends: string[] = []
  const stream = new SimStream(network, {
    publisher: publisher!,
    follower: follower!,
    version: 2,
    silenceMs: 3_000,
    handler: {
      opened: () => ends.push('opened'),
      frame: (bytes) => got.push(bytes[0]!),
      closed: (reason) => ends.push(reason),
    },
    ended: () => undefined,
    arrived: () => undefined,
  })
  stream.open()
  const send = (count: number): void => {
    for (let i = 0; i < count; i++) time.at(i * 5, 0, () => stream.send(Uint8Array.of(i)))
  }
  return { network, time, got, ends, stream, send }
}

const run = (time: VirtualTime, untilMs: number): Promise<void> => time.run(untilMs, () => true)
const ascending = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b)

describe('a stream', () => {
  test('brings frames whole and in order, also where messages overtake each other', async () => {
    const { network, time, got, send } = streamed('streams')
    network.impose(0, 1, { reorderShare: 0.5, repeatShare: 0.5 })
    send(100)
    await run(time, 2_000)
    expect(got).toEqual(Array.from({ length: 100 }, (_, i) => i))
  })

  test('breaks where a message is lost, and nothing comes after the gap', async () => {
    const { network, time, got, ends, send } = streamed('streams')
    network.impose(0, 1, { lossShare: 0.1 })
    send(200)
    await run(time, 10_000)
    expect(got.length).toBeLessThan(100)
    expect(got).toEqual(Array.from({ length: got.length }, (_, i) => i))
    expect(ends[0]).toBe('opened')
    expect(ends[1]).toMatch(/the connection broke|nothing has come for too long/)
    expect(ends).toHaveLength(2)
  })
})

test('datagrams are lost, repeated and overtaken one by one', async () => {
  const { network, time, got, send } = streamed('datagrams')
  network.impose(0, 1, { lossShare: 0.1, reorderShare: 0.3, repeatShare: 0.3 })
  send(200)
  await run(time, 2_000)
  const once = new Set(got)
  expect(once.size).toBeGreaterThan(150)
  expect(once.size).toBeLessThan(200)
  expect(got.length).toBeGreaterThan(once.size)
  expect(got).not.toEqual(ascending(got))
})

test('a cut goes one way, until it is taken off', async () => {
  const { network, time, got, stream } = streamed('datagrams')
  const heal = network.impose(0, 1, { isCut: true })
  expect(network.isCut(0, 1)).toBe(true)
  expect(network.isCut(1, 0)).toBe(false)
  expect(network.passage(1, 0)).toBeGreaterThan(0)
  stream.send(Uint8Array.of(1))
  heal()
  stream.send(Uint8Array.of(2))
  await run(time, 100)
  expect(got).toEqual([2])
})

test('damage is one bit, and never in the name or geometry of a frame', () => {
  const { network } = streamed('datagrams')
  network.impose(0, 1, { corruptShare: 1 })
  const frame = new Uint8Array(60)
  const hit = new Set<number>()
  for (let i = 0; i < 2_000; i++) {
    const bytes = network.corrupted(0, 1, frame)
    const wrong = [...bytes.entries()].filter(([, byte]) => byte !== 0)
    expect(wrong.length).toBeLessThanOrEqual(1)
    for (const [at, byte] of wrong) {
      expect(Number.isInteger(Math.log2(byte))).toBe(true)
      hit.add(at)
    }
  }
  expect(ascending([...hit])).toEqual([
    ...Array.from({ length: 6 }, (_, i) => i),
    ...Array.from({ length: 30 }, (_, i) => 30 + i),
  ])
})

test('a seed gives the same numbers again, and a fork other ones, however many were taken before', () => {
  const [a, b] = [new SeededRandom(9), new SeededRandom(9)]
  const first = Array.from({ length: 5 }, () => a.word())
  expect(Array.from({ length: 5 }, () => b.word())).toEqual(first)
  expect(a.fork(1).word()).toBe(new SeededRandom(9).fork(1).word())
  expect(a.fork(1).word()).not.toBe(a.fork(2).word())
  const mean = Array.from({ length: 10_000 }, () => a.next()).reduce((sum, value) => sum + value, 0) / 10_000
  expect(Math.abs(mean - 0.5)).toBeLessThan(0.02)
})
