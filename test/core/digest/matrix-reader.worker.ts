import assert from 'node:assert'
import { parentPort, workerData } from 'node:worker_threads'
import { MatrixRows } from '../../../src/core/digest/matrix-rows.ts'
import { BIT_COUNT, PEERS, WIDTH, bitsOfKey, type ReaderData } from './matrix-threads.ts'

// Looks keys up until it is told to stop, and says how often, and what was wrong first.
const { rows: words, control, shared, reader } = workerData as ReaderData
const rows = new MatrixRows(BIT_COUNT, WIDTH, { rows: words, control })
const found = new Uint32Array(WIDTH)
const owners = new Uint32Array(32 * WIDTH)

function ownersOf(key: readonly number[]): number[] {
  const probes = Uint32Array.from(key)
  rows.enter(reader)
  const count = rows.match(probes, probes.length, found) ? rows.ownersOf(found, owners, 0) : 0
  rows.leave(reader)
  return [...owners.subarray(0, count)].sort((a, b) => a - b)
}

const everyone = Array.from({ length: PEERS }, (_, peer) => peer)
const { stop, added } = bitsOfKey
let lookups = 0
let fault: string | undefined
while (Atomics.load(shared, stop) === 0 && fault === undefined) {
  lookups += 3
  const always = ownersOf(bitsOfKey.inBothStates)
  if (always.length !== PEERS || !everyone.every((peer, i) => always[i] === peer)) {
    fault = `a key of both states is claimed by ${always.join()}`
  }
  const torn = ownersOf(bitsOfKey.ofTwoStates)
  if (torn.length > 0) fault = `bits of two states in one digest: ${torn.join()}`
  const count = Atomics.load(shared, added)
  if (count > 0 && !ownersOf([bitsOfKey.firstAdded + (lookups % count)]).includes(0))
    fault = 'a key of a delta is missed'
}
assert(parentPort !== null)
parentPort.postMessage({ lookups, fault })
