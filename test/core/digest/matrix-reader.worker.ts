import assert from 'node:assert'
import { parentPort, workerData } from 'node:worker_threads'
import { MatrixRows } from '../../../src/core/digest/matrix-rows.ts'
import { BIT_COUNT, PEERS, WIDTH, bitsOfKey, type ReaderData } from './matrix-threads.ts'

// Looks keys up until it is told to stop, and says how often, and what was wrong first. Without allocating: a reader that is
// quick is the one that meets the writer.
const { rows: words, control, shared, reader } = workerData as ReaderData
const rows = new MatrixRows(BIT_COUNT, WIDTH, { rows: words, control })
const found = new Uint32Array(WIDTH)
const owners = new Uint32Array(32 * WIDTH)
const inBothStates = Uint32Array.from(bitsOfKey.inBothStates)
const ofTwoStates = Uint32Array.from(bitsOfKey.ofTwoStates)
const added = new Uint32Array(1)

function countFound(): number {
  let count = 0
  for (let rest = found[0]!; rest !== 0; rest &= rest - 1) count++
  return count
}

let lookups = 0
let fault: string | undefined
while (Atomics.load(shared, bitsOfKey.stop) === 0 && fault === undefined) {
  lookups += 3
  Atomics.store(shared, bitsOfKey.lookups + reader, lookups)
  rows.enter(reader)
  rows.matchInside(inBothStates, inBothStates.length, found)
  const always = countFound()
  const areOwners = rows.ownersOf(found, owners, 0) === always && sumOf(always) === (PEERS * (PEERS - 1)) / 2
  const isTorn = rows.matchInside(ofTwoStates, ofTwoStates.length, found)
  rows.leave(reader)
  if (always !== PEERS || !areOwners)
    fault = `a key of both states is claimed by ${[...owners.subarray(0, always)].join()}`
  if (isTorn) fault = 'bits of two states in one digest'

  const count = Atomics.load(shared, bitsOfKey.added)
  if (count === 0) continue
  added[0] = bitsOfKey.firstAdded + (lookups % count)
  rows.enter(reader)
  rows.matchInside(added, 1, found)
  if (rows.ownersOf(found, owners, 0) !== 1 || owners[0] !== 0) fault = 'a key of a delta is missed'
  rows.leave(reader)
}
// A fault ends the run for all.
if (fault !== undefined) Atomics.store(shared, bitsOfKey.stop, 1)
assert(parentPort !== null)
parentPort.postMessage({ lookups, fault })

function sumOf(count: number): number {
  let sum = 0
  for (let i = 0; i < count; i++) sum += owners[i]!
  return sum
}
