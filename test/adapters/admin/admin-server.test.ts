import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAdmin } from './admin-client.ts'
import type { Admin, Answer } from './admin-client.ts'
import { entryView, peerAsked, requestEnded } from './fake-proxy.ts'

const HELD = 'http://www.example.com/held'

let admin: Admin

beforeAll(async () => {
  admin = await startAdmin()
  admin.proxy.held.set(HELD, [
    entryView(HELD),
    { ...entryView(HELD), variant: 'gzip', contentType: null, freshForMs: -3 },
  ])
  admin.proxy.emit(requestEnded())
  admin.proxy.emit(requestEnded({ outcome: 'remote-hit', server: 'b' }))
  admin.proxy.emit(peerAsked())
})
afterAll(async () => admin.server.close())

describe('what a proxy says of itself is answered whole, as it was said', () => {
  test.each([
    ['/v1/health', () => ({ status: 'ok' })],
    ['/v1/ready', () => admin.proxy.readiness()],
    ['/v1/status', () => admin.proxy.status()],
    ['/v1/peers', () => ({ peers: admin.proxy.peers() })],
    ['/v1/peers/c', () => admin.proxy.peers()[1]],
    ['/v1/digests', () => ({ own: admin.proxy.ownDigest(), replicas: admin.proxy.replicas() })],
    ['/v1/digests/own', () => admin.proxy.ownDigest()],
    [`/v1/cache?url=${encodeURIComponent(HELD)}`, () => ({ url: HELD, entries: admin.proxy.held.get(HELD) })],
    [`/v1/explain?url=${encodeURIComponent(HELD)}`, () => admin.proxy.explain(HELD)],
    ['/v1/statistics', () => admin.proxy.statistics()],
  ])('%s', async (path, said) => {
    const answer = await admin.ask('GET', path)
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(answer.json).toEqual(said())
  })

  test('/v1/cluster, and a peer that is not reachable has null for its figures', async () => {
    const away = { name: 'b', url: 'http://b:3128', reachable: false, reason: 'refused', statistics: null, peers: [] }
    admin.proxy.others.push(away)
    const answer = await admin.ask('GET', '/v1/cluster')
    expect(answer.status).toBe(200)
    expect(answer.json).toEqual(await admin.proxy.cluster(AbortSignal.timeout(1000)))
    expect(admin.proxy.clusterSignal?.aborted).toBe(false)
  })

  test('a proxy that is not ready answers 503 with the reason', async () => {
    admin.proxy.ready = { ready: false, reason: 'the replica of b is not proved' }
    const answer = await admin.ask('GET', '/v1/ready')
    admin.proxy.ready = { ready: true, reason: '' }
    expectProblem(answer, 503, 'urn:summary-cache:problem:not-ready', 'the replica of b is not proved')
  })
})

