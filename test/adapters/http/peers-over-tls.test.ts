import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { connect, type ConnectionOptions } from 'node:tls'
import { afterEach, describe, expect, test } from 'vitest'
import { UndiciOrigin } from '../../../src/adapters/fetch/undici-origin.ts'
import { UndiciPeerFetch } from '../../../src/adapters/fetch/undici-peer-fetch.ts'
import { ClientAccess } from '../../../src/adapters/http/client-access.ts'
import { PEER_PREFIX, ProxyServer } from '../../../src/adapters/http/proxy-server.ts'
import { MemoryStore } from '../../../src/adapters/store/memory-store.ts'
import { readPeerTls } from '../../../src/adapters/system/peer-certificates.ts'
import { SystemClock } from '../../../src/adapters/system/system-clock.ts'
import type { DigestHttpOptions } from '../../../src/adapters/transport/digest-http.ts'
import { CacheDirectory } from '../../../src/core/directory/cache-directory.ts'
import { Lru } from '../../../src/core/directory/lru.ts'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import { Fields } from '../../../src/core/http/fields.ts'
import { MountTable } from '../../../src/core/http/mount-table.ts'
import type { Peer } from '../../../src/core/peers/peer.ts'
import { UPDATE_PROFILES } from '../../../src/core/protocol/update-policy.ts'
import { SummaryCacheProtocol } from '../../../src/core/protocol/summary-cache-protocol.ts'
import { CacheProxy } from '../../../src/proxy/cache-proxy.ts'
import { PartialSnapshot } from '../../../src/proxy/partial-snapshot.ts'
import { SystemRandom } from '../../../src/adapters/system/system-random.ts'
import { cacheKey } from '../../../src/core/http/cache-key.ts'
import { DEFAULT_LOOKUP_POLICY } from '../../../src/core/peers/lookup-plan.ts'
import { PeerProbes } from '../../../src/proxy/peer-probes.ts'
import { PeerLookup } from '../../../src/proxy/peer-lookup.ts'
import type { PeerTls } from '../../../src/proxy/peer-tls.ts'
import { FetchError } from '../../../src/proxy/ports.ts'
import type { ProxyEvent } from '../../../src/proxy/proxy-event.ts'
import { cacheable, startOrigin, stopAll as stopOrigins } from '../../cluster/support.ts'
import { bytesOf, follow, KEY, newTransport, stopAll, TestSource, until } from '../transport/support.ts'

const never = new AbortController().signal
const FOLDER = 'test/support/certificates'

function credentials(name: string, ca = 'cluster'): PeerTls {
  return readPeerTls({
    certificate: `${FOLDER}/${name}.pem`,
    key: `${FOLDER}/${name}-key.pem`,
    ca: `${FOLDER}/${ca}.pem`,
  })
}

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
  await stopAll()
  await stopOrigins()
})

interface PeerPort {
  readonly peer: Peer
  readonly port: number
  readonly proxy: CacheProxy<never>
  readonly source: TestSource
  readonly events: ProxyEvent[]
  readonly broadcast: (frame: Uint8Array) => unknown
}

