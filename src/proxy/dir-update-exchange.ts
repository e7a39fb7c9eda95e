import assert from 'node:assert'
import type { Peer } from '../core/peers/peer.ts'
import type { PeerState, PeerTable } from '../core/peers/peer-table.ts'
import type { DirUpdatePublisher, PaperSnapshot } from '../core/protocol/dir-update-publisher.ts'
import { hasRecords } from '../core/protocol/dir-update-message.ts'
import { PaperReplica } from '../core/protocol/paper-replica.ts'
import type { Clock, DatagramPort, EventSink, PaperDigestFetch, PeerFollowing, Random } from './ports.ts'
import { DATAGRAM_DROPS, type DatagramDrop, type DigestFrameKind, type PeerChanged } from './proxy-event.ts'

export interface DirUpdateExchangeParts {
  readonly peers: PeerTable
  readonly publisher: DirUpdatePublisher
  readonly datagrams: DatagramPort
  readonly digests: PaperDigestFetch
  readonly clock: Clock
  readonly random: Random
  readonly events: EventSink
  /** A peer's digest with more bits is refused. */
  readonly maxBitCount: number
  /** Between two fetches of a peer's whole digest; three without a sign of it, and it is not consulted. */
  readonly refreshMs: number
}

const TICK_MS = 50
/** 640 a second to each peer: below what a receiver of ours reads, and short enough bursts for its socket's buffer. */
const DATAGRAMS_PER_TICK = 32
/** Where updates were lost a digest is fetched before its time, but so many times in one interval at most. */
const REPAIRS_PER_INTERVAL = 10
// As for digest streams: a dead peer costs a connection attempt now and then.
const FIRST_PAUSE_MS = 250
const LAST_PAUSE_MS = 10_000
const TELL_EVERY_MS = 1_000

interface Followed {
  readonly state: PeerState
  readonly replica: PaperReplica
  readonly stop: AbortController
  refreshDueMs: number
  refreshedAtMs: number
  isRefreshing: boolean
  failures: number
  /** It could not be reached, or was suspended: its array is re-initialised when it is back. */
  hasFailed: boolean
  /** When a refusal of its updates may be told again. */
  refusalTellableMs: number
}

/**
 * Drives the paper's wire: sends what our second summary has changed, keeps a replica for each peer on that wire, and fetches
 * the whole of it now and then, which mends what was lost on the way.
 */
export class DirUpdateExchange implements PeerFollowing {
  readonly #parts: DirUpdateExchangeParts
  readonly #stopped = new AbortController()
  readonly #followed = new Map<string, Followed>()
  readonly #dropped = new Map<DatagramDrop, number>()
  #droppedToldMs = -Infinity

  constructor(parts: DirUpdateExchangeParts) {
    this.#parts = parts
  }

  start(): void {
    this.#parts.datagrams.start((peer, bytes) => this.#receive(peer, bytes))
    void this.#tickUntilStopped()
  }

