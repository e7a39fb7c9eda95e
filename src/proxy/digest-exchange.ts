import type { Peer } from '../core/peers/peer.ts'
import type { PeerState } from '../core/peers/peer-table.ts'
import type { Publication } from '../core/protocol/digest-publisher.ts'
import type { SummaryCacheProtocol } from '../core/protocol/summary-cache-protocol.ts'
import type { Clock, DigestStream, DigestTransport, EventSink, Random } from './ports.ts'
import type { DigestFrameKind, PeerChanged } from './proxy-event.ts'

/** How often the protocol is asked what is due: a fifth of the freshest profile's age. */
const TICK_MS = 50
// A stream that broke is opened again at once after a clean end, else with growing pauses, so that a dead peer costs a
// connection attempt now and then.
const FIRST_PAUSE_MS = 250
const LAST_PAUSE_MS = 10_000
/** Frames are prefixed by their length. */
const PREFIX_BYTES = 4

export interface DigestExchangeParts {
  readonly protocol: SummaryCacheProtocol
  readonly transport: DigestTransport
  readonly clock: Clock
  readonly random: Random
  readonly events: EventSink
  /** Called on each tick: entries that have gone stale leave the summary. */
  readonly expire: (nowMs: number) => void
}

/** Drives the protocol: publishes what is due, follows every peer's digest (ARCHITECTURE: how data flows, d). */
export class DigestExchange {
  readonly #parts: DigestExchangeParts
  readonly #stopped = new AbortController()
  readonly #followed = new Map<string, AbortController>()
  /** Peers whose replica is being built. */
  readonly #building = new Set<PeerState>()

  constructor(parts: DigestExchangeParts) {
    this.#parts = parts
  }

  start(): void {
    void this.#tickUntilStopped()
  }

  /** Tells the followers goodbye. */
  stop(): void {
    const { protocol, transport } = this.#parts
    this.#stopped.abort()
    for (const following of this.#followed.values()) following.abort()
    const frame = protocol.publisher.goodbye()
    this.#sent('goodbye', frame.length, transport.broadcast(frame))
  }

  /** False: the table is full or the name is taken. */
  follow(peer: Peer): boolean {
    const state = this.#parts.protocol.peers.add(peer)
    if (state === undefined) return false
    state.isConnected = false
    const stop = new AbortController()
    this.#followed.set(peer.name, stop)
    this.#changed(peer.name, 'added', peer.url)
    void this.#followUntil(state, stop.signal)
    return true
  }

  /** False: no peer of this name. */
  leave(name: string): boolean {
    const { protocol } = this.#parts
    this.#followed.get(name)?.abort()
    this.#followed.delete(name)
    if (protocol.peers.remove(name) === undefined) return false
    this.#changed(name, 'removed', 'by command')
    return true
  }

  /** What a new follower is to be sent first. @throws {MalformedMessageError} */
  answer(want: Uint8Array): readonly Uint8Array[] {
    const { clock, events, protocol } = this.#parts
    const frames = protocol.answer(want, clock.monotonicMs())
    events.emit({ kind: 'digest-received', frame: 'want', count: 1, bytes: want.length + PREFIX_BYTES })
    for (const { kind, frame } of frames) this.#sent(kind, frame.length, 1)
    return frames.map(({ frame }) => frame)
  }

  /** Publishes at once what is unpublished, or a new generation. */
  publish(turnOver: boolean): void {
    const { clock, protocol } = this.#parts
    this.#broadcast(protocol.publisher.publish(clock.monotonicMs(), 'command', turnOver))
  }

  async #tickUntilStopped(): Promise<void> {
    const { clock, protocol, expire } = this.#parts
    while (!this.#stopped.signal.aborted) {
      const nowMs = clock.monotonicMs()
      expire(nowMs)
      this.#broadcast(protocol.tick(nowMs))
      // Its state may have to be moved beside those of other peers that have come or gone.
      for (const state of protocol.peers.all()) {
        const following = this.#followed.get(state.peer.name)
        if (state.digest.hasWork && following !== undefined) void this.#build(state, following.signal)
      }
      await clock.sleep(TICK_MS, this.#stopped.signal)
    }
  }

  #broadcast(due: Publication | undefined): void {
    if (due === undefined) return
    const { events, protocol, transport } = this.#parts
    this.#sent(due.kind, due.frame.length, transport.broadcast(due.frame))
    const { incarnation, generation, sequence } = protocol.publisher.name
    if (sequence === 0 && due.kind !== 'heartbeat') {
      events.emit({ kind: 'digest-turned', incarnation, generation, reason: due.reason })
    }
  }

