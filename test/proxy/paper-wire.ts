import { geometryFor } from '../../src/core/filter/filter-geometry.ts'
import { PeerTable } from '../../src/core/peers/peer-table.ts'
import { DirUpdatePublisher } from '../../src/core/protocol/dir-update-publisher.ts'
import { paperGeometryFor } from '../../src/core/protocol/paper-hashing.ts'
import { peerBudgets } from '../../src/core/protocol/peer-budgets.ts'
import { UPDATE_PROFILES } from '../../src/core/protocol/update-policy.ts'
import { DirUpdateExchange } from '../../src/proxy/dir-update-exchange.ts'
import type { Clock, DatagramPort, PaperDigestAnswer } from '../../src/proxy/ports.ts'
import type { DatagramDrop, ProxyEvent } from '../../src/proxy/proxy-event.ts'

/** Time that passes when a test says so; whoever sleeps is woken in order, and what follows runs before time goes on. */
export class HandClock implements Clock {
  #nowMs = 0
  readonly #sleepers = new Set<{ readonly atMs: number; readonly wake: () => void }>()

  wallMs(): number {
    return this.#nowMs
  }

  monotonicMs(): number {
    return this.#nowMs
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) {
        resolve()
        return
      }
      const sleeper = {
        atMs: this.#nowMs + ms,
        wake: () => {
          this.#sleepers.delete(sleeper)
          resolve()
        },
      }
      this.#sleepers.add(sleeper)
      signal.addEventListener('abort', sleeper.wake, { once: true })
    })
  }

  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms
    for (;;) {
      await settled()
      const next = [...this.#sleepers].toSorted((a, b) => a.atMs - b.atMs)[0]
      if (next === undefined || next.atMs > endMs) break
      this.#nowMs = next.atMs
      next.wake()
    }
    this.#nowMs = endMs
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** A port whose datagrams go nowhere but into a list. */
class HandDatagrams implements DatagramPort {
  readonly sent: { readonly peer: string; readonly bytes: Uint8Array }[] = []
  readonly admitted = new Map<string, string>()
  dropped: Partial<Record<DatagramDrop, number>> = {}
  /** Brings a datagram of a peer in. */
  arrive: (peer: string, bytes: Uint8Array) => void = () => undefined

  start(receive: (peer: string, bytes: Uint8Array) => void): void {
    this.arrive = receive
  }

  admit(peer: string, address: string): void {
    this.admitted.set(peer, address)
  }

  dismiss(peer: string): void {
    this.admitted.delete(peer)
  }

  send(peer: string, bytes: Uint8Array): void {
    this.sent.push({ peer, bytes })
  }

  takeDropped(): Partial<Record<DatagramDrop, number>> {
    const dropped = this.dropped
    this.dropped = {}
    return dropped
  }
}

export const REFRESH_MS = 30_000

/** One proxy's end of the paper's wire; its peers' whole digests are what `answer` says. */
export class PaperEnd {
  readonly clock: HandClock
  readonly datagrams = new HandDatagrams()
  readonly peers = new PeerTable({
    maxBitCount: 65_536,
    hashing: geometryFor(200),
    heartbeatMs: 5_000,
    budgets: peerBudgets(65_536, 4_096),
  })
  readonly events: ProxyEvent[] = []
  readonly publisher: DirUpdatePublisher
  readonly exchange: DirUpdateExchange
  fetches = 0
  answer: () => PaperDigestAnswer | Promise<PaperDigestAnswer> = () => ({ kind: 'unserved' })

  constructor(clock: HandClock, firstNumber = 0) {
    this.clock = clock
    this.publisher = new DirUpdatePublisher(
      {
        geometry: paperGeometryFor(200),
        policy: UPDATE_PROFILES.fresh(),
        maxAgeMs: 60_000,
        heartbeatMs: REFRESH_MS,
        firstNumber,
      },
      clock.monotonicMs(),
    )
    this.exchange = new DirUpdateExchange({
      peers: this.peers,
      publisher: this.publisher,
      datagrams: this.datagrams,
      digests: {
        fetch: async () => {
          this.fetches++
          return this.answer()
        },
      },
      clock,
      random: { next: () => 0.5 },
      events: { emit: (event) => this.events.push(event) },
      maxBitCount: 65_536,
      refreshMs: REFRESH_MS,
    })
    this.exchange.start()
  }

  /** Follows `other` under that name, whose whole digest is there for the asking. */
  follow(name: string, other: PaperEnd): void {
    this.answer = () => digestOf(other)

    this.exchange.follow({ name, url: `http://${name}`, transport: 'dir-update', updates: `${name}:3130` })
  }

  /** What it has sent to one peer since last asked. */
  takeSent(): Uint8Array[] {
    return this.datagrams.sent.splice(0).map(({ bytes }) => bytes)
  }

  changes(): string[] {
    return this.events.flatMap((event) => (event.kind === 'peer-changed' ? [`${event.state}: ${event.reason}`] : []))
  }
}

export function digestOf(other: PaperEnd): PaperDigestAnswer {
  return { kind: 'digest', ...other.exchange.snapshot(), requestBytes: 100 }
}
