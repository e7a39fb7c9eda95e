import { createHash, createHmac } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { RequestGuard } from '../../../src/adapters/transport/request-guard.ts'
import { sharedKey } from '../../../src/adapters/transport/peer-client.ts'
import { signRequest } from '../../../src/adapters/transport/request-signature.ts'
import type { Peer } from '../../../src/core/peers/peer.ts'
import { PartialSnapshot } from '../../../src/proxy/partial-snapshot.ts'
import {
  bytesOf,
  follow,
  KEY,
  newTransport,
  PREFIX,
  raw,
  startPublisher,
  startServer,
  stopAll,
  TestClock,
  until,
} from './support.ts'

const relays: Server[] = []
afterEach(async () => {
  for (const relay of relays.splice(0)) relay.close()
  await stopAll()
})

const never = new AbortController().signal
const hmac = (text: string, key: string | Buffer = KEY): string => createHmac('sha256', key).update(text).digest('hex')
const sha256 = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex')
const NONCE = '00112233445566778899aabbccddeeff'

/** Written from docs/protocol.md alone. */
function authorization(method: string, path: string, body: string, timeMs: number, nonce = NONCE, key = KEY): string {
  const mac = hmac(['request', method, path, 'a', 'b', timeMs, nonce, sha256(body)].join('\n'), key)
  return `Summary-Cache proxy=b, time=${timeMs}, nonce=${nonce}, mac=${mac}`
}

function get(peer: Peer, path: string, signature?: string): Promise<string> {
  const field = signature === undefined ? '' : `Authorization: ${signature}\n`
  return raw(peer, `GET ${path} HTTP/1.1\nHost: a\nConnection: close\n${field}\n`)
}

