import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { DigestHttp, type DigestHttpOptions } from '../../../src/adapters/transport/digest-http.ts'
import type { Peer } from '../../../src/core/peers/peer.ts'
import { MalformedMessageError } from '../../../src/core/protocol/malformed-message-error.ts'
import type {
  Clock,
  DigestSource,
  DigestStreamHandler,
  EncodedSnapshot,
  ProtocolVersion,
} from '../../../src/proxy/ports.ts'
import type { ProxyEvent } from '../../../src/proxy/proxy-event.ts'

export const PREFIX = '/.well-known/summary-cache/'
export const KEY = 'the cluster shares this secret'
const MAX_FRAME_BYTES = 1024 * 1024

const stops: (() => Promise<void>)[] = []

/** Stops every proxy and server that a test has started, the last first. */
export async function stopAll(): Promise<void> {
  for (const stop of stops.splice(0).toReversed()) await stop()
}

/** Time is a test's; it stands still until it is moved. */
export class TestClock implements Clock {
  wall = 1_796_000_000_000
  monotonic = 0

  wallMs(): number {
    return this.wall
  }

  monotonicMs(): number {
    return this.monotonic
  }

  advance(ms: number): void {
    this.wall += ms
    this.monotonic += ms
  }

  sleep(): Promise<void> {
    throw new Error('nothing here waits on the clock')
  }
}

/** Says what a test has put into it. */
export class TestSource implements DigestSource {
  frames: readonly Uint8Array[] = [bytesOf('a heartbeat')]
  current: EncodedSnapshot = { tag: '7.0.1', frame: bytesOf('a snapshot') }
  /** Those that are kept, by tag. */
  readonly kept = new Map<string, EncodedSnapshot>()
  /** Thrown by the next calls. */
  failure: Error | undefined
  readonly asked: { asker: string; want: string; version: ProtocolVersion }[] = []

  async answer(
    asker: string,
    want: Uint8Array,
    version: ProtocolVersion,
    deliver: (frames: readonly Uint8Array[]) => void,
  ): Promise<void> {
    // Never within the call.
    await Promise.resolve()
    if (this.failure !== undefined) throw this.failure
    const text = Buffer.from(want).toString('latin1')
    if (!text.startsWith('want')) throw new MalformedMessageError('digest frame', 0, 'no digest frame')
    this.asked.push({ asker, want: text, version })
    deliver(this.frames)
  }

  async snapshot(asker: string, tag: string | undefined): Promise<EncodedSnapshot> {
    await Promise.resolve()
    if (this.failure !== undefined) throw this.failure
    this.asked.push({ asker, want: `snapshot ${tag ?? ''}`.trimEnd(), version: 2 })
    return (tag !== undefined && this.kept.get(tag)) || this.current
  }
}

export interface TestPublisher {
  readonly peer: Peer
  readonly source: TestSource
  readonly transport: DigestHttp
  readonly events: ProxyEvent[]
  readonly clock: TestClock
  /** The server under its routes. */
  readonly server: Server
}

export type TransportOptions = Partial<DigestHttpOptions> & {
  readonly wrap?: (serve: RequestListener) => RequestListener
}

/** A transport by itself, to follow with. */
export function newTransport(options: Partial<DigestHttpOptions> = {}): DigestHttp {
  const transport = new DigestHttp({
    name: 'b',
    heartbeatMs: 1_000,
    maxFrameBytes: MAX_FRAME_BYTES,
    prefix: PREFIX,
    clock: new TestClock(),
    events: { emit: () => undefined },
    ...options,
  })
  stops.push(() => transport.close())
  return transport
}

/** A publisher `a` on a real socket. `wrap` stands between the socket and its routes. */
export async function startPublisher({ wrap, ...options }: TransportOptions = {}): Promise<TestPublisher> {
  const source = new TestSource()
  const events: ProxyEvent[] = []
  const clock = new TestClock()
  const transport = newTransport({ name: 'a', clock, events: { emit: (event) => events.push(event) }, ...options })
  const routes = transport.routes(source, () => '{"name":"a"}')
  const serve: RequestListener = (request, response) => {
    void routes(request, response).catch(() => undefined)
  }
  const server = createServer(wrap?.(serve) ?? serve)
  return { peer: { name: 'a', url: await listening(server) }, source, transport, events, clock, server }
}

/** Whatever a test wants to stand at a peer's address. */
export async function startServer(serve: (request: IncomingMessage, response: ServerResponse) => void): Promise<Peer> {
  return { name: 'a', url: await listening(createServer(serve)) }
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, resolve))
  stops.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** What a follower was told, in the order in which it was. */
export interface Followed {
  readonly log: string[]
  readonly frames: Uint8Array[]
  /** Why it ended. */
  readonly closed: Promise<string>
  close(): void
}

export function follow(transport: DigestHttp, peer: Peer, want = 'want'): Followed {
  const log: string[] = []
  const frames: Uint8Array[] = []
  const end = Promise.withResolvers<string>()
  const handler: DigestStreamHandler = {
    opened: (version) => log.push(`opened ${version}`),
    frame: (frame) => {
      frames.push(frame)
      log.push(Buffer.from(frame).toString('latin1').slice(0, 40))
    },
    closed: (reason) => {
      log.push('closed')
      end.resolve(reason)
    },
  }
  const stream = transport.follow(peer, bytesOf(want), handler)
  return { log, frames, closed: end.promise, close: () => stream.close() }
}

/** One request written by hand; resolves with all that comes back until the connection ends. */
export function raw(peer: Peer, request: string): Promise<string> {
  const { hostname, port } = new URL(peer.url)
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(Number(port), hostname, () => socket.write(request.replaceAll('\n', '\r\n')))
    let answer = ''
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')))
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
  })
}

export function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, 'latin1')
}

/** As it goes on a stream. */
export function prefixed(frame: Uint8Array): Uint8Array {
  const prefix = Buffer.alloc(4)
  prefix.writeUInt32BE(frame.length)
  return Buffer.concat([prefix, frame])
}

/** Looks again every few milliseconds until `condition` holds. @throws after ten seconds: then it never will */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`never came true: ${condition.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
