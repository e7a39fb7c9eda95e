import { afterEach, expect, test } from 'vitest'
import { cacheable, claims, get, join, startOrigin, startTestProxy, stopAll, until } from './support.ts'

afterEach(stopAll)

test('what A fetched is served to a client of B from A, without the origin, within one publish window', async () => {
  const origin = await startOrigin(cacheable)
  const [a, b] = await Promise.all([startTestProxy('a'), startTestProxy('b')])
  await join(a, b)
  const url = `${origin.url}/page`
  expect((await get(a, url)).cacheStatus).toContain('fwd=uri-miss')
  // The window is counted by the proxies' own account of the change's age, not by this test's clock.
  await until(() => claims(b, 'a', url))

  const answer = await get(b, url)
  expect(answer.body).toBe('body of /page')
  expect(answer.cacheStatus).toContain('detail=remote-hit')
  expect(origin.asked).toEqual(['GET /page'])
  expect(b.operator.statistics().byOutcome['remote-hit']).toBe(1)
  // The copy is kept: the next client of B needs nobody.
  expect((await get(b, url)).cacheStatus).toContain('; hit')
  expect(a.operator.statistics().peerRequests).toEqual({ asked: 1, served: 1 })
})