describe('peers', () => {
  test('a peer is added, given another address and removed', async () => {
    const added = await admin.ask('POST', '/v1/peers', { body: { name: 'd', url: 'http://10.0.0.4:3128/' } })
    expect(added.status).toBe(201)
    expect(added.headers.location).toBe('/v1/peers/d')
    expect(added.json).toMatchObject({ name: 'd', url: 'http://10.0.0.4:3128', state: 'connecting' })

    const changed = await admin.ask('PUT', '/v1/peers/d', { body: { url: 'http://10.0.0.5:3128' } })
    expect(changed.status).toBe(200)
    expect(changed.json).toMatchObject({ name: 'd', url: 'http://10.0.0.5:3128' })

    const removed = await admin.ask('DELETE', '/v1/peers/d')
    expect([removed.status, removed.text]).toEqual([204, ''])
    expectProblem(await admin.ask('GET', '/v1/peers/d'), 404, 'urn:summary-cache:problem:unknown-peer')
    expectProblem(await admin.ask('DELETE', '/v1/peers/d'), 404, 'urn:summary-cache:problem:unknown-peer')
    const body = { url: 'http://10.0.0.5:3128' }
    expectProblem(await admin.ask('PUT', '/v1/peers/d', { body }), 404, 'urn:summary-cache:problem:unknown-peer')
  })

  test('a name that is taken, our own, or one too many is a conflict of its own kind', async () => {
    const url = 'http://10.0.0.9:3128'
    const add = async (name: string) => admin.ask('POST', '/v1/peers', { body: { name, url } })
    expectProblem(await add('b'), 409, 'urn:summary-cache:problem:name-taken')
    expectProblem(await add('a'), 409, 'urn:summary-cache:problem:own-name')
    expect((await add('d')).status).toBe(201)
    expectProblem(await add('e'), 409, 'urn:summary-cache:problem:too-many-peers')
    await admin.ask('DELETE', '/v1/peers/d')
  })

  test('a peer on the wire of Summary Cache has an address for its updates, and no other has one', async () => {
    const url = 'http://10.0.0.4:3128'
    const add = (more: object) => admin.ask('POST', '/v1/peers', { body: { name: 'd', url, ...more } })
    const added = await add({ transport: 'dir-update', updates: '10.0.0.4:3130' })
    expect(added.json).toMatchObject({ name: 'd', transport: 'dir-update', proved: false })
    await admin.ask('DELETE', '/v1/peers/d')
    expectProblem(await add({ transport: 'dir-update' }), 409, 'urn:summary-cache:problem:updates-address')
    expectProblem(await add({ updates: '10.0.0.4:3130' }), 409, 'urn:summary-cache:problem:updates-address')
    const off = await add({ transport: 'dir-update', updates: '10.0.0.4:9' })
    expectProblem(off, 409, 'urn:summary-cache:problem:transport-off')
    const unknown = await add({ transport: 'pigeon' })
    expect(unknown.json).toMatchObject({ errors: [{ in: 'body', name: 'transport' }] })
    for (const updates of ['10.0.0.4', '10.0.0.4:0', '10.0.0.4:70000', '[::g]:1']) {
      const answer = await add({ transport: 'dir-update', updates })
      expect([updates, answer.status, answer.json]).toMatchObject([
        updates,
        400,
        { errors: [{ in: 'body', name: 'updates' }] },
      ])
    }
  })

  test('every property that breaks its schema is named, with its place and what is wrong', async () => {
    const answer = await admin.ask('POST', '/v1/peers', { body: { name: 'b b', adress: 'http://b:1', weight: 1 } })
    expectProblem(answer, 400, 'urn:summary-cache:problem:invalid-input')
    expect((answer.json as { errors: unknown[] }).errors).toEqual(
      expect.arrayContaining([
        { in: 'body', name: 'url', problem: 'is missing' },
        { in: 'body', name: 'adress', problem: 'is not known' },
        { in: 'body', name: 'weight', problem: 'is not known' },
        { in: 'body', name: 'name', problem: expect.stringContaining('must match pattern') },
      ]),
    )
  })

  test.each([
    'ftp://b:21',
    'http://b:3128/path',
    'http://user@b:3128',
    'http://b:99999',
    'http://b:3128?x',
    'b:3128',
    '',
  ])('the address %j is none of a proxy port', async (url) => {
    const answer = await admin.ask('POST', '/v1/peers', { body: { name: 'd', url } })
    expectProblem(answer, 400, 'urn:summary-cache:problem:invalid-input')
    expect(answer.json).toMatchObject({ errors: [{ in: 'body', name: 'url' }] })
  })

  test('a number is not taken for a string', async () => {
    const answer = await admin.ask('POST', '/v1/peers', { body: { name: 7, url: 'http://b:1' } })
    expect(answer.json).toMatchObject({ errors: [{ in: 'body', name: 'name', problem: 'must be string' }] })
  })

  test('a name that no peer can have is named as the path parameter it is', async () => {
    const answer = await admin.ask('GET', `/v1/peers/${'x'.repeat(65)}`)
    expectProblem(answer, 400, 'urn:summary-cache:problem:invalid-input')
    expect(answer.json).toMatchObject({ errors: [{ in: 'path', name: 'name' }] })
  })
})

describe('digests', () => {
  test('publishing now and starting a generation answer the name of the state', async () => {
    expect((await admin.ask('POST', '/v1/digests/own/publish')).json).toEqual({ name: '1764547200000.3.18' })
    expect((await admin.ask('POST', '/v1/digests/own/generation')).json).toEqual({ name: '1764547200000.4.0' })
  })
})