/** The port for peers of a proxy `a`, with a store that fills from origins. */
async function startPeerPort(tls = credentials('edge-a'), options: Partial<DigestHttpOptions> = {}): Promise<PeerPort> {
  const clock = new SystemClock()
  const events: ProxyEvent[] = []
  const sink = { emit: (event: ProxyEvent) => void events.push(event) }
  const protocol = new SummaryCacheProtocol(
    {
      incarnation: 1,
      geometry: geometryFor(100),
      policy: UPDATE_PROFILES.fresh(),
      pendingClearShare: 0.03,
      generationAgeMs: 1e9,
      heartbeatMs: 1_000,
      maxBitCount: 2 ** 20,
    },
    clock.monotonicMs(),
  )
  const directory = new CacheDirectory(new Lru(), protocol, { capacityBytes: 2 ** 24 })
  const store = new MemoryStore(directory, clock, { maxObjectBytes: 2 ** 20 })
  const origin = new UndiciOrigin({ timeoutMs: 5_000 })
  const peerFetch = new UndiciPeerFetch({ timeoutMs: 500 })
  const parts = { protocol, fetcher: peerFetch, clock, events: sink }
  const peers = new PeerLookup({ ...parts, policy: DEFAULT_LOOKUP_POLICY, switchesOff: true })
  const probes = new PeerProbes({ ...parts, lookup: peers, random: new SystemRandom(), share: 0 })
  const proxy = new CacheProxy({
    name: 'a',
    keyOf: cacheKey,
    store,
    origin,
    peers,
    probes,
    sharing: 'copy',
    protocol,
    clock,
    events: sink,
  })
  const source = new TestSource()
  const transport = newTransport({ name: 'a', clock, events: sink, ...options })
  const server = new ProxyServer({
    name: 'a',
    proxy,
    mounts: new MountTable([{ host: undefined, path: '/', origin: 'http://mounted.example/' }]),
    // Nobody: a certificate is what counts here.
    access: new ClientAccess([]),
    forward: { enabled: false, connectPorts: [443] },
    peerRoutes: transport.routes(source, () => '{"name":"a"}'),
    peersOnly: tls,
    clock,
    events: sink,
    idleMs: 10_000,
    reportFault: (error) => {
      throw error
    },
  })
  const { port }: AddressInfo = await server.listen('127.0.0.1', 0)
  stops.push(async () => {
    await server.close(0)
    await Promise.all([origin.close(), peerFetch.close()])
  })
  return {
    peer: { name: 'a', url: `https://127.0.0.1:${port}` },
    port,
    proxy: proxy as unknown as CacheProxy<never>,
    source,
    events,
    broadcast: (frame) => transport.broadcast(frame),
  }
}

function newPeerFetch(tls: PeerTls | undefined): UndiciPeerFetch {
  const fetcher = new UndiciPeerFetch({ timeoutMs: 3_000, tls })
  stops.push(() => fetcher.close())
  return fetcher
}

/** Asks for an object as a sibling does; its status and body, or why there is none. */
async function asked(
  fetcher: UndiciPeerFetch,
  peer: Peer,
  url: string,
  directives = 'only-if-cached',
): Promise<string> {
  const fields = new Fields(directives === '' ? [] : ['Cache-Control', directives])
  try {
    const { body, head } = await fetcher.fetch(peer, { method: 'GET', url, fields }, never, 3_000)
    const chunks: Uint8Array[] = []
    if (body instanceof Uint8Array) chunks.push(body)
    else for await (const chunk of body ?? []) chunks.push(chunk)
    return `${head.status} ${Buffer.concat(chunks).toString().trim()}`
  } catch (error) {
    if (!(error instanceof FetchError)) throw error
    return `${error.code}: ${error.message}`
  }
}

