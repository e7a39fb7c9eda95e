import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

/** Requests at their times, whether or not those before have been answered. */
export interface HitsTask {
  readonly host: string
  readonly port: number
  /** One request, whole. It is always answered with as many bytes of body. */
  readonly request: string
  readonly perSecond: number
}

/** Sent for each window that was asked for: milliseconds from when each request was due. */
export type HitDelays = readonly number[]

const { host, port, request, perSecond } = workerData as HitsTask
const REQUEST = Buffer.from(request, 'latin1')
const HEAD_END = Buffer.from('\r\n\r\n')
const CONNECTIONS = 16

/** A client that makes next to no garbage: the pauses that are of interest are the proxy's. */
class Connection {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #done: () => void = () => undefined

  constructor() {
    this.#socket = connect({ host, port, noDelay: true })
    this.#socket.on('close', () => {
      throw new Error('the proxy closed a connection')
    })
    this.#socket.on('data', (bytes) => {
      this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes])
      if (!isWhole(this.#received)) return
      this.#received = Buffer.alloc(0)
      this.#done()
    })
  }

  async opened(): Promise<void> {
    await once(this.#socket, 'connect')
  }

  send(done: () => void): void {
    this.#done = done
    this.#socket.write(REQUEST)
  }
}

function isWhole(answer: Buffer): boolean {
  const end = answer.indexOf(HEAD_END)
  if (end === -1) return false
  const head = answer.toString('latin1', 0, end)
  if (!head.startsWith('HTTP/1.1 200 ')) throw new Error(`a hit was answered ${head.slice(0, 40)}`)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  return length !== undefined && answer.length >= end + HEAD_END.length + Number(length)
}

const idle = Array.from({ length: CONNECTIONS }, () => new Connection())
await Promise.all(idle.map((connection) => connection.opened()))
parentPort!.on('message', (windowMs: number) => {
  void measure(windowMs)
})

async function measure(windowMs: number): Promise<void> {
  const delays: number[] = []
  const waiting: number[] = []
  const startMs = performance.now()
  let sent = 0
  const sendWaiting = (): void => {
    while (waiting.length > 0 && idle.length > 0) {
      const dueMs = waiting.shift()!
      // The one that has waited longest: none is idle for so long that the proxy would close it.
      const connection = idle.shift()!
      connection.send(() => {
        delays.push(performance.now() - dueMs)
        idle.push(connection)
        sendWaiting()
      })
    }
  }
  while (performance.now() - startMs < windowMs || delays.length < sent) {
    const due = (Math.min(performance.now() - startMs, windowMs) / 1_000) * perSecond
    for (; sent < due; sent++) waiting.push(startMs + (sent / perSecond) * 1_000)
    sendWaiting()
    await new Promise((resolve) => {
      setTimeout(resolve, 1)
    })
  }
  parentPort!.postMessage(delays satisfies HitDelays)
}
