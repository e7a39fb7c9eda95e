import { expect, test } from 'vitest'
import { ReplicaTable } from '../../../src/core/digest/replica-table.ts'
import { Replica } from '../../../src/core/digest/replica.ts'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import { keyOf } from '../filter/test-keys.ts'
import { TestPublisher, decoded, finish, limits } from './test-publisher.ts'

function replicaOf(entries: number, probeCount: number, urls: readonly string[]): Replica {
  const publisher = new TestPublisher(geometryFor(entries, 16, probeCount))
  publisher.add(...urls).delta()
  const replica = new Replica(limits)
  replica.receive(decoded(publisher.snapshot()))
  finish(replica)
  return replica
}

test('the candidates for a key are the peers whose digest may contain it, whatever their geometries', () => {
  const urls = Array.from({ length: 400 }, (_, n) => `http://www.example.com/${n}`)
  const replicas = [4, 1, 6, 16, 4].map((probeCount, peer) => {
    const own = urls.filter((_, n) => n % (peer + 2) === 0)
    return replicaOf([100, 100, 400, 1000, 5000][peer]!, probeCount, own)
  })
  const table = new ReplicaTable()
  for (const [peer, replica] of replicas.entries()) table.set(peer * 2, replica)
  table.set(3, new Replica(limits))
  const out = new Uint32Array(9)
  for (const url of urls) {
    const key = keyOf(url)
    const claiming = replicas.flatMap((replica, peer) => (replica.mayContain(key) ? [peer * 2] : []))
    expect([...out.subarray(0, table.candidates(key, out))]).toEqual(claiming)
  }
})

test('a peer taken out of the table is no candidate, and one without a proved state never is', () => {
  const table = new ReplicaTable()
  const out = new Uint32Array(2)
  table.set(0, replicaOf(100, 4, ['a']))
  table.set(1, new Replica(limits))
  expect(table.candidates(keyOf('a'), out)).toBe(1)
  expect(out[0]).toBe(0)
  table.set(0, undefined)
  expect(table.candidates(keyOf('a'), out)).toBe(0)
})
