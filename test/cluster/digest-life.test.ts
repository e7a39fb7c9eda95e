import { afterEach, expect, test } from 'vitest'
import { cacheable, claims, get, join, startOrigin, startTestProxy, stopAll, until } from './support.ts'

afterEach(stopAll)

test('after A purges a URL and turns over, B no longer asks A for it', async () => {
  const origin = await startOrigin(cacheable)
  const [a, b] = await Promise.all([startTestProxy('a'), startTestProxy('b')])
  await join(a, b)
  const url = `${origin.url}/page`
  await get(a, url)
  await until(() => claims(b, 'a', url))

  expect(a.operator.purge(url)).toBe(1)
  const generation = await a.operator.newGeneration()
  await until(() => b.operator.peers()[0]?.digest?.name === generation)
  expect(claims(b, 'a', url)).toBe(false)
  expect((await get(b, url)).body).toBe('body of /page')
  expect(a.operator.statistics().peerRequests.asked).toBe(0)
})

test('entries evicted at A leave its digest, which turns over of its own accord', async () => {
  const origin = await startOrigin((request, response) => {
    response.writeHead(200, { 'cache-control': 'max-age=3600', 'content-length': 100_000 })
    response.end(Buffer.alloc(100_000, request.url))
  })
  const a = await startTestProxy('a', 'store: { memory: 1MiB, maxObject: 200KB }')
  const b = await startTestProxy('b')
  await join(a, b)
  await get(a, `${origin.url}/0`)
  await until(() => claims(b, 'a', `${origin.url}/0`))
  for (let i = 1; i < 40; i++) await get(a, `${origin.url}/${i}`)
  // Of a new generation's own deltas, not of the one before.
  await until(() => !/\.0\.\d+$/.test(a.operator.ownDigest().name))
  await until(() => a.operator.ownDigest().pendingClears === 0 && a.operator.ownDigest().unpublishedChanges === 0)
  const held = new Set(
    Array.from({ length: 40 }, (_, i) => i).filter((i) => (a.operator.lookup(`${origin.url}/${i}`)?.length ?? 0) > 0),
  )
  expect(held.size).toBeGreaterThan(0)
  expect(held.size).toBeLessThan(11)
  await until(() => b.operator.peers()[0]?.digest?.name === a.operator.ownDigest().name)
  // Exact, collisions aside: at this fill one in 10^6.
  for (let i = 0; i < 40; i++) expect(claims(b, 'a', `${origin.url}/${i}`), String(i)).toBe(held.has(i))
  expect(a.operator.ownDigest().name).not.toMatch(/\.0\.\d+$/)
})

test('a digest that claims what A lacks costs one 504, and the right answer follows', async () => {
  const origin = await startOrigin(cacheable)
  const a = await startTestProxy('a', 'digest: { profile: fresh, expectedEntries: 1000, pendingClears: 50% }')
  const b = await startTestProxy('b')
  await join(a, b)
  const url = `${origin.url}/page`
  await get(a, url)
  await get(a, `${origin.url}/other`)
  await get(a, `${origin.url}/third`)
  await until(() => claims(b, 'a', url) && claims(b, 'a', `${origin.url}/third`))
  // Purged, but the generation goes on: the bits are pending clears.
  a.operator.purge(url)
  const answer = await get(b, url)
  expect(answer.status).toBe(200)
  expect(answer.body).toBe('body of /page')
  const statistics = b.operator.statistics()
  expect(statistics.falseHits).toEqual({ collision: 0, 'pending-clear': 1, freshness: 0, variant: 0, unknown: 0 })
  expect(statistics.byOutcome.miss).toBe(1)
  expect(a.operator.statistics().peerRequests).toEqual({ asked: 1, served: 0 })
  expect(b.operator.peers()[0]?.guesses.falseHits['pending-clear']).toBe(1)
})

