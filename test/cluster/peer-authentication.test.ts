import { afterEach, describe, expect, test } from 'vitest'
import { cacheable, claims, get, join, startOrigin, startTestProxy, stopAll, until, type TestProxy } from './support.ts'

afterEach(stopAll)

const KEY = 'only-the-cluster-of-this-test-knows'
const FOLDER = `${process.cwd()}/test/support/certificates`

function keyed(key: string): string {
  return `cluster: { key: ${key} }`
}

/** A port for peers on loopback, with the certificate of this name. */
function peering(name: string, more = ''): string {
  const tls = `{ certificate: ${FOLDER}/${name}.pem, key: ${FOLDER}/${name}-key.pem, ca: ${FOLDER}/cluster.pem }`
  return `peering: { listen: { host: 127.0.0.1, port: 0 }, tls: ${tls} }\n${more}`
}

function overTls(proxy: TestProxy): { name: string; url: string } {
  return { name: proxy.name, url: `https://127.0.0.1:${proxy.peeringAddress!.port}` }
}

/** Follows `b` at `a`, until its state says why that comes to nothing. */
async function reasonAt(a: TestProxy, b: { name: string; url: string }): Promise<string> {
  a.operator.addPeer({ name: b.name, url: b.url })
  await until(() => a.operator.peers()[0]!.reason !== '')
  const [peer] = a.operator.peers()
  expect(peer).toMatchObject({ state: 'connecting', digest: null })
  return peer!.reason
}

describe('a key of the cluster', () => {
  test('those that share it share what they hold; who has another learns nothing, and is told why', async () => {
    const origin = await startOrigin(cacheable)
    const [a, b] = await Promise.all([startTestProxy('a', keyed(KEY)), startTestProxy('b', keyed(KEY))])
    await join(a, b)
    const url = `${origin.url}/page`
    await get(a, url)
    await until(() => claims(b, 'a', url))
    expect((await get(b, url)).cacheStatus).toContain('detail=remote-hit')
    await until(async () =>
      (await a.operator.cluster(new AbortController().signal)).proxies.every((it) => it.reachable),
    )

    const seen: string[] = []
    a.operator.subscribe((event) => {
      if (event.kind === 'peer-turned-away') seen.push(`${event.cause}: ${event.reason}`)
    })
    const c = await startTestProxy('c', keyed('the-key-of-another-cluster'))
    expect(await reasonAt(c, a)).toContain('its signature does not hold for a: it has another key')
    const d = await startTestProxy('d')
    expect(await reasonAt(d, a)).toContain('we have no cluster.key')
    expect(seen).toContain('signature: its signature does not hold for a: it has another key')
    // Nor is a publisher without a key believed.
    a.operator.addPeer({ name: 'd', url: d.url })
    await until(() => a.operator.peers().some(({ name, reason }) => name === 'd' && reason.includes('does not sign')))
    expect(claims(a, 'd', url)).toBe(false)
  })

  test('is shown nowhere', async () => {
    const [a, b] = await Promise.all([startTestProxy('a', keyed(KEY)), startTestProxy('b', keyed(`${KEY}-too`))])
    await reasonAt(a, b)
    for (const path of ['status', 'peers', 'statistics', 'digests', 'cluster']) {
      const answer = await fetch(`${a.adminUrl}/v1/${path}`)
      expect(answer.status).toBe(200)
      expect(await answer.text()).not.toContain(KEY)
    }
  })
})

describe('certificates of the cluster', () => {
  test('digests and objects go over TLS, and the proxy port has no digest for anybody', async () => {
    const origin = await startOrigin(cacheable)
    const [a, b] = await Promise.all([startTestProxy('a', peering('edge-a')), startTestProxy('b', peering('edge-b'))])
    a.operator.addPeer(overTls(b))
    b.operator.addPeer(overTls(a))
    await until(() => [a, b].every(({ operator }) => operator.peers().every(({ state }) => state === 'up')))
    const url = `${origin.url}/page`
    await get(a, url)
    await until(() => claims(b, 'a', url))
    const answer = await get(b, url)
    expect(answer.body).toBe('body of /page')
    expect(answer.cacheStatus).toContain('detail=remote-hit')
    expect(origin.asked).toEqual(['GET /page'])
    expect(a.operator.statistics().peerRequests).toEqual({ asked: 1, served: 1 })

    const c = await startTestProxy('c')
    expect(await reasonAt(c, a)).toContain('the proxies of this cluster talk over TLS')
    const plain = await fetch(`${a.url}/.well-known/summary-cache/v2/status`)
    expect(plain.status).toBe(403)
  })

  test('who has none of the cluster’s is kept out, and both ends say why', async () => {
    const [a, b] = await Promise.all([startTestProxy('a', peering('edge-a')), startTestProxy('b', peering('expired'))])
    const seen: string[] = []
    a.operator.subscribe((event) => {
      if (event.kind === 'peer-turned-away') seen.push(`${event.cause}: ${event.reason}`)
    })
    expect(await reasonAt(a, overTls(b))).toContain('certificate has expired')
    expect(await reasonAt(b, overTls(a))).toContain('it may not accept our certificate')
    await until(() => seen.length > 0)
    expect(seen[0]).toMatch(/^certificate: .*CERT_HAS_EXPIRED/)
  })

  test('together with a key both are needed', async () => {
    const [a, b, c] = await Promise.all([
      startTestProxy('a', peering('edge-a', keyed(KEY))),
      startTestProxy('b', peering('edge-b', keyed(KEY))),
      startTestProxy('c', peering('edge-b')),
    ])
    b.operator.addPeer(overTls(a))
    await until(() => b.operator.peers()[0]!.state === 'up')
    expect(await reasonAt(c, overTls(a))).toContain('we have no cluster.key')
    // With a key the proxy port is as good for digests.
    const d = await startTestProxy('d', keyed(KEY))
    d.operator.addPeer({ name: 'a', url: a.url })
    await until(() => d.operator.peers()[0]!.state === 'up')
  })

  test('a file that cannot be used keeps the proxy from starting, with the remedy', async () => {
    await expect(startTestProxy('a', peering('nobody'))).rejects.toThrow(
      /^peering\.tls\.certificate: .*nobody\.pem: ENOENT.*; name a PEM file that the user of the proxy may read$/,
    )
  })
})
