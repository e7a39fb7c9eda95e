import assert from 'node:assert'
import { parentPort, workerData } from 'node:worker_threads'
import { DoubleBuffer } from '../../../src/core/digest/double-buffer.ts'
import { BIT_COUNT, POOL_SIZE, bitsOfState, type BufferReaderData } from './double-buffer-threads.ts'

// Looks into the active buffer until it is told to stop, and says how often, and what was wrong first.
const { control, memory, shared, reader } = workerData as BufferReaderData
const buffers = new DoubleBuffer(BIT_COUNT, { control, poolSize: POOL_SIZE, allocate: (index) => memory[index]! })
let lookups = 0
let fault: string | undefined
while (Atomics.load(shared, 0) === 0 && fault === undefined) {
  Atomics.store(shared, 1 + reader, ++lookups)
  const bits = buffers.enter(reader)
  const { always, evenOnly, oddOnly } = bitsOfState
  const hasAll = bits.get(always[0]) && bits.get(always[1])
  const [isEven, isOdd] = [bits.get(evenOnly), bits.get(oddOnly)]
  buffers.leave(reader)
  if (!hasAll) fault = 'a bit of both states is missing'
  if (isEven === isOdd) fault = `the bits of ${isEven ? 'both states' : 'neither state'}`
}
if (fault !== undefined) Atomics.store(shared, 0, 1)
assert(parentPort !== null)
parentPort.postMessage({ lookups, fault })