test('a key held only in another variant is a false hit by variant', async () => {
  const origin = await startOrigin((request, response) => {
    const body = `in ${request.headers['accept-language']}`
    response.writeHead(200, { 'cache-control': 'max-age=3600', vary: 'Accept-Language', 'content-length': body.length })
    response.end(body)
  })
  const [a, b] = await Promise.all([startTestProxy('a'), startTestProxy('b')])
  await join(a, b)
  const url = `${origin.url}/page`
  await get(a, url, { 'accept-language': 'da' })
  await until(() => claims(b, 'a', url))
  expect((await get(b, url, { 'accept-language': 'fi' })).body).toBe('in fi')
  expect(b.operator.statistics().falseHits.variant).toBe(1)
  expect((await get(b, url, { 'accept-language': 'da' })).cacheStatus).toContain('detail=remote-hit')
})

test('what has gone stale leaves the digest, and a peer that asks all the same is told so', async () => {
  const origin = await startOrigin((_request, response) => {
    response.writeHead(200, { 'cache-control': 'max-age=1', 'content-length': 2 })
    response.end('ok')
  })
  const [a, b] = await Promise.all([startTestProxy('a'), startTestProxy('b')])
  await join(a, b)
  const url = `${origin.url}/page`
  await get(a, url)
  await until(() => claims(b, 'a', url))
  await until(() => (a.operator.lookup(url)?.[0]?.freshForMs ?? 1) < 0)
  const answer = await get(a, url, { 'cache-control': 'only-if-cached', via: '1.1 someone' })
  expect(answer.status).toBe(504)
  expect(answer.cacheStatus).toMatch(/fwd=stale.*detail=stale/)
  expect((await get(b, url)).body).toBe('ok')
  expect(b.operator.statistics().falseHits.freshness).toBe(1)
})

test('A restarted: its old digest is gone at B before its new one is used', async () => {
  const origin = await startOrigin(cacheable)
  const a = await startTestProxy('a')
  const b = await startTestProxy('b')
  await join(a, b)
  const url = `${origin.url}/page`
  await get(a, url)
  await until(() => claims(b, 'a', url))
  const before = a.operator.status().incarnation
  const { port } = a.proxyAddress

  const seen: string[] = []
  b.operator.subscribe((event) => {
    if (event.kind === 'peer-changed') seen.push(`${event.state}, claimed: ${claims(b, 'a', url)}`)
  })
  await a.stop(0)
  await until(() => seen.length > 0)
  expect(seen[0]).toBe('disconnected, claimed: false')

  const again = await startTestProxy('a', '', port)
  expect(again.operator.status().incarnation).toBeGreaterThan(before)
  await until(() => b.operator.peers()[0]?.state === 'up')
  expect(b.operator.peers()[0]?.digest?.name).toBe(again.operator.ownDigest().name)
  expect(claims(b, 'a', url)).toBe(false)
})

test('a proxy that has come to live at a peer’s address is not taken for it', async () => {
  const origin = await startOrigin(cacheable)
  const [a, b] = await Promise.all([startTestProxy('a'), startTestProxy('b')])
  await get(a, `${origin.url}/page`)
  b.operator.addPeer({ name: 'c', url: a.url })
  await until(() => b.operator.peers()[0]!.reason.includes('is not c'))
  expect(b.operator.peers()[0]!.digest).toBe(null)
  expect(claims(b, 'c', `${origin.url}/page`)).toBe(false)
})

test('a publisher that lies is set aside, visibly, and what it said is not believed', async () => {
  // Speaks the transport and sends a frame of noise.
  const liar = await startOrigin((_request, response) => {
    response.writeHead(200).write(Buffer.concat([Buffer.from([0, 0, 0, 64]), Buffer.alloc(64, 0xab)]))
  })
  const b = await startTestProxy('b')
  b.operator.addPeer({ name: 'liar', url: liar.url })
  await until(() => b.operator.peers()[0]!.state === 'connecting' && b.operator.peers()[0]!.reason !== '')
  expect(b.operator.peers()[0]!.reason).toMatch(/digest frame/i)
  expect(b.operator.peers()[0]!.digest).toBe(null)
  // It is tried again, with pauses.
  await until(() => liar.asked.length >= 2)
})
