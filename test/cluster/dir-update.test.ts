import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { cacheable, claims, get, startOrigin, startTestProxy, stopAll, until, type TestProxy } from './support.ts'

const relays: Relay[] = []
afterEach(async () => {
  await stopAll()
  for (const relay of relays.splice(0)) relay.close()
})

/** A proxy on the paper's wire that sends what has changed after a tenth of a second. */
function startPaperProxy(name: string, yaml = '', refresh = '1s', port = 0): Promise<TestProxy> {
  const dirUpdate = `dirUpdate: { listen: { port: 0 }, maxAge: 100ms, refresh: ${refresh} }`
  return startTestProxy(name, `${dirUpdate}\n${yaml}`, port)
}

/** Where `proxy` speaks with one other, and a test can lose what it says. */
class Relay {
  readonly #here: Socket
  readonly #there: Socket
  isLossy = false
  lost = 0
  carried = 0

  private constructor(here: Socket, there: Socket) {
    this.#here = here
    this.#there = there
  }

  /** Datagrams from `from` come to `to` from another port of the relay's, and none go back. */
  static async between(to: TestProxy): Promise<Relay> {
    const relay = new Relay(await bound(), await bound())
    relays.push(relay)
    relay.#here.on('message', (bytes) => {
      if (relay.isLossy) relay.lost++
      else {
        relay.carried++
        relay.#there.send(bytes, to.updatesAddress!.port, '127.0.0.1')
      }
    })
    return relay
  }

  /** Where the sender takes its peer to be. */
  get entrance(): string {
    return `127.0.0.1:${this.#here.address().port}`
  }

  /** Where the receiver takes the sender to be. */
  get exit(): string {
    return `127.0.0.1:${this.#there.address().port}`
  }

  close(): void {
    this.#here.close()
    this.#there.close()
  }
}

async function bound(): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return socket
}

/** `b` follows `a` on the paper's wire, through a relay; what `a` knows of `b` is of no matter but for the address. */
async function joinedBy(a: TestProxy, b: TestProxy): Promise<Relay> {
  const relay = await Relay.between(b)
  a.operator.addPeer({ name: 'b', url: b.url, transport: 'dir-update', updates: relay.entrance })
  b.operator.addPeer({ name: 'a', url: a.url, transport: 'dir-update', updates: relay.exit })
  await until(() => [a, b].every(({ operator }) => operator.peers()[0]!.state === 'up'))
  // Its greeting has come: the way is open.
  await until(() => relay.carried > 0)
  return relay
}

test('what A fetched is a remote hit at B, and what A purges or evicts is not asked for again', async () => {
  const origin = await startOrigin(cacheable)
  const [a, b] = await Promise.all([startPaperProxy('a', '', '1h'), startPaperProxy('b', '', '1h')])
  await joinedBy(a, b)
  const url = `${origin.url}/page`
  await get(a, url)
  await until(() => claims(b, 'a', url))
  const answer = await get(b, url)
  expect([answer.body, answer.status]).toEqual(['body of /page', 200])
  expect(answer.cacheStatus).toContain('detail=remote-hit')
  expect(origin.asked).toEqual(['GET /page'])
  const [peer] = b.operator.peers()
  expect(peer).toMatchObject({ transport: 'dir-update', proved: false, state: 'up' })
  expect(peer!.guesses).toMatchObject({ tests: 1, claims: 1, trueHits: 1 })
  expect(peer!.digest).toMatchObject({ proved: false, name: '', entries: 1, geometry: { hashScheme: 2, keyRules: 0 } })

  expect(a.operator.purge(url)).toBe(1)
  await until(() => !claims(b, 'a', url))
})

test('entries evicted at A leave B’s replica', async () => {
  const origin = await startOrigin((request, response) => {
    response.writeHead(200, { 'cache-control': 'max-age=3600', 'content-length': 100_000 })
    response.end(Buffer.alloc(100_000, request.url))
  })
  const [a, b] = await Promise.all([
    startPaperProxy('a', 'store: { memory: 1MiB, maxObject: 200KB }', '1h'),
    startPaperProxy('b', '', '1h'),
  ])
  await joinedBy(a, b)
  await get(a, `${origin.url}/0`)
  await until(() => claims(b, 'a', `${origin.url}/0`))
  const all = Array.from({ length: 40 }, (_, i) => `${origin.url}/${i}`)
  for (const url of all) await get(a, url)
  const held = all.filter((url) => (a.operator.lookup(url)?.length ?? 0) > 0)
  expect(held.length).toBeLessThan(11)
  // Exact, collisions aside: at this fill one in 10^6.
  await until(() => all.every((url) => claims(b, 'a', url) === held.includes(url)))
})

test('a lost datagram is mended when B fetches A’s digest', async () => {
  const origin = await startOrigin(cacheable)
  const [a, b] = await Promise.all([startPaperProxy('a'), startPaperProxy('b')])
  const relay = await joinedBy(a, b)
  relay.isLossy = true
  const url = `${origin.url}/page`
  await get(a, url)
  await until(() => relay.lost > 0)
  await until(() => claims(b, 'a', url))
  expect((await get(b, url)).cacheStatus).toContain('detail=remote-hit')
})

test('A restarted: what B knew of it is gone', async () => {
  const origin = await startOrigin(cacheable)
  const [a, b] = await Promise.all([startPaperProxy('a'), startPaperProxy('b')])
  await joinedBy(a, b)
  const url = `${origin.url}/page`
  await get(a, url)
  await until(() => claims(b, 'a', url))
  const { port } = a.proxyAddress
  await a.stop(0)
  await until(() => b.operator.peers()[0]!.state !== 'up')
  await startPaperProxy('a', '', '1s', port)
  await until(() => b.operator.peers()[0]!.state === 'up')
  expect(claims(b, 'a', url)).toBe(false)
})

test('datagrams from an address that is no peer’s are counted and not read', async () => {
  const b = await startPaperProxy('b')
  const stranger = await bound()
  stranger.send(Buffer.alloc(40), b.updatesAddress!.port, '127.0.0.1')
  await until(() => b.operator.statistics().datagramsDropped['unknown-sender'] > 0)
  const dropped = { 'unknown-sender': 1, 'over-rate': 0, malformed: 0, unsent: 0 }
  expect(b.operator.statistics().datagramsDropped).toEqual(dropped)
  stranger.close()
})

test('a proxy without the paper’s wire has no digest for it, and takes no peer on it', async () => {
  const [a, b] = await Promise.all([startTestProxy('a'), startPaperProxy('b')])
  expect(a.updatesAddress).toBeUndefined()
  const peer = { name: 'b', url: b.url, transport: 'dir-update', updates: '127.0.0.1:9' } as const
  expect(a.operator.addPeer(peer)).toBe('transport-off')
  // The other way round it is a peer of the paper's: it lives, and only its updates would tell of it.
  b.operator.addPeer({ name: 'a', url: a.url, transport: 'dir-update', updates: '127.0.0.1:9' })
  await until(() => b.operator.peers()[0]!.state === 'unproved')
  expect(b.operator.readiness().ready).toBe(true)
  expect(b.operator.addPeer({ name: 'c', url: a.url, transport: 'dir-update' })).toBe('updates-address')
  expect(b.operator.changePeer('a', a.url, '127.0.0.1:10')).toBe('done')
  expect(b.operator.peers()[0]!.transport).toBe('dir-update')
})
