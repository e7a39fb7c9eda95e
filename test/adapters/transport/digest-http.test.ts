import { request } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { PartialSnapshot } from '../../../src/proxy/partial-snapshot.ts'
import { BudgetError, FetchError } from '../../../src/proxy/ports.ts'
import {
  bytesOf,
  follow,
  newTransport,
  prefixed,
  PREFIX,
  raw,
  startPublisher,
  startServer,
  stopAll,
  until,
} from './support.ts'

afterEach(stopAll)

const never = new AbortController().signal

/** Code and text of the FetchError that `asked` ends with. */
async function failure(asked: Promise<unknown>): Promise<string> {
  const end = await asked.then(
    () => 'it ended well',
    (error: unknown) => error,
  )
  if (!(end instanceof FetchError)) throw new Error('no FetchError', { cause: end })
  return `${end.code}: ${end.message}`
}

describe('following', () => {
  test('a follower gets what it lacks, then all that is published, and the goodbye before the end', async () => {
    const { peer, source, transport } = await startPublisher()
    source.frames = [bytesOf('a delta'), bytesOf('a heartbeat')]
    const followed = follow(newTransport(), peer, 'want 3.7')
    await until(() => followed.log.length === 3)
    expect(source.asked).toEqual([{ asker: 'b', want: 'want 3.7', version: 2 }])
    expect(transport.broadcast(bytesOf('second delta'))).toBe(1)
    expect(transport.broadcast(bytesOf('goodbye'))).toBe(1)
    await transport.close()
    expect(await followed.closed).toBe('the stream ended')
    expect(followed.log).toEqual(['opened 2', 'a delta', 'a heartbeat', 'second delta', 'goodbye', 'closed'])
  })

  test('what is published within the call that answers is neither missed nor sent twice', async () => {
    const { peer, source, transport } = await startPublisher()
    const answer = source.answer.bind(source)
    source.answer = (asker, want, version, deliver) =>
      answer(asker, want, version, (frames) => {
        transport.broadcast(bytesOf('before'))
        deliver(frames)
        transport.broadcast(bytesOf('after'))
      })
    const followed = follow(newTransport(), peer)
    await until(() => followed.log.length === 3)
    expect(followed.log).toEqual(['opened 2', 'a heartbeat', 'after'])
  })

  test('a stream that has nothing to say yet is open all the same', async () => {
    const { peer, source, transport } = await startPublisher()
    source.frames = []
    const followed = follow(newTransport(), peer)
    await until(() => followed.log.length === 1)
    expect(followed.log).toEqual(['opened 2'])
    expect(transport.followerCount).toBe(1)
  })

  test('a stream that its follower closes is counted no more, and tells it so once', async () => {
    const { peer, transport } = await startPublisher()
    const followed = follow(newTransport(), peer)
    await until(() => transport.followerCount === 1)
    followed.close()
    followed.close()
    expect(await followed.closed).toBe('closed')
    await until(() => transport.followerCount === 0)
    expect(transport.broadcast(bytesOf('delta'))).toBe(0)
    expect(followed.log.filter((line) => line === 'closed')).toHaveLength(1)
  })

  test('frames that had come together with the one that closed the stream are not told', async () => {
    const peer = await startServer((_request, response) => {
      response.writeHead(200)
      response.write(Buffer.concat(['one', 'two', 'three'].map((text) => prefixed(bytesOf(text)))))
    })
    const told: string[] = []
    const end = Promise.withResolvers<string>()
    const stream = newTransport().follow(peer, bytesOf('want'), {
      opened: () => undefined,
      frame: (bytes) => {
        told.push(Buffer.from(bytes).toString())
        stream.close()
      },
      closed: end.resolve,
    })
    expect(await end.promise).toBe('closed')
    expect(told).toEqual(['one'])
  })

  test('a stream lasts, though its head had a deadline and silent connections have an end', async () => {
    const { peer, server, transport } = await startPublisher()
    server.setTimeout(200)
    const followed = follow(newTransport({ heartbeatMs: 300 }), peer)
    await until(() => followed.log.length === 2)
    // As a publisher does that has nothing to publish. The head's deadline is two seconds.
    const startMs = performance.now()
    while (performance.now() - startMs < 2_300) {
      await new Promise((resolve) => setTimeout(resolve, 250))
      transport.broadcast(bytesOf('heartbeat'))
    }
    expect(followed.log).not.toContain('closed')
    followed.close()
  })

  test('a publisher of another name is not followed, and says who it is', async () => {
    const { peer } = await startPublisher()
    const followed = follow(newTransport(), { ...peer, name: 'c' })
    expect(await followed.closed).toContain(`${peer.url} is not c`)
    expect(followed.log).toEqual(['closed'])
  })

  test('what is no want is refused, and counted', async () => {
    const { events, peer } = await startPublisher()
    expect(await follow(newTransport(), peer, 'nonsense').closed).toContain(
      'answered 400: digest frame: no digest frame',
    )
    expect(await follow(newTransport(), peer, 'want'.padEnd(65)).closed).toContain('400: that is no want')
    expect(events).toMatchObject([
      { kind: 'peer-turned-away', peer: 'b', cause: 'malformed' },
      { kind: 'peer-turned-away', peer: 'b', cause: 'malformed' },
    ])
  })

  test('a peer that has had its share is told when to ask again', async () => {
    const { events, peer, source } = await startPublisher()
    source.failure = new BudgetError('30 streams in a minute', 2_400)
    const transport = newTransport()
    expect(await follow(transport, peer).closed).toMatch(/lets us ask again in 3 s: 30 streams in a minute$/)
    expect(await failure(transport.ask(peer, bytesOf('want'), never))).toMatch(/^http_protocol_error: .*again in 3 s/)
    expect(await failure(transport.readSnapshot(peer, new PartialSnapshot(100), never))).toMatch(/again in 3 s/)
    expect(events).toHaveLength(3)
    expect(events[0]).toMatchObject({ peer: 'b', cause: 'share' })
    const answer = await raw(peer, `GET ${PREFIX}v2/digest/a HTTP/1.1\nHost: a\nConnection: close\n\n`)
    expect(answer).toMatch(/^HTTP\/1.1 429 .*\r\nretry-after: 3\r\n/s)
  })

  test('a fault of the publisher is an answer, not a silence', async () => {
    const { peer, source } = await startPublisher()
    source.failure = new Error('a bug')
    expect(await follow(newTransport(), peer).closed).toMatch(/answered 500: a fault of this proxy/)
  })

  test('one that stops takes in nobody', async () => {
    const { peer, transport } = await startPublisher()
    await transport.close()
    expect(await follow(newTransport(), peer).closed).toContain('answered 503: stopping')
  })

  test('nobody at the address', async () => {
    const { peer, server } = await startPublisher()
    await new Promise((resolve) => server.close(resolve))
    const transport = newTransport()
    expect(await follow(transport, peer).closed).toMatch(/ECONNREFUSED/)
    expect(await failure(transport.ask(peer, bytesOf('want'), never))).toMatch(/^connection_refused: /)
  })
})

