import assert from 'node:assert'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cacheable, claims, get, join, startOrigin, startTestProxy, stopAll, until } from '../cluster/support.ts'
import { findingOf } from './finding.ts'
import type { Measurement } from './measurement.ts'

const BARE = 'node:http alone, no proxy'

async function startBareServer(): Promise<Server> {
  const server = createServer((_request, response) => response.end('body of /page'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

/** One request after the other on one connection; `ending` is in each answer's Cache-Status. */
async function getAll(proxy: { readonly url: string }, urls: readonly string[], ending: string): Promise<number> {
  for (const url of urls) {
    const { cacheStatus } = await get(proxy, url)
    assert.ok(cacheStatus.includes(ending), `${url} ended with ${cacheStatus}, not ${ending}`)
  }
  return urls.length
}

/** Client, proxies and origin share one thread: read the ratios, not the figures. */
export const SERVING_MEASUREMENTS: readonly Measurement[] = [
  {
    name: 'by how a request ends',
    async run({ harness, quick, progress }) {
      const requests = quick ? 50 : 300
      const bareServer = await startBareServer()
      try {
        const bare = `http://127.0.0.1:${(bareServer.address() as AddressInfo).port}`
        const origin = (await startOrigin(cacheable)).url
        const [a, b] = await Promise.all([startTestProxy('a'), startTestProxy('b')])
        await join(a, b)
        let next = 0
        const further = (path: string): string[] =>
          Array.from({ length: requests }, () => `${origin}/${path}/${next++}`)
        const same = (url: string): string[] => Array.from({ length: requests }, () => url)

        // Of what `a` holds, all that `b` will ask for: each request of a remote hit stores it there.
        const sharedCount = requests * (quick ? 5 : 9)
        progress(`storing ${sharedCount} responses to share`)
        const shared = Array.from({ length: sharedCount }, (_, i) => `${origin}/shared/${i}`)
        await getAll(a, [`${origin}/page`, ...shared], 'stored')
        await until(() => claims(b, 'a', shared.at(-1)!))
        let taken = 0
        const comparison = await harness.compare([
          harness.timedAsync(BARE, requests, () => getAll({ url: bare }, same(`${bare}/page`), '')),
          harness.timedAsync('local hit', requests, () => getAll(a, same(`${origin}/page`), 'a; hit')),
          harness.timedAsync('miss, stored', requests, () => getAll(b, further('miss'), 'stored')),
          harness.timedAsync('remote hit, stored', requests, () =>
            getAll(b, shared.slice(taken, (taken += requests)), 'remote-hit'),
          ),
        ])
        return [
          findingOf(comparison, BARE, { unit: 'µs' }),
          ...['local hit', 'miss, stored', 'remote hit, stored'].map((name) =>
            findingOf(comparison, name, { unit: 'µs', against: BARE }),
          ),
        ]
      } finally {
        await stopAll()
        bareServer.closeAllConnections()
        bareServer.close()
      }
    },
  },
]
