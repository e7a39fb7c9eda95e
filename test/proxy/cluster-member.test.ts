import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readClusterMember } from '../../src/proxy/cluster-member.ts'
import { PeerAccounts } from '../../src/proxy/peer-accounts.ts'
import { ProxyMetrics } from '../../src/proxy/proxy-metrics.ts'
import type { ClusterMember, PeerView } from '../../src/proxy/views.ts'

const model: ClusterMember = {
  name: 'a',
  url: 'http://a',
  reachable: true,
  reason: '',
  statistics: new ProxyMetrics().statistics(),
  peers: [],
}
const peer: PeerView = {
  name: 'b',
  url: 'http://b',
  transport: 'http',
  proved: true,
  state: 'up',
  reason: '',
  guesses: {
    tests: 1,
    claims: 1,
    trueHits: 1,
    falseHits: { collision: 0, 'pending-clear': 0, freshness: 0, variant: 0, unknown: 0 },
    failures: 0,
    remoteStaleHits: 0,
    probes: 0,
    falseMisses: 0,
    falseMissCauses: { freshness: 0, unknown: 0 },
    measuredError: null,
  },
  savedMs: 0,
  account: new PeerAccounts().of('b'),
  digest: null,
}

test('a description like our own is read as it is', () => {
  const member = { ...model, peers: [peer] }
  expect(readClusterMember(JSON.stringify(member), model)).toEqual(member)
})

test.each([
  ['no JSON', 'nonsense'],
  ['null', 'null'],
  ['an array', '[]'],
  ['another shape', '{"name":"a"}'],
  ['a statistic of another type', JSON.stringify({ ...model, statistics: { ...model.statistics, requests: '1' } })],
  ['peers that are none', JSON.stringify({ ...model, peers: [{}] })],
  ['a digest without its geometry', JSON.stringify({ ...model, peers: [{ ...peer, digest: { name: 'x' } }] })],
])('%s is refused', (_name, text) => {
  expect(() => readClusterMember(text, model)).toThrow(/description/)
})

test('whatever JSON a peer sends is read or refused, never anything else', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(() => readClusterMember(text, model)).toThrow(/description/)
    }),
  )
})