describe('a peer with a certificate of the cluster', () => {
  test('follows, fetches snapshots and asks for objects, none of it on the proxy port', async () => {
    const origin = await startOrigin(cacheable)
    const a = await startPeerPort()
    const url = `${origin.url}/page`
    const tls = credentials('edge-b')
    const transport = newTransport({ tls })
    const followed = follow(transport, a.peer)
    await until(() => followed.log.length === 2)
    a.broadcast(bytesOf('delta'))
    await until(() => followed.log.length === 3)
    const partial = new PartialSnapshot(100)
    await transport.readSnapshot(a.peer, partial, never)
    expect(Buffer.from(partial.frame).toString()).toBe('a snapshot')

    const fetcher = newPeerFetch(tls)
    expect(await asked(fetcher, a.peer, url)).toMatch(/^504 a cannot answer this from its store \(absent\)/)
    expect(origin.asked).toEqual([])
    const head = { method: 'GET', url, fields: Fields.none }
    const reply = await a.proxy.handle({ head, body: undefined, client: '127.0.0.1' }, never)
    for await (const chunk of reply.body as unknown as AsyncIterable<Uint8Array>)
      expect(chunk.length).toBeGreaterThan(0)
    expect(await asked(fetcher, a.peer, url)).toBe('200 body of /page')
    expect(origin.asked).toEqual(['GET /page'])
    expect(a.events.findLast((event) => event.kind === 'request-ended')).toMatchObject({ outcome: 'local-hit', url })
  })

  test('keeps its connection from object to object, whatever hosts they are of', async () => {
    const a = await startPeerPort()
    const fetcher = newPeerFetch(credentials('edge-b'))
    let handshakes = 0
    const byName = { ...a.peer, url: `https://localhost:${a.port}` }

    const count = (): void => void handshakes++
    subscribe('undici:client:connected', count)
    for (const host of ['one.example', 'two.example', '10.0.0.1:81']) {
      expect(await asked(fetcher, a.peer, `http://${host}/`)).toMatch(/^504 /)
      expect(await asked(fetcher, byName, `http://${host}/`)).toMatch(/^504 /)
    }
    unsubscribe('undici:client:connected', count)
    expect(handshakes).toBe(2)
  })

  test('gets nothing fetched, and reaches no mount and no tunnel', async () => {
    const a = await startPeerPort()
    const fetcher = newPeerFetch(credentials('edge-b'))
    expect(await asked(fetcher, a.peer, 'http://one.example/', '')).toMatch(/^403 .*this port is for peers/)
    expect(await asked(fetcher, a.peer, 'http://one.example/', 'no-cache')).toMatch(/^403 /)
    for (const line of ['GET /x HTTP/1.1', 'CONNECT one.example:443 HTTP/1.1', 'POST http://one.example/ HTTP/1.1']) {
      const answer = await overTls(
        a.port,
        `${line}\r\nHost: a\r\nCache-Control: only-if-cached\r\nConnection: close\r\n\r\n`,
      )
      expect(answer, line).toMatch(/^HTTP\/1.1 403 .*this port is for peers/s)
    }
  })

  test('needs the key of the cluster as well, where there is one', async () => {
    const a = await startPeerPort(credentials('edge-a'), { key: KEY })
    const tls = credentials('edge-b')
    expect(await follow(newTransport({ tls }), a.peer).closed).toContain('wants requests signed')
    const both = follow(newTransport({ tls, key: KEY, clock: new SystemClock() }), a.peer)
    await until(() => both.log.length === 2)
    expect(both.log).toEqual(['opened 2', 'a heartbeat'])
  })
})

/** What comes back for bytes over TLS as `edge-b`, unless `options` say otherwise. */
function overTls(port: number, request: string, options: ConnectionOptions = {}): Promise<string> {
  const { ca, certificate, key } = credentials('edge-b')
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, ca, cert: certificate, key, ...options }, () =>
      socket.write(request),
    )
    let answer = ''
    socket.on('data', (bytes: Buffer) => (answer += bytes.toString()))
    socket.on('error', (error: NodeJS.ErrnoException) => (answer += `${error.code}`))
    socket.on('close', () => resolve(answer))
  })
}

