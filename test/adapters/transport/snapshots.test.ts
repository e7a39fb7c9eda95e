import type { RequestListener, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import * as fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { writePaced } from '../../../src/adapters/transport/paced-writing.ts'
import { PartialSnapshot } from '../../../src/proxy/partial-snapshot.ts'
import { FetchError, type EncodedSnapshot } from '../../../src/proxy/ports.ts'
import { bytesOf, newTransport, PREFIX, raw, startPublisher, startServer, stopAll, KEY } from './support.ts'

afterEach(stopAll)

const never = new AbortController().signal
const ROOM = 400_000

/** Bytes that differ everywhere, so that a hole or a repetition shows. */
function snapshotOf(tag: string, length: number): EncodedSnapshot {
  const frame = new Uint8Array(length)
  let x = length + tag.length
  for (let i = 0; i < length; i++) {
    x = (Math.imul(x, 1_103_515_245) + 12_345) >>> 0
    frame[i] = x >>> 16
  }
  return { tag, frame }
}

/** Lets so many bytes of a body out, then breaks the connection. */
function breaking(breaks: number[]): (serve: RequestListener) => RequestListener {
  return (serve) => (request, response) => {
    let left = breaks.shift()
    const write = response.write.bind(response) as (chunk: Uint8Array) => boolean
    response.write = ((chunk: Uint8Array): boolean => {
      if (left === undefined) return write(chunk)
      const part = chunk.subarray(0, left)
      left -= part.length
      if (part.length > 0) write(part)
      // Once what was let out is with the kernel.
      if (part.length < chunk.length) setTimeout(() => request.socket.destroy(), 2)
      return true
    }) as ServerResponse['write']
    serve(request, response)
  }
}

async function readWhole(
  transport: ReturnType<typeof newTransport>,
  url: string,
  partial: PartialSnapshot,
): Promise<number> {
  for (let tries = 1; ; tries++) {
    try {
      await transport.readSnapshot({ name: 'a', url }, partial, never)
      return tries
    } catch (error) {
      if (!(error instanceof FetchError) || error.code !== 'connection_terminated' || tries > 20) throw error
    }
  }
}

describe('a snapshot that breaks off', () => {
  test('is read on from where it was, and is byte for byte the one that was published', async () => {
    const breaks: number[] = []
    const { peer, source } = await startPublisher({ wrap: breaking(breaks) })
    const transport = newTransport()
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 300_000 }),
        fc.array(fc.integer({ min: 0, max: 200_000 }), { maxLength: 4 }),
        async (length, places) => {
          source.current = snapshotOf('1796000000000.3.8', length)
          source.asked.length = 0
          breaks.splice(0, breaks.length, ...places)
          const partial = new PartialSnapshot(ROOM)
          await readWhole(transport, peer.url, partial)
          breaks.length = 0
          expect(partial.tag).toBe('1796000000000.3.8')
          expect(Buffer.compare(partial.frame, source.current.frame)).toBe(0)
        },
      ),
      { numRuns: 40 },
    )
  })

  test('what has come is not sent again', async () => {
    const breaks = [100_000, 70_000]
    const { peer, source } = await startPublisher({ wrap: breaking(breaks) })
    source.current = snapshotOf('7.0.1', 200_000)
    const partial = new PartialSnapshot(ROOM)
    const seen: number[] = []
    for (let tries = 0; !partial.isWhole; tries++) {
      await newTransport()
        .readSnapshot(peer, partial, never)
        .catch(() => undefined)
      seen.push(partial.receivedBytes)
    }
    expect(seen).toEqual([100_000, 170_000, 200_000])
    expect(source.asked.map(({ want }) => want)).toEqual(['snapshot', 'snapshot 7.0.1', 'snapshot 7.0.1'])
  })

  test('is read on while its state is kept, though a later one has been published', async () => {
    const breaks = [1_000]
    const { peer, source } = await startPublisher({ wrap: breaking(breaks) })
    const old = snapshotOf('7.0.1', 5_000)
    source.kept.set(old.tag, old)
    source.current = old
    const partial = new PartialSnapshot(ROOM)
    await expect(newTransport().readSnapshot(peer, partial, never)).rejects.toThrow()
    source.current = snapshotOf('7.0.2', 6_000)
    await newTransport().readSnapshot(peer, partial, never)
    expect([partial.tag, Buffer.compare(partial.frame, old.frame)]).toEqual(['7.0.1', 0])
  })

  test('starts anew when its state is kept no more, and nothing of the old one is left in it', async () => {
    const breaks = [3_000]
    const { peer, source } = await startPublisher({ wrap: breaking(breaks) })
    source.current = snapshotOf('7.0.1', 5_000)
    const partial = new PartialSnapshot(ROOM)
    await expect(newTransport().readSnapshot(peer, partial, never)).rejects.toThrow()
    expect(partial.receivedBytes).toBe(3_000)
    source.current = snapshotOf('7.1.0', 2_000)
    await newTransport().readSnapshot(peer, partial, never)
    expect([partial.tag, Buffer.compare(partial.frame, source.current.frame)]).toEqual(['7.1.0', 0])
  })
})

