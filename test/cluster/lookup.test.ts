import { afterEach, expect, test } from 'vitest'
import { startDelayingRelay } from './delaying-relay.ts'
import { cacheable, claims, get, join, startOrigin, startTestProxy, stopAll, until } from './support.ts'

afterEach(stopAll)

const QUIET = 'lookup: { probes: 0% }'

test('the paper’s way: every claimant is asked at once, and one answer serves the client', async () => {
  const origin = await startOrigin(cacheable)
  const holders = await Promise.all(['a', 'b', 'c'].map((name) => startTestProxy(name, QUIET)))
  const asker = await startTestProxy('d', 'lookup: { ask: all, tries: 8, probes: 0% }')
  const url = `${origin.url}/page`
  for (const holder of holders) await get(holder, url)
  await join(...holders, asker)
  await until(() => holders.every(({ name }) => claims(asker, name, url)))

  const answer = await get(asker, url)
  expect(answer.body).toBe('body of /page')
  expect(answer.cacheStatus).toContain('detail=remote-hit')
  expect(asker.operator.statistics().byOutcome['remote-hit']).toBe(1)
  expect(asker.operator.statistics().falseHits.collision).toBe(0)
  const questions = asker.operator.peers().map(({ account }) => account.questions)
  expect(questions).toEqual([1, 1, 1])
  expect(asker.operator.peers().every(({ state }) => state === 'up')).toBe(true)
})

test('rule 10: a probe of a peer that does not claim a key finds a false miss', async () => {
  const origin = await startOrigin(cacheable)
  const a = await startTestProxy('a', 'digest: { profile: paper, expectedEntries: 1000 }')
  const b = await startTestProxy('b', 'lookup: { probes: 100% }')
  await join(a, b)
  // Held at once, and published in an hour.
  await get(a, `${origin.url}/held`)
  expect((await get(b, `${origin.url}/held`)).body).toBe('body of /held')
  const guesses = () => b.operator.peers()[0]!.guesses
  await until(() => guesses().probes === 1)
  expect(guesses().falseMisses).toBe(1)
  await get(b, `${origin.url}/nowhere`)
  await until(() => guesses().probes === 2)
  expect(guesses().falseMisses).toBe(1)
  expect([guesses().trueHits, guesses().claims]).toEqual([0, 0])

  // The update comes, and shows that the replica was only behind.
  expect(guesses().falseMissCauses).toEqual({ freshness: 0, unknown: 0 })
  a.operator.publishNow()
  await until(() => claims(b, 'a', `${origin.url}/held`))
  await until(async () => {
    b.operator.purge(`${origin.url}/elsewhere`)
    await get(b, `${origin.url}/elsewhere`)
    return guesses().falseMissCauses.freshness === 1
  })
  expect(guesses().falseMissCauses).toEqual({ freshness: 1, unknown: 0 })
})

test('rule 11: a peer that answers more slowly than the origin is switched off, visibly, until it would pay again', async () => {
  const origin = await startOrigin(cacheable)
  const [a, b] = await Promise.all([startTestProxy('a', QUIET), startTestProxy('b', QUIET)])
  const relay = await startDelayingRelay(a)
  for (let i = 0; i < 60; i++) await get(a, `${origin.url}/${i}`)
  b.operator.addPeer(relay)
  await until(() => claims(b, 'a', `${origin.url}/59`) && b.operator.peers()[0]!.state === 'up')
  // How long the origin takes.
  await get(b, `${origin.url}/elsewhere`)

  relay.delayMs = 40
  const outcomes: string[] = []
  for (let i = 0; i < 30; i++) {
    const { body, cacheStatus } = await get(b, `${origin.url}/${i}`)
    expect(body).toBe(`body of /${i}`)
    outcomes.push(cacheStatus.includes('remote-hit') ? 'peer' : 'origin')
  }
  expect(b.operator.peers()[0]).toMatchObject({ state: 'switched-off' })
  expect(b.operator.peers()[0]!.reason).toMatch(/costs more than it saves/)
  expect(b.operator.peers()[0]!.savedMs).toBeLessThan(0)
  expect(outcomes.filter((outcome) => outcome === 'peer').length).toBeLessThan(15)
  expect(b.operator.explain(`${origin.url}/50`)!.plan).toEqual(['fetch from the origin'])

  // As near as the peer: then it is the origin that is slow.
  relay.delayMs = 0
  const slow = await startOrigin((request, response) => {
    setTimeout(() => cacheable(request, response), 60)
  })
  for (let i = 0; i < 40; i++) await get(a, `${slow.url}/${i}`)
  await until(() => claims(b, 'a', `${slow.url}/39`))
  let next = 0
  await until(async () => {
    const url = `${slow.url}/${next++ % 40}`
    b.operator.purge(url)
    await get(b, url)
    return b.operator.peers()[0]!.state === 'up'
  })
  expect(b.operator.peers()[0]!.reason).toBe('')
})

test('single-copy: what a peer had is not kept here, and its holder’s eviction policy sees the hit', async () => {
  const origin = await startOrigin((request, response) => {
    response.writeHead(200, { 'cache-control': 'max-age=3600', 'content-length': 100_000 })
    response.end(Buffer.alloc(100_000, request.url))
  })
  const a = await startTestProxy('a', `store: { memory: 1MiB, maxObject: 200KB }\n${QUIET}`)
  const b = await startTestProxy('b', `sharing: single-copy\n${QUIET}`)
  await join(a, b)
  const wanted = `${origin.url}/wanted`
  await get(a, wanted)
  await until(() => claims(b, 'a', wanted))
  for (let i = 0; i < 30; i++) {
    const answer = await get(b, wanted)
    expect(answer.cacheStatus).toContain('detail=remote-hit')
    // Others come and go at the holder; what its sibling's clients ask for stays.
    await get(a, `${origin.url}/${i}`)
  }
  expect(b.operator.lookup(wanted)).toEqual([])
  expect(b.operator.statistics().byOutcome['remote-hit']).toBe(30)
  expect(a.operator.lookup(wanted)).toHaveLength(1)
  expect(a.operator.lookup(`${origin.url}/3`)).toEqual([])

  // Asked for at once, it is fetched for each, and all get it.
  const together = await Promise.all(Array.from({ length: 8 }, () => get(b, wanted)))
  expect(new Set(together.map(({ body }) => body.length))).toEqual(new Set([100_000]))
})
