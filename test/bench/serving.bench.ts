import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, test } from 'vitest'
import {
  cacheable,
  get,
  join,
  startOrigin,
  startTestProxy,
  stopAll,
  until,
  claims,
  type TestProxy,
} from '../cluster/support.ts'

// Client, proxies and origin share this process and the machine: read the ratios, not the figures.
let a: TestProxy
let b: TestProxy
let bare: string
let origin: string

beforeAll(async () => {
  origin = (await startOrigin(cacheable)).url
  const server = createServer((_request, response) => response.end('body of /page'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  bare = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  ;[a, b] = await Promise.all([startTestProxy('a'), startTestProxy('b')])
  await join(a, b)
  await get(a, `${origin}/page`)
})
afterAll(stopAll)

describe('one request after another, on one connection', () => {
  test('by how it ends', async ({ bench }) => {
    let next = 0
    await bench.compare(
      bench('node:http alone, no proxy', async () => {
        await get({ url: bare }, `${bare}/page`)
      }),
      bench('local hit', async () => {
        await get(a, `${origin}/page`)
      }),
      bench('miss, stored', async () => {
        await get(b, `${origin}/miss/${next++}`)
      }),
    )
  })

  test('remote hit', async ({ bench }) => {
    for (let i = 0; i < 3_000; i++) await get(a, `${origin}/shared/${i}`)
    await until(() => claims(b, 'a', `${origin}/shared/2999`))
    let next = 0
    await bench('remote hit, stored', async () => {
      await get(b, `${origin}/shared/${next++}`)
    }).run({ iterations: 2_000, time: 0, warmupIterations: 100, warmupTime: 0 })
  })
})
