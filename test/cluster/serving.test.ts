import { createServer as createTcpServer, connect, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { cacheable, get, startOrigin, startTestProxy, stopAll, until, type Answer, type TestProxy } from './support.ts'

afterEach(stopAll)

/** What came back for raw bytes on the proxy port, until the proxy closes or `until` is seen. */
async function raw(proxy: TestProxy, sent: string, untilSeen?: string): Promise<string> {
  const socket = connect(proxy.proxyAddress.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(sent, 'latin1')
  let got = ''
  for await (const chunk of socket) {
    got += (chunk as Buffer).toString('latin1')
    if (untilSeen !== undefined && got.includes(untilSeen)) break
  }
  socket.destroy()
  return got
}

describe('a reverse proxy', () => {
  test('maps host and path to the origin, and the longest path of a named host wins', async () => {
    const origin = await startOrigin(cacheable)
    const proxy = await startTestProxy(
      'a',
      `mounts:
  - { host: registry.local, path: /npm/, origin: ${origin.url}/deep/ }
  - { host: registry.local, origin: ${origin.url}/ }
  - { path: /any/, origin: ${origin.url}/any-host/ }`,
    )
    const ask = (host: string, path: string): Promise<string> =>
      raw(proxy, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    expect(await ask('registry.local', '/npm/left-pad?x=1')).toContain('body of /deep/left-pad?x=1')
    expect(await ask('Registry.Local:3128', '/other')).toContain('body of /other')
    expect(await ask('elsewhere', '/any/thing')).toContain('body of /any-host/thing')
    expect(await ask('elsewhere', '/nothing')).toMatch(/^HTTP\/1\.1 404 .*no mount/s)
    // One object has one key, by whatever way it was reached.
    expect((await get(proxy, `${origin.url}/other`)).cacheStatus).toContain('; hit')
  })

  test("a client's X-Forwarded-Host does not reach the origin, whose page would be stored for all", async () => {
    const seen: (string | string[] | undefined)[] = []
    const origin = await startOrigin((request, response) => {
      seen.push(request.headers['x-forwarded-host'])
      cacheable(request, response)
    })
    const proxy = await startTestProxy('a', `mounts: [{ path: /, origin: ${origin.url}/ }]`)
    await raw(proxy, 'GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-Host: evil.example\r\nConnection: close\r\n\r\n')
    expect(seen).toEqual([undefined])
  })
})

describe('a forward proxy', () => {
  test('says on every answer what it did and that it was there', async () => {
    const origin = await startOrigin(cacheable)
    const proxy = await startTestProxy('edge-a')
    const url = `${origin.url}/page`
    const miss = await get(proxy, url)
    expect(miss.cacheStatus).toMatch(/^edge-a; fwd=uri-miss; fwd-status=200; ttl=3600; stored$/)
    const hit = await get(proxy, url)
    expect(hit.cacheStatus).toMatch(/^edge-a; hit; ttl=3(600|599)$/)
    expect(hit.headers['via']).toBe('1.1 edge-a')
    expect(hit.headers['age']).toMatch(/^[01]$/)
    expect(hit.body).toBe(miss.body)
    const posted = await get(proxy, url, {}, 'POST')
    expect(posted.headers['via']).toBe('1.1 edge-a')
    expect(posted.cacheStatus).toBe('edge-a; fwd=method; fwd-status=200')
  })

  test('answers HEAD and conditional requests from a stored GET', async () => {
    const origin = await startOrigin(cacheable)
    const proxy = await startTestProxy('a')
    const url = `${origin.url}/page`
    await get(proxy, url)
    const head = await get(proxy, url, {}, 'HEAD')
    expect([head.status, head.body, head.headers['content-length']]).toEqual([200, '', '13'])
    expect((await get(proxy, url, { 'if-none-match': '"x", W/"/page"' })).status).toBe(304)
    expect((await get(proxy, url, { 'if-none-match': '"x"' })).status).toBe(200)
    expect(origin.asked).toHaveLength(1)
  })

  test('validates a stale response, and a 304 makes it fresh again', async () => {
    let now = 'first'
    const origin = await startOrigin((request, response) => {
      if (request.headers['if-none-match'] === `"${now}"`)
        response.writeHead(304, { etag: `"${now}"`, 'cache-control': 'max-age=60' }).end()
      else
        response
          .writeHead(200, { etag: `"${now}"`, 'cache-control': 'max-age=0', 'content-length': now.length })
          .end(now)
    })
    const proxy = await startTestProxy('a')
    const url = `${origin.url}/page`
    await get(proxy, url)
    expect(await get(proxy, url)).toMatchObject({
      body: 'first',
      cacheStatus: expect.stringContaining('fwd=stale; fwd-status=304') as string,
    })
    expect((await get(proxy, url)).cacheStatus).toContain('; hit')
    now = 'second'
    expect((await get(proxy, url, { 'cache-control': 'no-cache' })).body).toBe('second')
  })

  test('a successful unsafe request makes what is stored of its target out of date', async () => {
    const origin = await startOrigin(cacheable)
    const proxy = await startTestProxy('a')
    const url = `${origin.url}/page`
    await get(proxy, url)
    await get(proxy, url, {}, 'DELETE')
    await get(proxy, url)
    expect(origin.asked).toEqual(['GET /page', 'DELETE /page', 'GET /page'])
  })

  test('purge-during-fetch: what was asked for before a purge is not stored after it', async () => {
    let answer = (): void => undefined
    const origin = await startOrigin((request, response) => {
      answer = () => cacheable(request, response)
    })
    const proxy = await startTestProxy('a')
    const url = `${origin.url}/page`
    const asked = get(proxy, url)
    await until(() => origin.asked.length === 1)
    proxy.operator.purge(url)
    answer()
    expect((await asked).body).toBe('body of /page')
    expect(proxy.operator.lookup(url)).toEqual([])
  })

  test('only-if-cached gets 504 and why, and nothing is fetched', async () => {
    const origin = await startOrigin(cacheable)
    const proxy = await startTestProxy('a')
    const answer = await get(proxy, `${origin.url}/page`, { 'cache-control': 'only-if-cached' })
    expect(answer.status).toBe(504)
    expect(answer.cacheStatus).toMatch(/^a; fwd=uri-miss; claim=absent; detail=absent$/)
    expect(origin.asked).toEqual([])
  })

  test('a request that comes back ends with 508, not in a circle', async () => {
    const proxy = await startTestProxy('a')
    const answer = await get(proxy, `${proxy.url}/page`)
    // Asked for itself: the absolute URL leads to its own port, where no mount is.
    expect(answer.status).toBe(404)
    // Its own origin, under another spelling of its address.
    const { port } = proxy.proxyAddress
    await proxy.stop(0)
    const self = await startTestProxy('self', `mounts: [{ path: /, origin: "http://LOCALHOST:${port}/" }]`, port)
    expect(await raw(self, 'GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')).toMatch(/^HTTP\/1\.1 508 /)
    const other = await startTestProxy('b')
    const origin = await startOrigin(cacheable)
    expect((await get(other, `${origin.url}/page`, { via: '1.1 other, 1.1 B (comment)' })).status).toBe(508)
    expect((await get(other, `${origin.url}/page`, { 'cdn-loop': 'b; x=1' })).status).toBe(508)
    expect(origin.asked).toEqual([])
    expect((await get(other, `${origin.url}/page`, { via: '1.1 other', 'cdn-loop': 'other' })).status).toBe(200)
  })

  test('an origin that cannot be reached is 502 with the reason, at once', async () => {
    const proxy = await startTestProxy('a')
    const answer = await get(proxy, 'http://127.0.0.1:1/')
    expect(answer.status).toBe(502)
    expect(answer.headers['proxy-status']).toBe('a; error=connection_refused')
    expect(answer.body).toContain('127.0.0.1:1')
    expect((await get(proxy, 'http://no-such-host.invalid/')).headers['proxy-status']).toBe('a; error=dns_error')
  })

  test('malformed requests are refused by name and the connection goes on or ends as RFC 9112 has it', async () => {
    const proxy = await startTestProxy('a')
    expect(await raw(proxy, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 .*no Host/s)
    const nonsense = await raw(proxy, 'nonsense\r\n\r\n')
    expect(nonsense).toMatch(/^HTTP\/1\.1 400 .*\r\nVia: 1\.1 a\r\nCache-Status: a; fwd=request; detail=malformed\r\n/s)
    expect(await raw(proxy, `GET http://h/ HTTP/1.1\r\nHost: h\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 /,
    )
    expect(await raw(proxy, 'GET http://u:p@h/ HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 400 .*user information/s,
    )
    expect(await raw(proxy, 'GET ftp://h/ HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 400 .*scheme/s,
    )
    expect(await raw(proxy, 'GET http://h/ HTTP/1.1\r\nHost: h\r\nHost: i\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 400 /,
    )
    expect(await raw(proxy, 'GET http://h/ HTTP/2.0\r\nHost: h\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 505 /,
    )
    expect(proxy.operator.statistics().byOutcome.refused).toBe(7)
  })

  test('clients that are not on the list may neither go forward nor reach the peers’ prefix', async () => {
    const origin = await startOrigin(cacheable)
    const proxy = await startTestProxy(
      'a',
      `access: { clients: [192.0.2.0/24] }\nmounts: [{ path: /m/, origin: ${origin.url}/ }]`,
    )
    expect((await get(proxy, `${origin.url}/page`)).status).toBe(403)
    expect(await raw(proxy, 'CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n')).toMatch(/^HTTP\/1\.1 403 /)
    const prefix = '/.well-known/summary-cache/v1/digest'
    expect(await raw(proxy, `GET ${prefix} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 403 /,
    )
    // A reverse proxy is for everybody.
    expect(await raw(proxy, 'GET /m/page HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')).toContain('body of /page')
  })
})

test('the proxy port is no way round to the administration of a proxy without a token', async () => {
  const proxy = await startTestProxy('a')
  expect((await get(proxy, `${proxy.adminUrl}/v1/status`)).status).toBe(403)
  expect((await get(proxy, `${proxy.adminUrl}/v1/digests/own/publish`, {}, 'POST')).status).toBe(403)
  expect((await fetch(`${proxy.adminUrl}/v1/status`)).status).toBe(200)
})

describe('CONNECT', () => {
  test('opens a tunnel for bytes both ways, to a port that is allowed', async () => {
    const echo = createTcpServer((socket) => {
      socket.write('hello ')
      socket.pipe(socket)
    })
    await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve))
    const { port } = echo.address() as AddressInfo
    try {
      const proxy = await startTestProxy('a', `forward: { connectPorts: [${port}] }`)
      const head = `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`
      const got = await raw(proxy, `${head}early bytes`, 'early bytes')
      expect(got).toMatch(/^HTTP\/1\.1 200 .*\r\n\r\nhello early bytes$/s)
      expect(await raw(proxy, 'CONNECT 127.0.0.1:25 HTTP/1.1\r\nHost: 127.0.0.1:25\r\n\r\n')).toMatch(
        /^HTTP\/1\.1 403 /,
      )
      await until(() => proxy.operator.statistics().byOutcome.tunnel === 1)
    } finally {
      echo.close()
    }
  })
})

describe('concurrent misses for one key', () => {
  test('fetch once; all get the body, those who came later from its first byte on', async () => {
    let finish = (): void => undefined
    const origin = await startOrigin((_request, response) => {
      response.writeHead(200, { 'cache-control': 'max-age=60' })
      response.write('first half, ')
      finish = () => response.end('second half')
    })
    const proxy = await startTestProxy('a')
    const url = `${origin.url}/big`
    const answers = Array.from({ length: 50 }, () => get(proxy, url))
    await until(() => origin.asked.length > 0)
    const late = get(proxy, url)
    // Nobody has the whole yet: all wait on the one fetch.
    await until(() => proxy.requestsUnderWay() === 51)
    finish()
    const all = await Promise.all([...answers, late])
    expect(new Set(all.map(({ body }) => body))).toEqual(new Set(['first half, second half']))
    expect(origin.asked).toHaveLength(1)
    expect(all.filter(({ cacheStatus }) => cacheStatus.includes('collapsed')).length).toBeGreaterThan(0)
  })

  test('that turn out private are fetched by each for itself, side by side, and later ones do not wait', async () => {
    const held: (() => void)[] = []
    const origin = await startOrigin((request, response) => {
      held.push(
        () => void response.writeHead(200, { 'cache-control': 'private' }).end(`for ${request.headers['cookie']}`),
      )
    })
    const proxy = await startTestProxy('a')
    const ask = (i: number): Promise<Answer> => get(proxy, `${origin.url}/me`, { cookie: `user${i}` })
    const first = ask(0)
    await until(() => held.length === 1)
    const others = [1, 2, 3, 4].map(ask)
    await until(() => proxy.requestsUnderWay() === 5)
    held[0]!()
    // All four are at the origin together before any of them is answered.
    await until(() => held.length === 5)
    for (const answer of held.slice(1)) answer()
    const all = await Promise.all([first, ...others])
    expect(all.map(({ body }) => body)).toEqual([0, 1, 2, 3, 4].map((i) => `for user${i}`))

    held.length = 0
    const later = [5, 6, 7].map(ask)
    await until(() => held.length === 3)
    for (const answer of held) answer()
    expect((await Promise.all(later)).map(({ body }) => body)).toEqual(['for user5', 'for user6', 'for user7'])
  })

  test('are collapsed also after a client’s own condition brought a 304', async () => {
    const held: (() => void)[] = []
    const origin = await startOrigin((request, response) => {
      if (request.headers['if-none-match'] !== undefined) response.writeHead(304, { etag: '"x"' }).end()
      else held.push(() => cacheable(request, response))
    })
    const proxy = await startTestProxy('a')
    const url = `${origin.url}/page`
    expect((await get(proxy, url, { 'if-none-match': '"x"' })).status).toBe(304)
    const both = [get(proxy, url), get(proxy, url)]
    await until(() => proxy.requestsUnderWay() === 2 && held.length > 0)
    held[0]!()
    await Promise.all(both)
    expect(origin.asked).toHaveLength(2)
  })

  test('the leader’s leaving does not take the answer from those who wait with it', async () => {
    let answer = (): void => undefined
    const origin = await startOrigin((request, response) => {
      answer = () => cacheable(request, response)
    })
    const proxy = await startTestProxy('a')
    const url = `${origin.url}/page`
    const leader = httpRequest({ port: proxy.proxyAddress.port, path: url })
    leader.on('error', () => undefined)
    leader.end()
    await until(() => origin.asked.length === 1)
    const follower = get(proxy, url)
    await until(() => proxy.requestsUnderWay() === 2)
    leader.destroy()
    await until(() => leader.closed)
    answer()
    expect((await follower).body).toBe('body of /page')
  })
})

describe('a body', () => {
  test('that the origin breaks off is passed on as broken and not stored', async () => {
    const origin = await startOrigin((_request, response) => {
      response.writeHead(200, { 'cache-control': 'max-age=60', 'content-length': 1000 })
      response.write('only this')
      setImmediate(() => response.destroy())
    })
    const proxy = await startTestProxy('a')
    await expect(get(proxy, `${origin.url}/page`)).rejects.toThrow()
    await until(() => proxy.operator.status().store.reservedBytes === 0)
    expect(proxy.operator.lookup(`${origin.url}/page`)).toEqual([])
  })

  test('larger than may be stored passes at the client’s pace, and the proxy holds little of it', async () => {
    const size = 64 * 1024 * 1024
    let sent = 0
    const origin = await startOrigin((_request, response) => {
      const block = Buffer.alloc(64 * 1024, 'x')
      response.writeHead(200, { 'cache-control': 'max-age=60' })
      const go = (): void => {
        while (sent < size) {
          sent += block.length
          if (!response.write(block)) {
            response.once('drain', go)
            return
          }
        }
        response.end()
      }
      go()
    })
    const proxy = await startTestProxy('a', 'store: { memory: 8MiB, maxObject: 1MiB }')
    const socket = connect(proxy.proxyAddress.port, '127.0.0.1')
    socket.write(`GET ${origin.url}/huge HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    await once(socket, 'readable')
    // Nobody reads: what the origin could send is what the buffers on the way hold.
    let before = -1
    await until(() => {
      const still = sent === before
      before = sent
      return still && sent > 0
    })
    expect(sent).toBeLessThan(size / 2)
    expect(proxy.operator.status().store.reservedBytes).toBeLessThan(2 * 1024 * 1024)
    let received = 0
    for await (const chunk of socket) received += (chunk as Buffer).length
    expect(received).toBeGreaterThan(size)
  })

  test('of a request streams to the origin', async () => {
    const origin = await startOrigin((request, response) => {
      let bytes = 0
      request.on('data', (chunk: Buffer) => (bytes += chunk.length))
      request.on('end', () => response.end(`${bytes} bytes, ${request.headers['content-length'] ?? 'chunked'}`))
    })
    const proxy = await startTestProxy('a')
    const send = (headers: Record<string, string>): Promise<string> =>
      new Promise((resolve, reject) => {
        const upload = httpRequest(
          { port: proxy.proxyAddress.port, path: `${origin.url}/up`, method: 'POST', headers },
          (response) => {
            let text = ''
            response.on('data', (chunk: Buffer) => (text += chunk.toString()))
            response.on('end', () => resolve(text))
          },
        )
        upload.on('error', reject)
        for (let i = 0; i < 10; i++) upload.write(Buffer.alloc(100_000))
        upload.end()
      })
    expect(await send({})).toBe('1000000 bytes, chunked')
    const withBody = `GET ${origin.url}/up HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello`
    expect(await raw(proxy, withBody)).toContain('5 bytes, 5')
    expect(await send({ 'content-length': '1000000' })).toBe('1000000 bytes, 1000000')
  })

  test('whose client goes away frees what was held for it', async () => {
    const origin = await startOrigin((_request, response) => {
      response.writeHead(200, { 'cache-control': 'max-age=60' })
      response.write(Buffer.alloc(100_000))
    })
    const proxy = await startTestProxy('a')
    const client = httpRequest({ port: proxy.proxyAddress.port, path: `${origin.url}/page` }, (response) => {
      response.once('data', () => client.destroy())
      response.on('error', () => undefined)
    })
    client.on('error', () => undefined)
    client.end()
    await until(() => proxy.operator.statistics().requests === 1)
    await until(() => proxy.operator.status().store.reservedBytes === 0)
    expect(proxy.operator.status().store.entries).toBe(0)
  })
})
