import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { DoubleBuffer } from '../../../src/core/digest/double-buffer.ts'

export const BIT_COUNT = 256
export const POOL_SIZE = 3
/** Of each reader, however busy the machine. */
const LEAST_LOOKUPS = 1000

/** Each state has all of `always`, far apart, and one of the other two. */
export const bitsOfState = { always: [0, 255], evenOnly: 64, oddOnly: 191, raised: 100 } as const

export interface BufferReaderData {
  readonly control: Int32Array
  readonly memory: readonly Uint32Array[]
  /** Whether to stop, and each reader's lookups. */
  readonly shared: Int32Array
  readonly reader: number
}

export interface BufferOutcome {
  readonly swaps: number
  /** Builds that had to wait for readers. */
  readonly postponed: number
  readonly readers: readonly { readonly lookups: number; readonly fault: string | undefined }[]
}

/** One writer that builds states in idle buffers and swaps them in, and raises bits, while other threads read. */
export async function swapBuffersUnderReaders(swaps: number, readerCount: number): Promise<BufferOutcome> {
  const words = (count: number): SharedArrayBuffer => new SharedArrayBuffer(4 * count)
  const control = new Int32Array(words(DoubleBuffer.controlWords(readerCount)))
  const memory = Array.from({ length: POOL_SIZE }, () => new Uint32Array(words(BIT_COUNT / 32)))
  const shared = new Int32Array(words(1 + readerCount))
  const buffers = new DoubleBuffer(BIT_COUNT, { control, poolSize: POOL_SIZE, allocate: (index) => memory[index]! })
  for (const bit of [...bitsOfState.always, bitsOfState.evenOnly]) buffers.active.set(bit)

  const workers = Array.from({ length: readerCount }, (_, reader) => {
    const workerData: BufferReaderData = { control, memory, shared, reader }
    return new Worker(new URL('./double-buffer-reader.worker.ts', import.meta.url), { workerData })
  })
  const answers = workers.map((worker) => once(worker, 'message'))
  await Promise.all(workers.map((worker) => once(worker, 'online')))

  let done = 0
  let postponed = 0
  const haveAllLooked = (): boolean => workers.every((_, reader) => Atomics.load(shared, 1 + reader) >= LEAST_LOOKUPS)
  while ((done < swaps || !haveAllLooked()) && Atomics.load(shared, 0) === 0) {
    buffers.active.set(bitsOfState.raised)
    const idle = buffers.idle()
    if (idle === undefined) {
      postponed++
      continue
    }
    // Word by word, as a build does: whoever looked in meanwhile would see it half done.
    for (let i = 0; i < BIT_COUNT / 32; i++) idle.words[i] = 0
    done++
    idle.set(done % 2 === 0 ? bitsOfState.evenOnly : bitsOfState.oddOnly)
    for (const bit of bitsOfState.always) idle.set(bit)
    buffers.swap(idle)
  }
  Atomics.store(shared, 0, 1)
  const readers = (await Promise.all(answers)).map(([message]) => message as BufferOutcome['readers'][number])
  await Promise.all(workers.map((worker) => worker.terminate()))
  return { swaps: done, postponed, readers }
}
