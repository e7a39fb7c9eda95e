import { afterEach, expect, test } from 'vitest'
import type { ProtocolVersion } from '../../src/proxy/ports.ts'
import { cacheable, claims, get, join, startOrigin, startTestProxy, stopAll, until, type TestProxy } from './support.ts'

afterEach(stopAll)

const OLD: readonly ProtocolVersion[] = [1]

test('rule 15: a proxy of version 1 and one of version 2 hold each other’s digests, also after turnovers and resizes', async () => {
  const origin = await startOrigin(cacheable)
  const small = 'digest: { profile: fresh, expectedEntries: 16 }'
  const [old, young] = await Promise.all([startTestProxy('old', small, 0, OLD), startTestProxy('young', small)])
  await join(old, young)
  for (const [holder, other] of [
    [old, young],
    [young, old],
  ] as const) {
    // So many that the digest has to grow, and its new state comes as a snapshot.
    for (let i = 0; i < 100; i++) await get(holder, `${origin.url}/${holder.name}/${i}`)
    await until(() => claims(other, holder.name, `${origin.url}/${holder.name}/99`))
    await until(() => other.operator.peers()[0]?.digest?.name === holder.operator.ownDigest().name)
    await until(() => holder.operator.ownDigest().geometry.bitCount > 256)
    holder.operator.purge(`${origin.url}/${holder.name}/99`)
    const generation = await holder.operator.newGeneration()
    await until(() => other.operator.peers()[0]?.digest?.name === generation)
    expect(claims(other, holder.name, `${origin.url}/${holder.name}/98`)).toBe(true)
  }
})

test('rule 15: a cluster is upgraded one proxy after the other, and no request fails', async () => {
  const origin = await startOrigin(cacheable)
  const proxies = await Promise.all(['a', 'b', 'c'].map((name) => startTestProxy(name, '', 0, OLD)))
  await join(...proxies)

  const over = new AbortController()
  const failed: string[] = []
  let served = 0
  const underWay = new Set<TestProxy>()
  const clients = async (of: () => TestProxy | undefined, from: number): Promise<void> => {
    for (let i = from; !over.signal.aborted; i = (i + 7) % 200) {
      const proxy = of()
      if (proxy === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 5))
        continue
      }
      underWay.add(proxy)
      const answer = await get(proxy, `${origin.url}/${i}`)
      underWay.delete(proxy)
      if (answer.status !== 200 || answer.body !== `body of /${i}`) failed.push(`${proxy.name} /${i}: ${answer.status}`)
      served++
    }
  }
  const serving: (TestProxy | undefined)[] = [...proxies]
  const traffic = proxies.map((_, index) => clients(() => serving[index], index * 50))

  for (const [index, old] of proxies.entries()) {
    const before = served
    await until(() => served > before + 200)
    // As a load balancer would: its clients go elsewhere first.
    serving[index] = undefined
    await until(() => !underWay.has(old) && old.requestsUnderWay() === 0)
    await old.stop(1_000)
    const young = await startTestProxy(old.name, '', old.proxyAddress.port)
    for (const other of proxies) if (other !== old) young.operator.addPeer({ name: other.name, url: other.url })
    await until(() => young.operator.peers().every((peer) => peer.state === 'up'))
    serving[index] = young
  }
  const before = served
  await until(() => served > before + 200)
  over.abort()
  await Promise.all(traffic)
  expect(failed).toEqual([])
  const upgraded = serving.filter((proxy) => proxy !== undefined)
  await until(() => upgraded.every(({ operator }) => operator.peers().every((peer) => peer.state === 'up')))
  expect(upgraded.some(({ operator }) => operator.statistics().byOutcome['remote-hit'] > 0)).toBe(true)
})