describe('asking in between', () => {
  test('a want is answered by its frames and the end', async () => {
    const { peer, source, transport } = await startPublisher()
    source.frames = [bytesOf('delta 3 to 9'), new Uint8Array(0), new Uint8Array(300_000).fill(7)]
    const frames = await newTransport().ask(peer, bytesOf('want'), never)
    expect(frames.map((frame) => Buffer.from(frame))).toEqual(source.frames.map((frame) => Buffer.from(frame)))
    expect(source.asked).toEqual([{ asker: 'b', want: 'want', version: 2 }])
    expect(transport.followerCount).toBe(0)
  })

  test('who has given up is not kept waiting', async () => {
    const peer = await startServer(() => undefined)
    const transport = newTransport()
    const stop = new AbortController()
    const asked = failure(transport.ask(peer, bytesOf('want'), stop.signal))
    const read = failure(transport.readSnapshot(peer, new PartialSnapshot(100), stop.signal))
    const followed = follow(transport, peer)
    stop.abort()
    expect(await asked).toBe('cancelled: closed')
    expect(await read).toBe('cancelled: closed')
    await transport.close()
    expect(await followed.closed).toMatch(/destroyed/)
  })

  test('a proxy describes itself', async () => {
    const { peer } = await startPublisher()
    expect(await newTransport().describe(peer, 100, never)).toBe('{"name":"a"}')
    expect(await failure(newTransport().describe(peer, 5, never))).toContain('more than 5 bytes')
  })

  test('what is no route is said to be none', async () => {
    const { peer } = await startPublisher()
    for (const target of ['v2/x', 'v3/status', 'v2/follow/a/b', 'v2/digest/%zz', 'v2/status?x']) {
      const answer = await raw(peer, `GET ${PREFIX}${target} HTTP/1.1\nHost: a\nConnection: close\n\n`)
      expect(answer, target).toMatch(/^HTTP\/1.1 404 .*no GET .* here: this path is for the proxies of a cluster/s)
    }
  })
})