/** Something between the two that may change what the publisher says. */
async function startRelay(peer: Peer, change: (bytes: Buffer, count: number) => Buffer): Promise<Peer> {
  const { port } = new URL(peer.url)
  const relay = createServer((client) => {
    const publisher = connect(Number(port), '127.0.0.1')
    let count = 0
    client.on('data', (bytes: Buffer) => publisher.write(bytes))
    publisher.on('data', (bytes: Buffer) => client.write(change(bytes, count++)))
    for (const [one, other] of [
      [client, publisher],
      [publisher, client],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  })
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
  relays.push(relay)
  return { ...peer, url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}` }
}

describe('proxies that share a key', () => {
  test('follow, ask, read and describe each other', async () => {
    const { peer, source, transport } = await startPublisher({ key: KEY })
    source.current = { tag: '7.0.1', frame: new Uint8Array(100_000).fill(9) }
    const follower = newTransport({ key: KEY })
    const followed = follow(follower, peer)
    await until(() => followed.log.length === 2)
    transport.broadcast(bytesOf('delta'))
    await until(() => followed.log.length === 3)
    expect(followed.log).toEqual(['opened 2', 'a heartbeat', 'delta'])
    const answered = await follower.ask(peer, bytesOf('want'), never)
    expect(answered.map((frame) => Buffer.from(frame).toString())).toEqual(['a heartbeat'])
    const partial = new PartialSnapshot(200_000)
    await follower.readSnapshot(peer, partial, never)
    expect(Buffer.compare(partial.frame, source.current.frame)).toBe(0)
    expect(await follower.describe(peer, 100, never)).toBe('{"name":"a"}')
    expect(source.asked.map(({ asker }) => asker)).toEqual(['b', 'b', 'b'])
  })

  test('speak version 1 as well', async () => {
    const { peer, transport } = await startPublisher({ key: KEY, versions: [1] })
    const followed = follow(newTransport({ key: KEY }), peer)
    await until(() => followed.log.length === 2)
    expect(transport.broadcast(bytesOf('delta'))).toBe(1)
    await until(() => followed.log.length === 3)
    expect(followed.log).toEqual(['opened 1', 'a heartbeat', 'delta'])
  })

  test('sign as docs/protocol.md says', async () => {
    const { clock, peer, source } = await startPublisher({ key: KEY })
    source.frames = [bytesOf('first'), bytesOf('second')]
    const path = `${PREFIX}v2/want/a`
    const signature = authorization('POST', path, 'want', clock.wall)
    const answer = await raw(
      peer,
      `POST ${path} HTTP/1.1\nHost: a\nConnection: close\nContent-Length: 4\nAuthorization: ${signature}\n\nwant`,
    )
    const answerNonce = /summary-cache-nonce: ([0-9a-f]{32})\r\n/.exec(answer)![1]!
    const streamKey = createHmac('sha256', KEY).update(`stream\n${NONCE}\n${answerNonce}`).digest()
    const tagged = (number: number, frame: string): string => {
      const head = Buffer.alloc(8)
      head.writeUInt32BE(number, 4)
      const tag = createHmac('sha256', streamKey).update(head).update(frame).digest().subarray(0, 16)
      const prefix = Buffer.from([0, 0, 0, frame.length + 16])
      return Buffer.concat([prefix, Buffer.from(frame), tag]).toString('latin1')
    }
    const chunks = answer
      .slice(answer.indexOf('\r\n\r\n') + 4)
      .replaceAll(/(?:^|\r\n)[0-9a-f]+\r\n/g, '')
      .replace(/\r\n$/, '')
    expect(chunks).toContain(tagged(0, 'first') + tagged(1, 'second'))

    const digest = `${PREFIX}v2/digest/a`
    const snapshot = await get(peer, digest, authorization('GET', digest, '', clock.wall, NONCE.replace('0', '1')))
    expect(snapshot).toContain(
      `summary-cache-mac: ${hmac(`snapshot\n${digest}\n"7.0.1"\n${sha256('a snapshot')}`)}\r\n`,
    )

    const status = `${PREFIX}v2/status`
    const nonce = NONCE.replace('0', '2')
    const said = await get(peer, status, authorization('GET', status, '', clock.wall, nonce))
    expect(said).toContain(`summary-cache-mac: ${hmac(`answer\n${nonce}\n200\n${sha256('{"name":"a"}')}`)}\r\n`)
  })

  test('a snapshot that goes on is proved as a whole', async () => {
    let cut = true
    const wrap =
      (serve: RequestListener): RequestListener =>
      (request, response) => {
        const write = response.write.bind(response) as (chunk: Uint8Array) => boolean
        if (cut) {
          response.write = ((chunk: Uint8Array) => {
            setTimeout(() => request.socket.destroy(), 2)
            return write(chunk.subarray(0, 1_000)) && false
          }) as typeof response.write
        }
        serve(request, response)
      }
    const { peer, source } = await startPublisher({ key: KEY, wrap })
    source.current = { tag: '7.0.1', frame: new Uint8Array(100_000).fill(9) }
    const partial = new PartialSnapshot(200_000)
    const follower = newTransport({ key: KEY })
    await expect(follower.readSnapshot(peer, partial, never)).rejects.toThrow()
    expect(partial.receivedBytes).toBe(1_000)
    // What came first was changed on its way: it shows at the end.
    cut = false
    const forged = new PartialSnapshot(200_000)
    forged.begin('7.0.1', 100_000)
    forged.push(new Uint8Array(1_000).fill(8))
    await expect(follower.readSnapshot(peer, forged, never)).rejects.toThrow('is not signed')
    expect([forged.tag, forged.receivedBytes]).toEqual([undefined, 0])
    await follower.readSnapshot(peer, partial, never)
    expect(Buffer.compare(partial.frame, source.current.frame)).toBe(0)
  })
})

describe('who does not share it', () => {
  const ROUTES = ['GET v2/digest/a', 'GET v2/status', 'GET v1/digest', 'GET v1/status', 'GET v2/nothing'] as const

  test.each(ROUTES)('%s is refused without a signature, and counted', async (route) => {
    const { events, peer, source } = await startPublisher({ key: KEY })
    const [method, path] = route.split(' ')
    const answer = await raw(peer, `${method} ${PREFIX}${path} HTTP/1.1\nHost: a\nConnection: close\n\n`)
    expect(answer).toMatch(/^HTTP\/1.1 401 Unauthorized\r\n/)
    expect(answer).toContain('www-authenticate: Summary-Cache')
    expect(answer).not.toContain('this is a')
    expect(source.asked).toEqual([])
    expect(events).toMatchObject([{ kind: 'peer-turned-away', peer: '127.0.0.1', cause: 'signature' }])
  })

  test('a follower without a key learns that it needs one; with another, that it is another', async () => {
    const { peer, source } = await startPublisher({ key: KEY })
    expect(await follow(newTransport(), peer).closed).toContain('and we have no cluster.key')
    const stranger = newTransport({ key: 'the secret of another cluster' })
    const reason = await follow(stranger, peer).closed
    expect(reason).toContain('its signature does not hold for a: it has another key')
    expect(reason).not.toContain('secret')
    await expect(stranger.ask(peer, bytesOf('want'), never)).rejects.toThrow('another key')
    await expect(stranger.readSnapshot(peer, new PartialSnapshot(100), never)).rejects.toThrow('another key')
    await expect(stranger.describe(peer, 100, never)).rejects.toThrow('another key')
    expect(source.asked).toEqual([])
  })

  test('a publisher that does not sign is not believed, whatever it says', async () => {
    const { peer } = await startPublisher()
    const follower = newTransport({ key: KEY })
    const followed = follow(follower, peer)
    expect(await followed.closed).toContain('does not sign its frames: has it our cluster.key?')
    expect(followed.frames).toEqual([])
    await expect(follower.ask(peer, bytesOf('want'), never)).rejects.toThrow('does not sign its frames')
    await expect(follower.describe(peer, 100, never)).rejects.toThrow("not signed with our cluster's key")
  })

  test('a 404 that nobody has signed takes no proxy back to version 1', async () => {
    const asked: string[] = []
    const peer = await startServer((request, response) => {
      asked.push(request.url!)
      response.writeHead(404).end('no such route')
    })
    expect(await follow(newTransport({ key: KEY }), peer).closed).toContain("not signed with our cluster's key")
    expect(asked).toEqual([`${PREFIX}v2/follow/a`])
  })
})

describe('a request', () => {
  const path = `${PREFIX}v2/status`

  test('that is sent again is refused', async () => {
    const { clock, peer } = await startPublisher({ key: KEY })
    const signature = authorization('GET', path, '', clock.wall)
    expect(await get(peer, path, signature)).toMatch(/^HTTP\/1.1 200 /)
    expect(await get(peer, path, signature)).toMatch(/^HTTP\/1.1 401 .*it has been sent before/s)
    clock.advance(59_000)
    expect(await get(peer, path, signature)).toMatch(/^HTTP\/1.1 401 .*it has been sent before/s)
    clock.advance(2_000)
    expect(await get(peer, path, signature)).toMatch(/^HTTP\/1.1 401 .*its clock is 61 s behind ours/s)
  })

  // What is changed after the signing.
  test.each([
    ['its path', (peer: Peer, signed: string) => get(peer, `${PREFIX}v1/status`, signed)],
    ['its asker', (peer: Peer, signed: string) => get(peer, path, signed.replace('proxy=b', 'proxy=c'))],
    ['its time', (peer: Peer, signed: string) => get(peer, path, signed.replace(/time=(\d+)\d/, 'time=$11'))],
    ['its nonce', (peer: Peer, signed: string) => get(peer, path, signed.replace('nonce=0', 'nonce=1'))],
    [
      'its mac',
      (peer: Peer, signed: string) =>
        get(
          peer,
          path,
          signed.replace(/.$/, (c) => (c === '0' ? '1' : '0')),
        ),
    ],
    ['its length', (peer: Peer, signed: string) => get(peer, path, signed.slice(0, -2))],
    ['its scheme', (peer: Peer, signed: string) => get(peer, path, signed.replace('Summary-Cache', 'Bearer'))],
    [
      'its method and body',
      (peer: Peer, signed: string) =>
        raw(
          peer,
          `POST ${path} HTTP/1.1\nHost: a\nConnection: close\nContent-Length: 4\nAuthorization: ${signed}\n\nwant`,
        ),
    ],
  ])('is refused when %s is another', async (_what, send) => {
    const { clock, peer } = await startPublisher({ key: KEY })
    expect(await send(peer, authorization('GET', path, '', clock.wall - 7))).toMatch(/^HTTP\/1.1 401 /)
  })

  test('that was meant for another publisher is refused', async () => {
    const { clock, peer } = await startPublisher({ key: KEY, name: 'c' })
    expect(await get(peer, path, authorization('GET', path, '', clock.wall))).toMatch(/^HTTP\/1.1 401 /)
    const follower = newTransport({ key: KEY, clock })
    // It says who it is only to those that share its key.
    expect(await follow(follower, peer).closed).toContain('is not a: another proxy has its address')
  })

  test.each([
    [61_000, '61 s ahead of'],
    [-3_600_000, '3600 s behind'],
  ])('with a clock that is %d ms off is refused, and told by how much', async (offMs, by) => {
    const clock = new TestClock()
    clock.advance(offMs)
    const { events, peer } = await startPublisher({ key: KEY })
    const reason = await follow(newTransport({ key: KEY, clock }), peer).closed
    expect(reason).toContain(`refuses our request: its clock is ${by} ours, and 60 s are allowed`)
    expect(events).toMatchObject([{ cause: 'signature', reason: expect.stringContaining(by) }])
  })

  test('within a minute is let in', async () => {
    const clock = new TestClock()
    clock.advance(-60_000)
    const { peer } = await startPublisher({ key: KEY })
    expect(await newTransport({ key: KEY, clock }).describe(peer, 100, never)).toBe('{"name":"a"}')
  })
})

describe('the memory of nonces', () => {
  const facts = { method: 'GET', path: '/', publisher: 'a', body: new Uint8Array(0) }
  const key = sharedKey(KEY)
  const signed = (clock: TestClock, nonce: number): string =>
    signRequest(key, facts, { asker: 'b', timeMs: clock.wall, nonce: nonce.toString(16).padStart(32, '0') })

  test('is bounded, and has room again when what is in it has grown old', () => {
    const clock = new TestClock()
    const guard = new RequestGuard(key, clock)
    for (let i = 0; i < 65_536; i++) expect(guard.admit(signed(clock, i), facts).kind).toBe('admitted')
    expect(guard.admit(signed(clock, 65_536), facts)).toMatchObject({ problem: expect.stringContaining('too many') })
    clock.advance(120_000)
    expect(guard.admit(signed(clock, 65_536), facts).kind).toBe('admitted')
  })

  test('lasts as long as a time that lay ahead is good', () => {
    const clock = new TestClock()
    const guard = new RequestGuard(key, clock)
    clock.advance(119_000)
    clock.wall += 60_000
    const ahead = signed(clock, 1)
    clock.wall -= 60_000
    expect(guard.admit(ahead, facts).kind).toBe('admitted')
    for (const ms of [1_500, 60_000, 58_000]) {
      clock.advance(ms)
      expect(guard.admit(ahead, facts)).toMatchObject({ problem: 'it has been sent before' })
    }
  })
})

describe('a stream', () => {
  /** What is done to the answer's bytes, by number of their arrival; 0 has the head. */
  async function relayed(change: (bytes: Buffer, count: number) => Buffer) {
    const { peer, transport } = await startPublisher({ key: KEY })
    const followed = follow(newTransport({ key: KEY }), await startRelay(peer, change))
    await until(() => followed.frames.length === 1)
    for (const text of ['delta one', 'delta two', 'delta six']) {
      transport.broadcast(bytesOf(text))
      // Each in a packet of its own.
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return followed
  }

  test('that nobody has touched is believed', async () => {
    const followed = await relayed((bytes) => bytes)
    await until(() => followed.frames.length === 4)
    expect(followed.log).toEqual(['opened 2', 'a heartbeat', 'delta one', 'delta two', 'delta six'])
    followed.close()
  })

  test.each<[string, (bytes: Buffer, count: number, all: Buffer[]) => Buffer]>([
    ['altered', (bytes) => Buffer.from(bytes.toString('latin1').replace('delta two', 'delta too'), 'latin1')],
    ['repeated', (bytes) => (bytes.includes('delta one') ? Buffer.concat([bytes, bytes]) : bytes)],
    ['left out', (bytes) => (bytes.includes('delta one') ? Buffer.alloc(0) : bytes)],
    [
      'put in another place',
      (bytes, _count, all) => {
        if (bytes.includes('delta one')) {
          all.push(bytes)
          return Buffer.alloc(0)
        }
        return bytes.includes('delta two') ? Buffer.concat([bytes, ...all]) : bytes
      },
    ],
  ])('in which a frame was %s is believed no further', async (_what, change) => {
    const kept: Buffer[] = []
    const followed = await relayed((bytes, count) => change(bytes, count, kept))
    expect(await followed.closed).toContain('a frame whose tag does not hold')
    expect(followed.log).not.toContain('delta six')
    expect(followed.log).not.toContain('delta too')
    expect(followed.log.filter((line) => line === 'delta one').length).toBeLessThan(2)
  })

  test('is not another: frames of one are worth nothing in the next', async () => {
    const recorded: Buffer[] = []
    const { peer } = await startPublisher({ key: KEY })
    const relay = await startRelay(peer, (bytes) => {
      recorded.push(bytes)
      return recorded.length === 1 ? bytes : recorded[0]!
    })
    const first = follow(newTransport({ key: KEY }), relay)
    await until(() => first.frames.length === 1)
    const second = follow(newTransport({ key: KEY }), relay)
    expect(await second.closed).toContain('a frame whose tag does not hold')
    expect(second.frames).toEqual([])
    first.close()
  })
})