  async #followUntil(state: PeerState, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#parts
    let failures = 0
    while (!signal.aborted) {
      const before = state.digest.state
      const end = await this.#stream(state, signal)
      if (signal.aborted) return
      // Only what has been proved counts as progress: who sends the same wrong frames again has to wait.
      failures = state.digest.state !== before ? 0 : failures + 1
      if (end.again && failures === 0) continue
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** failures, LAST_PAUSE_MS)
      // Half of it by chance: peers that lost the same one do not come back all at once.
      await clock.sleep(pauseMs * (0.5 + random.next() / 2), signal)
    }
  }

  /** One stream of a peer's digest, from asking for it to its end. */
  #stream(state: PeerState, signal: AbortSignal): Promise<{ again: boolean }> {
    const { clock, protocol, transport } = this.#parts
    const { peer, index } = state
    return new Promise((resolve) => {
      let again = false
      let left = false
      let refused: string | undefined
      const want = state.digest.want()
      let stream: DigestStream | undefined
      const close = (): void => stream?.close()
      stream = transport.follow(peer, want, {
        opened: () => {
          state.isConnected = true
          this.#sent('want', want.length, 1)
          this.#changed(peer.name, 'connected', peer.url)
        },
        frame: (bytes) => {
          const nowMs = clock.monotonicMs()
          const received = protocol.receive(index, bytes, nowMs)
          if (received === undefined) return
          if (received.refused !== undefined) {
            refused = received.refused
            this.#changed(peer.name, 'refused', refused)
            close()
            return
          }
          left = received.merge === 'left'
          if (received.kind !== undefined) this.#received(received.kind, bytes.length)
          if (state.health.heard(nowMs)) this.#changed(peer.name, 'recovered', 'heard of again')
          if (received.merge === 'building') void this.#build(state, signal)
          // What we lack is asked for by a new stream that says what we have.
          if (received.lacks && !again && !left) {
            again = true
            close()
          }
        },
        closed: (reason) => {
          signal.removeEventListener('abort', close)
          // A stream that is opened again to ask for more leaves the peer as it was.
          if (!again) {
            state.isConnected = false
            if (!signal.aborted)
              this.#changed(peer.name, 'disconnected', refused ?? (left ? 'it said goodbye' : reason))
          }
          resolve({ again })
        },
      })
      if (signal.aborted) close()
      else signal.addEventListener('abort', close, { once: true })
    })
  }

  /** Builds a snapshot or turnover in slices, between which requests are served. */
  async #build(state: PeerState, signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts
    if (this.#building.has(state)) return
    this.#building.add(state)
    while (!signal.aborted && state.digest.work(clock.monotonicMs())) await clock.sleep(0, signal)
    this.#building.delete(state)
  }

  #sent(frame: DigestFrameKind, frameBytes: number, count: number): void {
    if (count > 0) this.#parts.events.emit({ kind: 'digest-sent', frame, count, bytes: frameBytes + PREFIX_BYTES })
  }

  #received(frame: DigestFrameKind, frameBytes: number): void {
    this.#parts.events.emit({ kind: 'digest-received', frame, count: 1, bytes: frameBytes + PREFIX_BYTES })
  }

  #changed(peer: string, state: PeerChanged['state'], reason: string): void {
    this.#parts.events.emit({ kind: 'peer-changed', peer, state, reason })
  }
}