describe('ranges', () => {
  // fields beside Host; the status; what else the head has; the body
  test.each([
    ['', '200 OK', 'content-length: 10', '0123456789'],
    ['Range: bytes=4-\nIf-Range: "7.0.1"\n', '206 Partial Content', 'content-range: bytes 4-9/10', '456789'],
    ['Range: bytes=0-\n', '206 Partial Content', 'content-range: bytes 0-9/10', '0123456789'],
    ['Range: bytes=2-5\n', '206 Partial Content', 'content-range: bytes 2-5/10', '2345'],
    ['Range: bytes=2-99\n', '206 Partial Content', 'content-range: bytes 2-9/10', '23456789'],
    ['Range: bytes=-3\n', '206 Partial Content', 'content-range: bytes 7-9/10', '789'],
    ['Range: bytes=-99\n', '206 Partial Content', 'content-range: bytes 0-9/10', '0123456789'],
    ['Range: bytes=10-\n', '416 Range Not Satisfiable', 'content-range: bytes */10', 'it has 10 bytes\n'],
    ['Range: bytes=-0\n', '416 Range Not Satisfiable', 'content-range: bytes */10', 'it has 10 bytes\n'],
    ['Range: bytes=4-\nIf-Range: "7.0.0"\n', '200 OK', 'etag: "7.0.1"', '0123456789'],
    ['Range: bytes=4-\nIf-Range: W/"7.0.1"\n', '200 OK', 'etag: "7.0.1"', '0123456789'],
    ['Range: bytes=4-\nIf-Range: Tue, 01 Dec 2026 00:00:00 GMT\n', '200 OK', 'etag: "7.0.1"', '0123456789'],
    ['Range: bytes=5-2\n', '200 OK', 'accept-ranges: bytes', '0123456789'],
    ['Range: bytes=0-1,4-5\n', '200 OK', 'accept-ranges: bytes', '0123456789'],
    ['Range: bytes=0-\nRange: bytes=4-\n', '200 OK', 'accept-ranges: bytes', '0123456789'],
    ['Range: lines=4-\n', '200 OK', 'accept-ranges: bytes', '0123456789'],
    ['Range: bytes=9999999999999999-\n', '200 OK', 'accept-ranges: bytes', '0123456789'],
    ['Range: bytes=-\n', '200 OK', 'accept-ranges: bytes', '0123456789'],
  ])('%j: %s', async (fields, status, field, body) => {
    const { peer, source } = await startPublisher()
    source.current = { tag: '7.0.1', frame: bytesOf('0123456789') }
    const answer = await raw(peer, `GET ${PREFIX}v2/digest/a HTTP/1.1\nHost: a\nConnection: close\n${fields}\n`)
    expect(answer.split('\r\n')[0]).toBe(`HTTP/1.1 ${status}`)
    expect(answer.split('\r\n')).toContain(field)
    expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toBe(body)
  })
})