describe('cache', () => {
  test('a purge answers how many responses went, and what is gone is not held', async () => {
    const url = 'http://www.example.com/purged'
    const path = `/v1/cache?url=${encodeURIComponent(url)}`
    admin.proxy.held.set(url, [entryView(url), entryView(url)])
    expect((await admin.ask('DELETE', path)).json).toEqual({ url, purged: 2 })
    expect((await admin.ask('DELETE', path)).json).toEqual({ url, purged: 0 })
    expectProblem(await admin.ask('GET', path), 404, 'urn:summary-cache:problem:not-held')
  })

  test.each([
    ['GET', '/v1/cache'],
    ['DELETE', '/v1/cache'],
    ['GET', '/v1/explain'],
  ])('%s %s wants one absolute http or https URL', async (method, path) => {
    for (const query of [
      '?url=/relative',
      '?url=ftp%3A%2F%2Fa%2F',
      '',
      '?url=',
      '?uri=http://a/',
      '?url=http://a/&url=http://b/',
    ]) {
      const answer = await admin.ask(method, path + query)
      expectProblem(answer, 400, 'urn:summary-cache:problem:invalid-input')
      expect(answer.json).toMatchObject({
        errors: expect.arrayContaining([{ in: 'query', name: 'url', problem: expect.any(String) }]),
      })
    }
  })
})

describe('requests that no route takes', () => {
  test('an unknown path is a problem that names it, without its query', async () => {
    const answer = await admin.ask('GET', '/v1/nothing?token=secret')
    expectProblem(answer, 404, 'about:blank', 'There is no /v1/nothing')
  })

  test.each([
    ['POST', '/v1/status', 'GET, HEAD'],
    ['PATCH', '/v1/peers/b', 'DELETE, GET, HEAD, PUT'],
    ['HEAD', '/v1/events', 'GET'],
    ['GET', '/v1/digests/own/publish', 'POST'],
    ['OPTIONS', '/v1/cache', 'DELETE, GET, HEAD'],
    ['DELETE', '/metrics', 'GET, HEAD'],
  ])('%s %s is not allowed, and the answer says what is', async (method, path, allow) => {
    const answer = await admin.ask(method, path)
    expect(answer.status).toBe(405)
    expect(answer.headers.allow).toBe(allow)
    if (method !== 'HEAD') expectProblem(answer, 405, 'about:blank')
  })

  test('a body that is not JSON, is broken or too large is refused by name', async () => {
    const form = { headers: { 'content-type': 'text/plain' }, body: '{"name":"d","url":"http://d:1"}' }
    expectProblem(await admin.ask('POST', '/v1/peers', form), 415, 'about:blank')
    expectProblem(await admin.ask('POST', '/v1/peers', { body: '{"name":' }), 400, 'about:blank')
    expectProblem(await admin.ask('POST', '/v1/peers', { body: '' }), 400, 'about:blank')
    const large = { name: 'd', url: 'x'.repeat(20_000) }
    expectProblem(await admin.ask('POST', '/v1/peers', { body: large }), 413, 'about:blank')
  })

  test('a path that can not be decoded is a problem too', async () => {
    expectProblem(await admin.ask('GET', '/v1/peers/%zz'), 400, 'about:blank')
  })

  test('a failure of ours tells nothing of itself', async () => {
    admin.proxy.status = () => {
      throw new Error('secret path /var/lib/cache')
    }
    const answer = await admin.ask('GET', '/v1/status')
    expectProblem(answer, 500, 'about:blank', 'The request failed for a reason of ours; see the log.')
    expect(answer.text).not.toContain('secret')
  })
})

describe('headers', () => {
  test('no answer may be cached, sniffed, framed or read by another origin', async () => {
    const answer = await admin.ask('GET', '/v1/health')
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
  })

  test('the dashboard runs only its own scripts and talks only to its own server', async () => {
    const page = await admin.ask('GET', '/')
    expect(page.status).toBe(200)
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(page.headers['content-security-policy']).toContain(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'",
    )
    expect(page.text).not.toMatch(/<script(?![^>]*\bsrc=)|\son\w+=|style=/)
    for (const file of page.text.match(/(?<=(?:href|src)=")dashboard\.\w+/g) ?? []) {
      expect((await admin.ask('GET', `/${file}`)).status).toBe(200)
    }
  })

  test('/docs shows the document', async () => {
    expect((await admin.ask('GET', '/docs')).text).toContain('swagger-ui')
    expect((await admin.ask('GET', '/docs/json')).json).toMatchObject({ openapi: '3.1.0' })
  })
})

function expectProblem(answer: Answer, status: number, type: string, detail?: string): void {
  expect(answer.status).toBe(status)
  expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/)
  expect(answer.json).toMatchObject({ type, status, title: expect.any(String), detail: detail ?? expect.any(String) })
}
