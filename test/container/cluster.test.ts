import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Statistics } from '../../src/proxy/views.ts'
import { Cluster, docker, isWhole } from './cluster.ts'

let cluster: Cluster

/** Until `proxy` knows that exactly `holders` have the page. */
function untilClaimed(proxy: string, path: string, holders: readonly string[]): Promise<void> {
  return vi.waitFor(async () => expect(await cluster.claimants(proxy, path)).toEqual(holders), {
    timeout: 10_000,
    interval: 50,
  })
}

beforeAll(async () => {
  await docker('build', '--quiet', '--tag', 'summary-cache', '.')
  cluster = await Cluster.start(['edge-a', 'edge-b', 'edge-c'])
})
afterAll(() => cluster?.stop())

test('a page fetched through one proxy is served to a client of another without asking the origin', async () => {
  const first = await cluster.fetch('edge-a', '/shared')
  expect([first.status, isWhole(first.body)]).toEqual([200, true])
  await untilClaimed('edge-b', '/shared', ['edge-a'])

  const second = await cluster.fetch('edge-b', '/shared')
  expect(second).toMatchObject({ status: 200, body: first.body })
  expect(await cluster.originRequests('/shared')).toBe(1)
  const { byOutcome } = await cluster.ask<Statistics>('edge-b', '/v1/statistics')
  expect(byOutcome).toMatchObject({ 'remote-hit': 1, miss: 0 })
})

test('with one proxy dead and one cut off, the third answers every request within a second', async () => {
  await cluster.fetch('edge-a', '/of-a')
  await cluster.fetch('edge-b', '/of-b')
  await cluster.fetch('edge-c', '/of-c')
  await untilClaimed('edge-c', '/of-a', ['edge-a'])
  await untilClaimed('edge-c', '/of-b', ['edge-b'])

  await Promise.all([cluster.crash('edge-a'), cluster.cutOff('edge-b')])
  for (const path of ['/of-b', '/of-a', '/of-c', '/of-none']) {
    const { status, body, elapsedMs } = await cluster.fetch('edge-c', path)
    expect([path, status, isWhole(body)]).toEqual([path, 200, true])
    expect(elapsedMs).toBeLessThan(1_000)
  }
  // The one that was cut off was still believed, and asked in vain.
  expect((await cluster.ask<Statistics>('edge-c', '/v1/statistics')).peerFailures).toBeGreaterThan(0)
})

test('a proxy that was cut off and comes back is asked again', async () => {
  await cluster.rejoin('edge-b')
  await vi.waitFor(
    async () => {
      const path = `/again-${performance.now()}`
      const { status } = await cluster.fetch('edge-b', path)
      expect(status).toBe(200)
      await vi.waitFor(async () => expect(await cluster.claimants('edge-c', path)).toEqual(['edge-b']), {
        timeout: 2_000,
      })
    },
    { timeout: 60_000, interval: 500 },
  )
})

test('SIGTERM ends a proxy quickly and with exit code 0, though peers follow it', async () => {
  const startMs = performance.now()
  expect(await cluster.terminate('edge-b')).toBe(0)
  expect(performance.now() - startMs).toBeLessThan(4_000)
})
