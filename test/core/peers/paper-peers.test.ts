import { expect, test } from 'vitest'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import { probePositions } from '../../../src/core/filter/probing.ts'
import { cacheKey } from '../../../src/core/http/cache-key.ts'
import { isConsulted, PeerTable, type PeerState } from '../../../src/core/peers/peer-table.ts'
import { encodeDirUpdate } from '../../../src/core/protocol/dir-update-message.ts'
import { paperGeometry, PaperHasher } from '../../../src/core/protocol/paper-hashing.ts'
import { PaperReplica } from '../../../src/core/protocol/paper-replica.ts'
import { peerBudgets } from '../../../src/core/protocol/peer-budgets.ts'

const URL_HELD = 'http://origin.example/held'

function newTable(): PeerTable {
  const budgets = peerBudgets(65_536, 4_096)
  return new PeerTable({ maxBitCount: 65_536, hashing: geometryFor(200), heartbeatMs: 5_000, budgets })
}

/** A peer whose replica claims one URL, hashed by so many functions. */
function paperPeer(table: PeerTable, name: string, functionCount = 4): PeerState {
  const replica = new PaperReplica({ maxBitCount: 65_536, staleAfterMs: 1_000 })
  const records = new Uint32Array(functionCount)
  probePositions(new PaperHasher().hash(URL_HELD, functionCount), paperGeometry(10_007, functionCount), records)
  const head = { requestNumber: 0, functionCount, functionBits: 32, bitCount: 10_007 }
  replica.receive(encodeDirUpdate({ ...head, records }), 0)
  return table.add({ name, url: `http://${name}`, transport: 'dir-update', updates: `${name}:3130` }, replica)!
}

test('peers on the paper’s wire are candidates by the MD5 of the URL, the quickest first', () => {
  const table = newTable()
  table.add({ name: 'other', url: 'http://other' })
  const [slow, quick] = [paperPeer(table, 'slow'), paperPeer(table, 'quick', 7)]
  slow.latencyMs = 9
  quick.latencyMs = 2
  expect(table.candidates(cacheKey(URL_HELD), 0)).toEqual([quick.index, slow.index])
  expect(table.candidates(cacheKey('http://origin.example/not-held'), 0)).toEqual([])
  expect([slow.guesses.tests, slow.guesses.claims]).toEqual([2, 1])
  // Keys without a URL are of a simulation, where nobody is on this wire.
  const { h0, h1, h2, h3 } = cacheKey(URL_HELD)
  expect(table.candidates({ h0, h1, h2, h3 }, 0)).toEqual([])
})

test('rule 9: one that is suspended, silent, unreachable or removed is no candidate', () => {
  const table = newTable()
  const state = paperPeer(table, 'p')
  const key = cacheKey(URL_HELD)
  expect([isConsulted(state, 1_000), isConsulted(state, 1_001)]).toEqual([true, false])
  expect(table.candidates(key, 1_001)).toEqual([])
  state.isConnected = false
  expect(table.candidates(key, 0)).toEqual([])
  state.isConnected = true
  state.health.failed(0, 'no answer')
  expect(table.candidates(key, 0)).toEqual([])
  expect(table.isClaimed(state, key)).toBe(true)
  state.health.heard(1_000)
  expect(table.candidates(key, 1_000)).toEqual([state.index])
  table.remove('p')
  expect(table.candidates(key, 1_000)).toEqual([])
})
