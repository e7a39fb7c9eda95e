import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAdmin } from './admin-client.ts'
import type { Admin } from './admin-client.ts'

const TOKEN = 'correct horse battery staple'

describe('a server with a token', () => {
  let admin: Admin
  beforeAll(async () => {
    admin = await startAdmin(TOKEN)
  })
  afterAll(async () => admin.server.close())

  test.each(['/v1/health', '/v1/ready', '/', '/dashboard.js', '/dashboard.css', '/docs/', '/docs/json'])(
    'answers %s to everyone',
    async (path) => {
      expect((await admin.ask('GET', path)).status).toBe(200)
    },
  )

  test.each([
    ['GET', '/v1/status'],
    ['HEAD', '/v1/status'],
    ['GET', '/v1/peers'],
    ['POST', '/v1/peers'],
    ['DELETE', '/v1/peers/b'],
    ['GET', '/v1/digests'],
    ['POST', '/v1/digests/own/publish'],
    ['DELETE', '/v1/cache?url=http://a/'],
    ['GET', '/v1/explain?url=http://a/'],
    ['GET', '/v1/statistics'],
    ['GET', '/v1/cluster'],
    ['GET', '/v1/events'],
    ['GET', '/metrics'],
    ['POST', '/v1/status'],
    ['GET', '/v1/nothing'],
    ['GET', '/dashboard.ts'],
  ])('answers %s %s to the bearer only', async (method, path) => {
    const answer = await admin.ask(method, path)
    expect(answer.status).toBe(401)
    expect(answer.headers['www-authenticate']).toBe('Bearer')
    if (method !== 'HEAD')
      expect(answer.json).toMatchObject({ type: 'about:blank', status: 401, title: 'Unauthorized' })
  })

  test.each([
    'Bearer wrong',
    'Bearer ',
    'Bearer',
    `Basic ${TOKEN}`,
    TOKEN,
    `Bearer ${TOKEN}x`,
    `Bearer ${TOKEN.slice(0, -1)}`,
  ])('does not take %j for the token', async (authorization) => {
    expect((await admin.ask('GET', '/v1/status', { headers: { authorization } })).status).toBe(401)
  })

  test('takes the token by any host name and from any origin: a page of another does not know it', async () => {
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      host: 'proxy-a.example.net:9090',
      origin: 'https://elsewhere.example',
      'sec-fetch-site': 'cross-site',
    }
    expect((await admin.ask('GET', '/v1/status', { headers })).status).toBe(200)
    expect((await admin.ask('POST', '/v1/digests/own/publish', { headers })).status).toBe(200)
    expect((await admin.ask('GET', '/v1/nothing', { headers })).status).toBe(404)
  })
})

describe('a server without a token', () => {
  let admin: Admin
  beforeAll(async () => {
    admin = await startAdmin()
  })
  afterAll(async () => admin.server.close())

  test.each(['localhost', 'LOCALHOST:1', 'a.localhost:9090', '127.0.0.1:80', '127.8.9.1', '[::1]:9090'])(
    'answers to the loopback name %s',
    async (host) => {
      expect((await admin.ask('GET', '/v1/status', { headers: { host } })).status).toBe(200)
      expect((await admin.ask('GET', '/', { headers: { host } })).status).toBe(200)
    },
  )

  test.each([
    'attacker.example',
    'localhost.attacker.example',
    '127.0.0.1.attacker.example',
    'notlocalhost',
    '10.0.0.1:9090',
    '127.0.0.1@attacker.example',
    '[::2]',
    '127.1',
    'localhost:x',
  ])('does not answer to %s, to which a name may have been rebound', async (host) => {
    for (const path of ['/v1/status', '/', '/docs/', '/metrics', '/v1/nothing']) {
      const answer = await admin.ask('GET', path, { headers: { host } })
      expect(answer.status).toBe(421)
      expect(answer.json).toMatchObject({ status: 421, title: 'Misdirected Request' })
    }
    expect((await admin.ask('GET', '/v1/health', { headers: { host } })).status).toBe(200)
  })

  test.each([
    { origin: 'https://attacker.example' },
    { origin: 'null' },
    { origin: 'http://localhost:1' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { via: '1.1 edge-a' },
  ])('does nothing for a page of another origin, or through a proxy: %o', async (headers: Record<string, string>) => {
    const { sequence } = admin.proxy
    for (const [method, path] of [
      ['POST', '/v1/digests/own/publish'],
      ['DELETE', '/v1/cache?url=http://a/'],
      ['GET', '/v1/status'],
      ['GET', '/v1/events'],
    ] as const) {
      const answer = await admin.ask(method, path, { headers })
      expect(answer.status).toBe(403)
      expect(answer.json).toMatchObject({ status: 403 })
    }
    expect(admin.proxy.sequence).toBe(sequence)
    expect((await admin.ask('GET', '/', { headers })).status, 'a link to the dashboard').toBe(200)
  })

  test('serves its own page, and programs that send no such headers', async () => {
    const headers = {
      host: `localhost:${admin.port}`,
      origin: `http://localhost:${admin.port}`,
      'sec-fetch-site': 'same-origin',
    }
    expect((await admin.ask('POST', '/v1/digests/own/publish', { headers })).status).toBe(200)
    expect((await admin.ask('POST', '/v1/digests/own/publish')).status).toBe(200)
  })

  test('a form that a browser may send anywhere is no JSON', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      const answer = await admin.ask('POST', '/v1/peers', { headers: { 'content-type': type }, body: '{}' })
      expect(answer.status).toBe(415)
    }
  })
})

test('an empty token is refused outright: it would let everyone in', async () => {
  await expect(startAdmin('')).rejects.toThrow('empty token')
})
