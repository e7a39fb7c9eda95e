import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { Peer } from '../../../src/core/peers/peer.ts'
import {
  bytesOf,
  follow,
  newTransport,
  prefixed,
  PREFIX,
  startPublisher,
  startServer,
  stopAll,
  until,
} from './support.ts'

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) server.close()
  await stopAll()
})

const never = new AbortController().signal

/** A peer that answers each connection with these bytes, and whatever `then` makes of it. */
async function startBytes(
  head: string,
  then: (write: (bytes: string) => void, end: () => void) => void = () => undefined,
): Promise<Peer> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.once('data', () => {
      socket.write(head.replaceAll('\n', '\r\n'))
      then(
        (bytes) => socket.writable && socket.write(bytes),
        () => socket.end(),
      )
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { name: 'a', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

describe('a publisher that is not what it should be', () => {
  test('a frame longer than any can be is refused before there is room for it', async () => {
    const peer = await startServer((_request, response) => {
      response.writeHead(200)
      response.write(Buffer.from([0xff, 0xff, 0xff, 0xff, 1, 2, 3]))
    })
    const followed = follow(newTransport(), peer)
    expect(await followed.closed).toContain('a frame of 4294967295 bytes where 1048576 are allowed')
    expect(followed.log).toEqual(['opened 2', 'closed'])
    await expect(newTransport().ask(peer, bytesOf('want'), never)).rejects.toThrow('a frame of 4294967295 bytes')
  })

  test.each([
    ['frames', '1114112 bytes', (response: ServerResponse) => response.write(prefixed(new Uint8Array(500_000)))],
    ['empty frames', '256 frames', (response: ServerResponse) => response.write(new Uint8Array(64 * 1024))],
  ])('an answer to a want that has no end, of %s, is given up', async (_of, bound, write) => {
    const gone = Promise.withResolvers<void>()
    const peer = await startServer((_request, response) => {
      response.writeHead(200)
      response.once('close', gone.resolve)
      const go = (): void => {
        while (!response.destroyed && write(response));
        if (!response.destroyed) response.once('drain', go)
      }
      go()
    })
    await expect(newTransport().ask(peer, bytesOf('want'), never)).rejects.toThrow(
      `longer than any can be: more than ${bound}`,
    )
    await gone.promise
  })

  test('an answer that ends within a frame is none', async () => {
    const peer = await startServer((_request, response) => {
      response.writeHead(200)
      response.end(prefixed(bytesOf('a delta')).subarray(0, 8))
    })
    await expect(newTransport().ask(peer, bytesOf('want'), never)).rejects.toThrow('ended within a frame')
    expect(await follow(newTransport(), peer).closed).toBe('the stream ended within a frame')
  })

  test('a head that comes byte by byte is not waited for', async () => {
    const peer = await startBytes('HTTP/1.1 200 OK\n', (write, end) => {
      const timer = setInterval(() => write('x'), 50)
      setTimeout(() => {
        clearInterval(timer)
        end()
      }, 5_000).unref()
    })
    const startMs = performance.now()
    expect(await follow(newTransport({ heartbeatMs: 100 }), peer).closed).toContain('no answer within 2000 ms')
    expect(performance.now() - startMs).toBeLessThan(4_000)
  })

  test('a head that has no end is refused', async () => {
    const peer = await startBytes('HTTP/1.1 200 OK\n', (write) => write(`X: ${'y'.repeat(100_000)}`))
    expect(await follow(newTransport(), peer).closed).toMatch(/Headers Overflow/)
  })

  test('a stream that has fallen silent is given up after three heartbeats', async () => {
    const peer = await startServer((_request, response) => {
      response.writeHead(200)
      response.write(prefixed(bytesOf('one')))
    })
    const followed = follow(newTransport({ heartbeatMs: 100 }), peer)
    expect(await followed.closed).toMatch(/Body Timeout/)
    expect(followed.log).toEqual(['opened 2', 'one', 'closed'])
  })

  test('a refusal is shown in short, on one line, and no more of it is read than that', async () => {
    const peer = await startServer((_request, response) => {
      response.writeHead(418, { 'content-type': 'text/plain' })
      response.end(`\u001b[31mno\u0000 ${'x'.repeat(500)}\nand more`)
    })
    const reason = await follow(newTransport(), peer).closed
    expect(reason).toMatch(/answered 418: \?\[31mno\? x+$/)
    expect(reason.length).toBeLessThan(260)
    const endless = await startServer((_request: IncomingMessage, response) => {
      response.writeHead(500)
      const go = (): void => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
        if (!response.destroyed) response.once('drain', go)
      }
      go()
    })
    expect(await follow(newTransport(), endless).closed).toContain('more than 4096 bytes')
  })

  test('no HTTP at all', async () => {
    const peer = await startBytes('SSH-2.0-OpenSSH_9.2\n')
    expect(await follow(newTransport(), peer).closed).toMatch(/HTTP|Parse/)
  })
})

describe('a follower that is not what it should be', () => {
  test('a want that has no end is refused, and its connection with it', async () => {
    const { peer, source } = await startPublisher()
    const { port } = new URL(peer.url)
    const socket = connect(Number(port), '127.0.0.1')
    let answer = ''
    socket.on('data', (bytes: Buffer) => (answer += bytes.toString()))
    socket.on('error', () => socket.destroy())
    socket.write(`POST ${PREFIX}v2/follow/a HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n`)
    const timer = setInterval(() => socket.writable && socket.write('x'.repeat(1_000)), 1)
    await new Promise((resolve) => socket.once('close', resolve))
    clearInterval(timer)
    expect(answer).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/)
    expect(source.asked).toEqual([])
  })

  test('one that leaves before it is answered is no follower', async () => {
    const { peer, source, transport } = await startPublisher()
    const held = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    const answer = source.answer.bind(source)
    source.answer = async (...given) => {
      reached.resolve()
      await held.promise
      return answer(...given)
    }
    const followed = follow(newTransport(), peer)
    await reached.promise
    followed.close()
    await followed.closed
    await new Promise((resolve) => setTimeout(resolve, 20))
    held.resolve()
    await until(() => source.asked.length === 1)
    expect(transport.followerCount).toBe(0)
  })
})
