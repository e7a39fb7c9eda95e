import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FrameReader, encodeLengthPrefix } from '../../../src/core/digest/frame-reader.ts'
import { Replica } from '../../../src/core/digest/replica.ts'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import { MalformedMessageError } from '../../../src/core/protocol/malformed-message-error.ts'
import { keyOf, seededRandom } from '../filter/test-keys.ts'
import { TestPublisher, bitsOf, decoded, finish, limits } from './test-publisher.ts'

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(chunks.flatMap((chunk) => [...chunk]))
}

function split(bytes: Uint8Array, edges: readonly number[]): Uint8Array[] {
  const inner = [...new Set(edges)].filter((edge) => edge > 0 && edge < bytes.length).sort((a, b) => a - b)
  return [0, ...inner].map((from, i) => bytes.subarray(from, inner[i] ?? bytes.length))
}

describe('a stream of frames', () => {
  test('gives the same frames wherever its chunks were split', () => {
    const frames = fc.array(fc.uint8Array({ maxLength: 30 }), { maxLength: 8 })
    fc.assert(
      fc.property(frames, fc.array(fc.nat(300), { maxLength: 30 }), (sent, edges) => {
        const reader = new FrameReader(30)
        const stream = joined(sent.map(encodeLengthPrefix))
        const received = split(stream, edges).flatMap((chunk) => reader.push(chunk))
        expect(received).toEqual(sent)
        expect(reader.atFrameEdge).toBe(true)
      }),
    )
  })

  test('gives frames in memory of their own', () => {
    const chunk = Buffer.from(encodeLengthPrefix(Uint8Array.of(1, 2, 3)))
    const [frame] = new FrameReader(10).push(chunk)
    chunk.fill(0)
    expect(frame).toEqual(Uint8Array.of(1, 2, 3))
    expect(frame?.buffer.byteLength).toBe(3)
  })

  test('is refused at the length of a frame that is too long', () => {
    const reader = new FrameReader(1000)
    expect(reader.push(Uint8Array.of(0, 0, 3, 0xe8))).toEqual([])
    expect(reader.atFrameEdge).toBe(false)
    expect(() => new FrameReader(1000).push(Uint8Array.of(0, 0, 3, 0xe9))).toThrow(MalformedMessageError)
    expect(() => new FrameReader(1000).push(Uint8Array.of(0xff, 0xff, 0xff, 0xff))).toThrow('4294967295 bytes')
  })

  test('that announces much and sends little takes little memory', () => {
    const before = process.memoryUsage().arrayBuffers
    const readers = Array.from({ length: 20 }, () => new FrameReader(2 ** 28))
    for (const reader of readers) reader.push(Uint8Array.of(0x0f, 0xff, 0xff, 0xff, 1))
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 20)
    expect(readers.every((reader) => !reader.atFrameEdge)).toBe(true)
  })
})

// squid-cache/squid#2254 (bug 5510)
describe('a digest that arrives in several reads', () => {
  const urls = Array.from({ length: 800 }, (_, n) => `http://www.example.com/${n}`)
  const publisher = new TestPublisher(geometryFor(2 ** 14))
  publisher.add(...urls)
  publisher.delta()
  const stream = encodeLengthPrefix(publisher.snapshot())
  const random = seededRandom(11)
  const pages = Array.from({ length: Math.ceil(stream.length / 4096) }, (_, n) => n * 4096)

  const partitions: [title: string, edges: number[]][] = [
    ['one byte at a time', Array.from(stream.keys())],
    ['at 127, 128 and 129', [127, 128, 129]],
  ]
  for (const by of [-1, 0, 1]) partitions.push([`at every multiple of 4096 ${by}`, pages.map((page) => page + by)])
  for (let n = 1; n <= 20; n++) {
    partitions.push([`at ${n} random places`, Array.from({ length: n }, () => Math.floor(random() * stream.length))])
  }

  test.each(partitions)('split %s is the published one, and not consulted before it is proved', (_, edges) => {
    const reader = new FrameReader(stream.length)
    const replica = new Replica(limits)
    const frames = split(stream, edges).flatMap((chunk) => reader.push(chunk))
    expect(frames).toHaveLength(1)
    for (const frame of frames) replica.receive(decoded(frame))
    expect(replica.work(1000)).toBe(true)
    expect(replica.state).toBeUndefined()
    expect(urls.some((url) => replica.mayContain(keyOf(url)))).toBe(false)
    finish(replica)
    expect(bitsOf(replica)?.equals(publisher.summary.published)).toBe(true)
    expect(urls.every((url) => replica.mayContain(keyOf(url)))).toBe(true)
  })
})
