import { MAX_PEERS } from '../core/peers/peer-table.ts'
import type { Peer } from '../core/peers/peer.ts'
import { TokenBucket } from '../core/peers/token-bucket.ts'
import type { Publication } from '../core/protocol/digest-publisher.ts'
import { DigestFollowing, PREFIX_BYTES, type DigestFollowingParts } from './digest-following.ts'
import { BudgetError, type DigestSource, type EncodedSnapshot, type ProtocolVersion } from './ports.ts'
import type { DigestFrameKind, PeerChanged } from './proxy-event.ts'
import { inSlices } from './slices.ts'

/** How often the protocol is asked what is due: a fifth of the freshest profile's age. */
const TICK_MS = 50
/** Steps of a turn of what is done in slices: some tens of microseconds. */
const TURN_STEPS = 512

export interface DigestExchangeParts extends DigestFollowingParts {
  /** Called on each tick: entries that have gone stale leave the summary. */
  readonly expire: (nowMs: number) => void
}

/** Drives the protocol: publishes what is due, answers followers, follows every peer's digest (ARCHITECTURE: how data flows, d). */
export class DigestExchange implements DigestSource {
  readonly #parts: DigestExchangeParts
  readonly #stopped = new AbortController()
  readonly #followed = new Map<string, DigestFollowing>()
  /** What askers may still ask for; those heard of longest ago first. */
  readonly #askers = new Map<string, TokenBucket>()
  #turning: Promise<void> | undefined

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
    for (const following of this.#followed.values()) following.stop()
    const frame = protocol.publisher.goodbye()
    this.#sent('goodbye', frame.length + PREFIX_BYTES, transport.broadcast(frame))
  }

  /** False: the table is full or the name is taken. */
  follow(peer: Peer): boolean {
    const state = this.#parts.protocol.peers.add(peer)
    if (state === undefined) return false
    state.isConnected = false
    const following = new DigestFollowing(this.#parts, state)
    this.#followed.set(peer.name, following)
    this.#changed(peer.name, 'added', peer.url)
    void following.run()
    return true
  }

  /** False: no peer of this name. */
  leave(name: string): boolean {
    const { protocol } = this.#parts
    this.#followed.get(name)?.stop()
    this.#followed.delete(name)
    if (protocol.peers.remove(name) === undefined) return false
    this.#changed(name, 'removed', 'by command')
    return true
  }

  async answer(
    asker: string,
    want: Uint8Array,
    version: ProtocolVersion,
    deliver: (frames: readonly Uint8Array[]) => void,
  ): Promise<void> {
    const { clock, events, protocol } = this.#parts
    this.#allow(asker, want.length)
    const answer = protocol.answer(want, version === 1)
    events.emit({ kind: 'digest-received', peer: asker, frame: 'want', count: 1, bytes: want.length + PREFIX_BYTES })
    await inSlices(() => answer.work(TURN_STEPS, clock.monotonicMs()), clock, this.#stopped.signal)
    const frames = answer.frames(clock.monotonicMs())
    for (const { kind, frame } of frames) {
      this.#charge(asker, frame.length)
      this.#sent(kind, frame.length + PREFIX_BYTES, 1)
    }
    deliver(frames.map(({ frame }) => frame))
  }

  async snapshot(asker: string, tag: string | undefined): Promise<EncodedSnapshot> {
    this.#allow(asker, 0)
    const snapshot = await this.#snapshot(tag)
    this.#charge(asker, snapshot.frame.length)
    this.#sent('snapshot', snapshot.frame.length, 1)
    return snapshot
  }

  /** Publishes at once what is unpublished. */
  publish(): void {
    const { clock, protocol } = this.#parts
    this.#broadcast(protocol.publisher.publish(clock.monotonicMs(), 'command'))
  }

  /** Resolves when a new generation has been published. */
  async newGeneration(): Promise<void> {
    const { publisher } = this.#parts.protocol
    // One that is under way may have begun before what the operator wants to have in it.
    await this.#turning
    publisher.beginGeneration({ reason: 'command', refill: publisher.summary.geometry })
    await this.#turn()
  }

  async #snapshot(tag: string | undefined): Promise<EncodedSnapshot> {
    const { clock, protocol } = this.#parts
    const { publisher } = protocol
    const { signal } = this.#stopped
    for (;;) {
      const kept = publisher.keptSnapshot(tag)
      if (kept !== undefined) return kept
      await inSlices(() => publisher.encodeSnapshot(TURN_STEPS, clock.monotonicMs()), clock, signal)
      if (signal.aborted) throw new BudgetError('stopping', 1_000)
    }
  }

  async #tickUntilStopped(): Promise<void> {
    const { clock, protocol, expire } = this.#parts
    const { publisher } = protocol
    while (!this.#stopped.signal.aborted) {
      const nowMs = clock.monotonicMs()
      expire(nowMs)
      this.#broadcast(protocol.tick(nowMs))
      if (publisher.hasWork) void this.#turn()
      // Their states may have to be moved beside those of other peers that have come or gone.
      for (const following of this.#followed.values()) following.build()
      await clock.sleep(TICK_MS, this.#stopped.signal)
    }
  }

  /** Works on the next generation until it is published. */
  #turn(): Promise<void> {
    this.#turning ??= this.#turnInSlices()
    return this.#turning
  }

  async #turnInSlices(): Promise<void> {
    const { clock, protocol } = this.#parts
    const { publisher } = protocol
    const turn = (): boolean => {
      this.#broadcast(publisher.work(TURN_STEPS, clock.monotonicMs()))
      return publisher.hasWork
    }
    await inSlices(turn, clock, this.#stopped.signal)
    this.#turning = undefined
  }

  #broadcast(due: Publication | undefined): void {
    if (due === undefined) return
    const { events, protocol, transport } = this.#parts
    this.#sent(due.kind, due.frame.length + PREFIX_BYTES, transport.broadcast(due.frame))
    if (due.reason === 'idle') return
    const { incarnation, generation, sequence } = protocol.publisher.name
    if (sequence === 0) events.emit({ kind: 'digest-turned', incarnation, generation, reason: due.reason })
  }

  /** @throws {BudgetError} */
  #allow(asker: string, bytes: number): void {
    const nowMs = this.#parts.clock.monotonicMs()
    const bucket = this.#askers.get(asker) ?? new TokenBucket(this.#parts.protocol.budgets.sentBytes)
    // Insertion order is order in time.
    this.#askers.delete(asker)
    this.#askers.set(asker, bucket)
    if (this.#askers.size > MAX_PEERS) this.#askers.delete(this.#askers.keys().next().value!)
    if (!bucket.take(bytes, nowMs)) {
      throw new BudgetError(`${asker} has asked for more than any digest needs`, bucket.waitMs(nowMs))
    }
  }

  #charge(asker: string, bytes: number): void {
    this.#askers.get(asker)?.take(bytes, this.#parts.clock.monotonicMs())
  }

  #sent(frame: DigestFrameKind, bytes: number, count: number): void {
    if (count > 0) this.#parts.events.emit({ kind: 'digest-sent', frame, count, bytes })
  }

  #changed(peer: string, state: PeerChanged['state'], reason: string): void {
    this.#parts.events.emit({ kind: 'peer-changed', peer, state, reason })
  }
}