  stop(): void {
    this.#stopped.abort()
    for (const { stop } of this.#followed.values()) stop.abort()
  }

  follow(peer: Peer): boolean {
    const { clock, datagrams, maxBitCount, peers, refreshMs } = this.#parts
    assert(peer.updates !== undefined, 'a peer of the paper’s wire without an address for updates')
    const replica = new PaperReplica({ maxBitCount, staleAfterMs: 3 * refreshMs })
    const state = peers.add(peer, replica)
    if (state === undefined) return false
    state.isConnected = false
    this.#followed.set(peer.name, {
      state,
      replica,
      stop: new AbortController(),
      refreshDueMs: clock.monotonicMs(),
      refreshedAtMs: -Infinity,
      isRefreshing: false,
      failures: 0,
      hasFailed: false,
      refusalTellableMs: -Infinity,
    })
    datagrams.admit(peer.name, peer.updates)
    this.#changed(peer.name, 'added', `${peer.url}, updates ${peer.updates}`)
    return true
  }

  leave(name: string): boolean {
    const followed = this.#followed.get(name)
    if (followed === undefined) return false
    followed.stop.abort()
    this.#followed.delete(name)
    this.#parts.datagrams.dismiss(name)
    this.#parts.peers.remove(name)
    this.#changed(name, 'removed', 'by command')
    return true
  }

  /** Sends at once what has changed. */
  publish(): void {
    this.#parts.publisher.publish()
    this.#send()
  }

  /** Our whole digest, for a peer that asks. */
  snapshot(): PaperSnapshot {
    const snapshot = this.#parts.publisher.snapshot()
    this.#sent('snapshot', snapshot.filter.length, 1)
    return snapshot
  }

  async #tickUntilStopped(): Promise<void> {
    const { clock } = this.#parts
    while (!this.#stopped.signal.aborted) {
      this.#send()
      const nowMs = clock.monotonicMs()
      for (const followed of this.#followed.values()) this.#look(followed, nowMs)
      this.#tellDropped(nowMs)
      await clock.sleep(TICK_MS, this.#stopped.signal)
    }
  }

  #send(): void {
    const { clock, datagrams, publisher } = this.#parts
    for (const bytes of publisher.tick(clock.monotonicMs(), DATAGRAMS_PER_TICK)) {
      for (const name of this.#followed.keys()) datagrams.send(name, bytes)
      this.#sent(hasRecords(bytes) ? 'delta' : 'heartbeat', bytes.length, this.#followed.size)
    }
  }

  /** What is due for one peer. */
  #look(followed: Followed, nowMs: number): void {
    const { refreshMs } = this.#parts
    const { replica, state } = followed
    if (!state.health.mayBeAsked && !followed.hasFailed) {
      followed.hasFailed = true
      // Not before it may come back: the fetch is what finds that out, and no client's request.
      followed.refreshDueMs = state.health.retryAtMs
    }
    const repairDueMs = followed.refreshedAtMs + refreshMs / REPAIRS_PER_INTERVAL
    const dueMs = replica.lacks ? Math.min(followed.refreshDueMs, repairDueMs) : followed.refreshDueMs
    if (nowMs >= dueMs && !followed.isRefreshing) void this.#refresh(followed)
  }

  #receive(name: string, bytes: Uint8Array): void {
    const followed = this.#followed.get(name)
    if (followed === undefined) return
    const nowMs = this.#parts.clock.monotonicMs()
    // What it says now is of its new life; what we knew is of the one before.
    if (this.#isBack(followed, nowMs)) followed.refreshDueMs = followed.refreshedAtMs + FIRST_PAUSE_MS
    const received = followed.replica.receive(bytes, nowMs)
    if (received.outcome !== 'refused') {
      this.#received(name, hasRecords(bytes) ? 'delta' : 'heartbeat', bytes.length)
      return
    }
    this.#count('malformed', 1)
    if (nowMs < followed.refusalTellableMs) return
    followed.refusalTellableMs = nowMs + TELL_EVERY_MS
    this.#changed(name, 'refused', received.reason)
  }

  async #refresh(followed: Followed): Promise<void> {
    const { clock, digests, random, refreshMs } = this.#parts
    const { replica, state, stop } = followed
    followed.isRefreshing = true
    replica.expectSnapshot()
    const answer = await digests.fetch(state.peer, stop.signal)
    if (stop.signal.aborted) return
    const nowMs = clock.monotonicMs()
    let problem: string | undefined
    if (answer.kind === 'failed') {
      problem = answer.reason
    } else {
      this.#isBack(followed, nowMs)
      if (answer.kind === 'digest') {
        this.#sent('want', answer.requestBytes, 1)
        this.#received(state.peer.name, 'snapshot', answer.filter.length)
        problem = replica.load(answer.filter, answer.requestNumber, nowMs)
      }
    }
    if (answer.kind !== 'digest' || problem !== undefined) replica.forgetSnapshot()
    followed.isRefreshing = false
    followed.refreshedAtMs = nowMs
    followed.failures = problem === undefined ? 0 : followed.failures + 1
    if (problem === undefined) {
      // A tenth by chance: peers that started together do not all fetch together.
      followed.refreshDueMs = nowMs + refreshMs * (0.9 + random.next() / 10)
      if (!state.isConnected) this.#connected(followed, answer.kind === 'digest')
      return
    }
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** followed.failures, LAST_PAUSE_MS)
    followed.refreshDueMs = nowMs + pauseMs * (0.5 + random.next() / 2)
    followed.hasFailed = true
    const wasConnected = state.isConnected
    state.isConnected = false
    if (wasConnected || followed.failures === 1) {
      this.#changed(state.peer.name, answer.kind === 'failed' ? 'disconnected' : 'refused', problem)
    }
  }

  #connected({ state }: Followed, servesDigest: boolean): void {
    state.isConnected = true
    // It learns of our life, and of its number, before we have anything to tell.
    this.#parts.publisher.greet()
    const how = servesDigest ? '' : '; it serves no whole digest, so that only its updates tell of it'
    this.#changed(state.peer.name, 'connected', `${state.peer.url}${how}`)
  }

  /** A sign of life. Returns whether it was the first since a failure: then what was known of the peer is void. */
  #isBack(followed: Followed, nowMs: number): boolean {
    const { replica, state } = followed
    if (!state.health.mayBeAsked) {
      if (!state.health.heard(nowMs)) return false
      this.#changed(state.peer.name, 'recovered', 'heard of again')
    }
    if (!followed.hasFailed) return false
    followed.hasFailed = false
    replica.restart()
    return true
  }

  #count(cause: DatagramDrop, count: number): void {
    this.#dropped.set(cause, (this.#dropped.get(cause) ?? 0) + count)
  }

  #tellDropped(nowMs: number): void {
    if (nowMs - this.#droppedToldMs < TELL_EVERY_MS) return
    this.#droppedToldMs = nowMs
    const ofPort = this.#parts.datagrams.takeDropped()
    for (const cause of DATAGRAM_DROPS) {
      const count = (this.#dropped.get(cause) ?? 0) + (ofPort[cause] ?? 0)
      if (count > 0) this.#parts.events.emit({ kind: 'datagrams-dropped', cause, count })
    }
    this.#dropped.clear()
  }

  #sent(frame: DigestFrameKind, bytes: number, count: number): void {
    if (count > 0) this.#parts.events.emit({ kind: 'digest-sent', frame, count, bytes })
  }

  #received(peer: string, frame: DigestFrameKind, bytes: number): void {
    this.#parts.events.emit({ kind: 'digest-received', peer, frame, count: 1, bytes })
  }

  #changed(peer: string, state: PeerChanged['state'], reason: string): void {
    this.#parts.events.emit({ kind: 'peer-changed', peer, state, reason })
  }
}