describe('hostile publishers', () => {
  interface Lie {
    readonly status: number
    readonly fields: Record<string, string>
    readonly body: string
  }
  const lied = async (partial: PartialSnapshot, lie: Lie, key?: string): Promise<string> => {
    const peer = await startServer((_request, response) => {
      response.writeHead(lie.status, lie.fields)
      response.write(lie.body)
      // Some bodies never come to an end by themselves.
      if (lie.body.length < 1_000) setTimeout(() => response.destroy(), 50)
    })
    const end = await newTransport({ key })
      .readSnapshot(peer, partial, never)
      .catch((error: unknown) => error)
    return end instanceof FetchError ? end.message.replace(peer.url, 'a') : 'it was believed'
  }
  /** "01234" of ten bytes has come. */
  const begun = (): PartialSnapshot => {
    const partial = new PartialSnapshot(100)
    partial.begin('7.0.1', 10)
    partial.push(bytesOf('01234'))
    return partial
  }
  const etag = '"7.0.1"'

  test.each<[string, Lie]>([
    ['a: its snapshot has no ETag', { status: 200, fields: { 'content-length': '10' }, body: '' }],
    ['a: its snapshot has no ETag', { status: 200, fields: { etag: 'W/"1"', 'content-length': '10' }, body: '' }],
    ['a: its snapshot has no Content-Length', { status: 200, fields: { etag }, body: 'x' }],
    [
      'a: its snapshot of 101 bytes is larger than allowed',
      { status: 200, fields: { etag, 'content-length': '101' }, body: '' },
    ],
    [
      'a: it goes on with a snapshot that was not asked for',
      { status: 206, fields: { etag: '"7.0.2"', 'content-range': 'bytes 5-9/10' }, body: '56789' },
    ],
    ['a: the rest of its snapshot has no sound Content-Range', { status: 206, fields: { etag }, body: '56789' }],
    [
      'a: the rest of its snapshot has no sound Content-Range',
      { status: 206, fields: { etag, 'content-range': 'bytes 5-10/10' }, body: '56789' },
    ],
    [
      'a: the rest of its snapshot is not what was asked for',
      { status: 206, fields: { etag, 'content-range': 'bytes 4-9/10' }, body: '456789' },
    ],
    [
      'a: the rest of its snapshot is not what was asked for',
      { status: 206, fields: { etag, 'content-range': 'bytes 5-9/11' }, body: '56789' },
    ],
    [
      'a: the rest of its snapshot is not what was asked for',
      { status: 206, fields: { etag, 'content-range': 'bytes 5-10/11' }, body: '56789a' },
    ],
    [
      'a: the rest of its snapshot is not what was asked for',
      { status: 206, fields: { etag, 'content-range': 'bytes 5-8/10' }, body: '5678' },
    ],
    [
      'a: its snapshot has more bytes than it announced',
      { status: 206, fields: { etag, 'content-range': 'bytes 5-9/10' }, body: 'x'.repeat(1_000) },
    ],
    ['a answered 416: x', { status: 416, fields: { 'content-range': 'bytes */3' }, body: 'x\n' }],
  ])('%s', async (problem, lie) => {
    const partial = begun()
    // What a 416 says is read before the connection breaks.
    const end = await lied(
      partial,
      lie.status === 416 ? { ...lie, fields: { ...lie.fields, 'content-length': '2' } } : lie,
    )
    expect(end).toBe(problem)
    // Nothing is kept of what does not fit together.
    expect([partial.tag, partial.receivedBytes, partial.isWhole]).toEqual([undefined, 0, false])
  })

  test('a rest that ends early is kept, and is not taken for the whole', async () => {
    const partial = begun()
    const end = await lied(partial, { status: 206, fields: { etag, 'content-range': 'bytes 5-9/10' }, body: '567' })
    expect(end).not.toBe('it was believed')
    expect([partial.tag, partial.receivedBytes, partial.isWhole]).toEqual(['7.0.1', 8, false])
  })

  test('nor is one that ends early as if that were its end', async () => {
    const partial = begun()
    const peer = await startServer((_request, response) => {
      response.writeHead(206, { etag, 'content-range': 'bytes 5-9/10' })
      response.end('567')
    })
    await expect(newTransport().readSnapshot(peer, partial, never)).rejects.toThrow(
      'its snapshot ended at 8 of 10 bytes',
    )
    expect(partial.receivedBytes).toBe(8)
  })

  test('a whole snapshot in the place of a range is taken from its start', async () => {
    const { peer } = await startPublisher()
    const partial = begun()
    const ignoring = await startServer((_request, response) => {
      response.writeHead(200, { etag, 'content-length': '10' })
      response.end('abcdefghij')
    })
    await newTransport().readSnapshot({ ...peer, url: ignoring.url }, partial, never)
    expect(Buffer.from(partial.frame).toString()).toBe('abcdefghij')
  })

  test('what was announced costs no memory before it has come', async () => {
    const partial = new PartialSnapshot(2 ** 28)
    const before = process.memoryUsage().arrayBuffers
    await lied(partial, { status: 200, fields: { etag, 'content-length': `${2 ** 28}` }, body: 'x' })
    expect(partial.receivedBytes).toBe(1)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 24)
  })

  test('between proxies that share a key an unsigned snapshot is not believed', async () => {
    const partial = new PartialSnapshot(100)
    const peer = await startServer((_request, response) => {
      response.writeHead(200, { etag, 'content-length': '3' })
      response.end('abc')
    })
    await expect(newTransport({ key: KEY }).readSnapshot(peer, partial, never)).rejects.toThrow('is not signed')
    expect(partial.isWhole).toBe(false)
  })
})

test('a reader that takes nothing of a snapshot is cut off', async () => {
  const end = Promise.withResolvers<string>()
  const peer = await startServer((_request, response) => {
    const limits = { stallMs: 60, totalMs: 10_000 }
    void writePaced(response, [new Uint8Array(64 * 1024 * 1024)], limits).then(end.resolve)
  })

  const { port } = new URL(peer.url)
  const socket = connect(Number(port), '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'))
  socket.pause()
  expect(await end.promise).toBe('slow')
  socket.destroy()
})