describe('a peer whose certificate is not accepted', () => {
  // who follows `a`, with what; what `a` says of it
  test.each([
    ['none', undefined, /PEER_DID_NOT_RETURN_A_CERTIFICATE/],
    ['one of another cluster', 'outsider', /UNABLE_TO_|SELF_SIGNED/],
    ['one that is out of date', 'expired', /CERT_HAS_EXPIRED/],
  ])('%s: it gets no further than the handshake, and both ends show why', async (_what, name, said) => {
    const a = await startPeerPort()
    const { ca } = credentials('edge-b')
    const tls = name === undefined ? undefined : { ...credentials(name, 'cluster'), ca }
    // Without any certificate it knows no authority either; here only the publisher's view counts.
    const transport = newTransport({ tls })
    const reason =
      tls === undefined
        ? await overTls(a.port, `GET ${PEER_PREFIX}v2/status HTTP/1.1\r\nHost: a\r\n\r\n`, {
            cert: undefined,
            key: undefined,
          })
        : await follow(transport, a.peer).closed
    expect(reason).toMatch(
      tls === undefined ? /CERTIFICATE_REQUIRED/ : /it may not accept our certificate|not accepted/,
    )
    if (tls !== undefined) {
      expect(await asked(newPeerFetch(tls), a.peer, 'http://one.example/')).toMatch(
        /^(connection_terminated|tls_error): /,
      )
    }
    await until(() => a.events.length > 0)
    expect(a.events[0]).toMatchObject({
      kind: 'peer-turned-away',
      cause: 'certificate',
      reason: expect.stringMatching(said),
    })
    expect(a.source.asked).toEqual([])
  })

  // what stands at the address; why it is not believed
  test.each([
    ['outsider', 'stranger', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE|unable to|self-signed'],
    ['expired', 'cluster', 'certificate has expired'],
    ['elsewhere', 'cluster', "127.0.0.1 is not in the cert's list"],
  ])('%s: it is neither followed nor asked, and the reason is shown by name', async (name, ca, why) => {
    const a = await startPeerPort(credentials(name, ca))
    const tls = credentials('edge-b')
    const reason = await follow(newTransport({ tls }), a.peer).closed
    expect(reason).toMatch(new RegExp(`^${a.peer.url}: .*(${why}).*its certificate or ours is not accepted`))
    expect(await asked(newPeerFetch(tls), a.peer, 'http://one.example/')).toMatch(new RegExp(`^tls_error: .*(${why})`))
    expect(a.source.asked).toEqual([])
  })

  test('is not looked for in the system’s list of authorities: without a certificate of ours none is believed', async () => {
    const a = await startPeerPort()
    expect(await follow(newTransport(), a.peer).closed).toMatch(/its certificate or ours is not accepted/)
  })

  test('plain HTTP on this port is no request', async () => {
    const a = await startPeerPort()
    const plain = { ...a.peer, url: a.peer.url.replace('https', 'http') }
    expect(await follow(newTransport(), plain).closed).not.toBe('')
    await until(() => a.events.length > 0)
    expect(a.events[0]).toMatchObject({ kind: 'peer-turned-away', cause: 'certificate' })
  })
})

describe('the files', () => {
  const paths = { certificate: `${FOLDER}/edge-a.pem`, key: `${FOLDER}/edge-a-key.pem`, ca: `${FOLDER}/cluster.pem` }

  test('are read', () => {
    expect(readPeerTls(paths).certificate).toBe(readFileSync(paths.certificate, 'latin1'))
  })

  test.each([
    [{ certificate: 'none.pem' }, /^peering\.tls\.certificate: none\.pem: ENOENT.*; name a PEM file that the user/],
    [{ ca: '/dev/zero' }, /^peering\.tls\.ca: \/dev\/zero: it is no file of at most/],
    [{ certificate: paths.key }, /^peering\.tls\.certificate: .*edge-a-key\.pem: there is no certificate in it; /],
    [{ key: paths.certificate }, /^peering\.tls\.key: .*edge-a\.pem: there is no private key in it that can be read; /],
    [{ key: `${FOLDER}/edge-b-key.pem` }, /^peering\.tls\.key: .*: it is not the key of .*edge-a\.pem; name the key/],
    [{ ca: `${FOLDER}/edge-b.pem` }, /^peering\.tls\.ca: .*: CN=edge-b is no authority; name the certificate that/],
  ])('%j cannot be used, and the message says what to do', (wrong, message) => {
    expect(() => readPeerTls({ ...paths, ...wrong })).toThrow(message)
  })
})