describe('versions', () => {
  test('rule 15: a publisher of version 1 is followed in it, and in version 2 once it can', async () => {
    const old = await startPublisher({ versions: [1] })
    const transport = newTransport()
    const followed = follow(transport, old.peer)
    await until(() => followed.log.length === 2)
    expect(followed.log).toEqual(['opened 1', 'a heartbeat'])
    expect(old.source.asked).toMatchObject([{ version: 1 }])
    expect(await transport.describe(old.peer, 100, never)).toBe('{"name":"a"}')
    expect(await failure(transport.ask(old.peer, bytesOf('want'), never))).toContain('answered 404')
    expect(await failure(transport.readSnapshot(old.peer, new PartialSnapshot(100), never))).toContain('answered 404')

    const grown = await startPublisher()
    const again = follow(transport, grown.peer)
    await until(() => again.log.length === 2)
    expect(again.log[0]).toBe('opened 2')
  })

  test('rule 15: followers of both versions get all that is published', async () => {
    const { peer, source, transport } = await startPublisher()
    const old = follow(newTransport({ versions: [1] }), peer)
    const young = follow(newTransport(), peer)
    await until(() => transport.followerCount === 2)
    expect(new Set(source.asked.map(({ version }) => version))).toEqual(new Set([1, 2]))
    expect(transport.broadcast(bytesOf('delta'))).toBe(2)
    await until(() => old.log.length === 3 && young.log.length === 3)
    expect(old.log).toEqual(['opened 1', 'a heartbeat', 'delta'])
    expect(young.log).toEqual(['opened 2', 'a heartbeat', 'delta'])
  })

  test('rule 15: where there is no version in common, that is said', async () => {
    const { peer } = await startPublisher({ versions: [1] })
    expect(await follow(newTransport({ versions: [2] }), peer).closed).toContain('knows no route of a version')
  })

  test('version 1 gives its snapshot in one piece', async () => {
    const { peer } = await startPublisher()
    const answer = await raw(peer, `GET ${PREFIX}v1/digest HTTP/1.1\nHost: a\nConnection: close\n\n`)
    expect(answer).toMatch(/^HTTP\/1.1 200 .*\r\n\r\na snapshot$/s)
  })
})

describe('many followers', () => {
  test('300 followers of one publisher, in one process: all get all, in order', async () => {
    const { peer, transport } = await startPublisher()
    const follower = newTransport()
    const streams = Array.from({ length: 300 }, () => follow(follower, peer))
    await until(() => transport.followerCount === 300)
    for (let i = 0; i < 5; i++) {
      expect(transport.broadcast(bytesOf(`delta ${i}`))).toBe(300)
    }
    await until(() => streams.every(({ log }) => log.length === 7))
    for (const { log } of streams) {
      expect(log).toEqual(['opened 2', 'a heartbeat', 'delta 0', 'delta 1', 'delta 2', 'delta 3', 'delta 4'])
    }
  })

  test('a follower that does not read is cut off when it has left a mebibyte and the largest frame unread', async () => {
    const { events, peer, transport } = await startPublisher()
    const held = Promise.withResolvers<void>()
    const told: number[] = []
    // It stops reading: the first frame holds it up.
    const slow = request(`${peer.url}${PREFIX}v2/follow/a`, {
      method: 'POST',
      headers: { 'summary-cache-proxy': 'sleepy' },
    })
    slow.on('response', (response) => {
      response.pause()
      held.resolve()
    })
    slow.on('error', () => undefined)
    slow.end('want')
    await held.promise
    const good = follow(newTransport(), peer)
    await until(() => transport.followerCount === 2)
    const frame = new Uint8Array(256 * 1024)
    while (transport.followerCount === 2) {
      told.push(transport.broadcast(frame))
      // The good one keeps up.
      await until(() => good.frames.length === told.length + 1)
    }
    expect(told.at(-1)).toBe(1)
    // The kernel's buffers hold some of it as well.
    expect(told.length).toBeGreaterThan(5)
    expect(told.length).toBeLessThan(80)
    const [cut] = events
    if (cut?.kind !== 'peer-turned-away') throw new Error('nobody was turned away')
    expect(cut).toMatchObject({ peer: 'sleepy', cause: 'slow' })
    const unread = Number(/left (\d+) bytes/.exec(cut.reason)?.[1])
    expect(unread).toBeGreaterThan(1024 * 1024 + frame.length)
    expect(unread).toBeLessThan(1024 * 1024 + 3 * frame.length)
    good.close()
  })

  test('1,024 followers are the limit: one more is told so, and there is room when one has left', async () => {
    const { events, peer, transport } = await startPublisher()
    const follower = newTransport()
    const streams = Array.from({ length: 1024 }, () => follow(follower, peer))
    await until(() => transport.followerCount === 1024)
    expect(await follow(follower, peer).closed).toContain('answered 503: 1024 followers are the limit')
    expect(events).toMatchObject([{ cause: 'full' }])
    streams[0]!.close()
    await until(() => transport.followerCount === 1023)
    const late = follow(follower, peer)
    await until(() => late.log.length === 2)
  })
})
