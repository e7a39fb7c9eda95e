import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { DigestMatrix, type MatrixBuffers } from '../../../src/core/digest/digest-matrix.ts'
import type { ReplicaBits } from '../../../src/core/digest/replica-bits.ts'
import { MatrixRows } from '../../../src/core/digest/matrix-rows.ts'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'

export const BIT_COUNT = 64
/** As many as there can be, so that a retired column is soon built in again. */
export const PEERS = 30
export const WIDTH = 1
/** Of each reader, however busy the machine. */
const LEAST_LOOKUPS = 1000

/** Bits by hand: a key is where its probes go. Beside them, words that threads share. */
export const bitsOfKey = {
  inBothStates: [0, 1],
  ofTwoStates: [2, 3],
  evenOnly: 2,
  oddOnly: 3,
  /** These four come and go. */
  firstRaised: 4,
  /** Peer 0 has these from the delta on that added them, in every state. */
  firstAdded: 8,
  stop: 0,
  added: 1,
  /** And from here on each reader's lookups. */
  lookups: 2,
} as const

export interface ReaderData {
  readonly rows: Uint32Array
  readonly control: Int32Array
  readonly shared: Int32Array
  readonly reader: number
}

export interface ThreadsOutcome {
  readonly swaps: number
  readonly deltas: number
  /** Builds that had to wait for a reader. */
  readonly postponed: number
  readonly readers: readonly { readonly lookups: number; readonly fault: string | undefined }[]
}

function sharedWords(count: number): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * count)
}

/**
 * One writer that swaps states and merges deltas, so many in all, while readers on other threads look keys up without a
 * pause: every peer's states alternate between two that have one key in common, and peer 0 gets keys by deltas.
 */
export async function swapUnderReaders(swaps: number, readerCount: number): Promise<ThreadsOutcome> {
  const rows = new Uint32Array(sharedWords(BIT_COUNT * WIDTH))
  const control = new Int32Array(sharedWords(MatrixRows.controlWords(WIDTH, readerCount)))
  const shared = new Int32Array(sharedWords(bitsOfKey.lookups + readerCount))
  const matrix = new DigestMatrix({ ...geometryFor(1), bitCount: BIT_COUNT }, PEERS, () => ({ rows, control }))
  const peers = Array.from({ length: PEERS }, (_, peer) => matrix.addPeer(peer))

  let added = 0
  const build = (bits: ReplicaBits, peer: number, isEven: boolean): void => {
    for (let i = 0; i < BIT_COUNT / 32; i++) bits.setWord(i, 0)
    for (const bit of bitsOfKey.inBothStates) bits.set(bit)
    bits.set(isEven ? bitsOfKey.evenOnly : bitsOfKey.oddOnly)
    if (peer === 0) for (let i = 0; i < added; i++) bits.set(bitsOfKey.firstAdded + i)
  }
  for (const [peer, buffers] of peers.entries()) {
    build(buffers.active, peer, true)
    buffers.show()
  }

  const workers = Array.from({ length: readerCount }, (_, reader) => {
    const workerData: ReaderData = { rows, control, shared, reader }
    return new Worker(new URL('./matrix-reader.worker.ts', import.meta.url), { workerData })
  })
  // From now on: whoever finds a fault says so at once, and ends.
  const answers = workers.map((worker) => once(worker, 'message'))
  await Promise.all(workers.map((worker) => once(worker, 'online')))

  let done = 0
  let deltas = 0
  let postponed = 0
  const parity = new Uint8Array(PEERS)
  const haveAllLooked = (): boolean =>
    workers.every((_, reader) => Atomics.load(shared, bitsOfKey.lookups + reader) >= LEAST_LOOKUPS)
  for (let at = 0; (done < swaps || !haveAllLooked()) && Atomics.load(shared, bitsOfKey.stop) === 0; at++) {
    const peer = at % PEERS
    const buffers: MatrixBuffers = peers[peer]!
    if (peer === 0 && bitsOfKey.firstAdded + added < BIT_COUNT) {
      buffers.active.set(bitsOfKey.firstAdded + added)
      Atomics.store(shared, bitsOfKey.added, ++added)
      deltas++
    }
    // Into another peer's active state, until its next one.
    peers[(at + 7) % PEERS]!.active.set(bitsOfKey.firstRaised + (at & 3))
    deltas++
    const idle = buffers.idle()
    if (idle === undefined) {
      postponed++
      continue
    }
    parity[peer]! ^= 1
    build(idle, peer, parity[peer] === 0)
    buffers.swap(idle)
    done++
    // Threads that have just begun get their turn.
    if (done % 1_000_000 === 0) await new Promise((resolve) => setImmediate(resolve))
  }

  Atomics.store(shared, bitsOfKey.stop, 1)
  const readers = (await Promise.all(answers)).map(([message]) => message as ThreadsOutcome['readers'][number])
  await Promise.all(workers.map((worker) => worker.terminate()))
  return { swaps: done, deltas, postponed, readers }
}
