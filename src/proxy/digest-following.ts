import type { DigestName } from '../core/digest/digest-name.ts'
import { compareNames } from '../core/digest/digest-name.ts'
import type { PeerState } from '../core/peers/peer-table.ts'
import type { SummaryCacheProtocol } from '../core/protocol/summary-cache-protocol.ts'
import { PartialSnapshot } from './partial-snapshot.ts'
import {
  FetchError,
  type Clock,
  type DigestStream,
  type DigestTransport,
  type EventSink,
  type ProtocolVersion,
  type Random,
} from './ports.ts'
import type { DigestFrameKind, PeerChanged } from './proxy-event.ts'
import { inSlices } from './slices.ts'

export interface DigestFollowingParts {
  readonly protocol: SummaryCacheProtocol
  readonly transport: DigestTransport
  readonly clock: Clock
  readonly random: Random
  readonly events: EventSink
  /** A longer snapshot is refused. */
  readonly maxFrameBytes: number
}

// A stream that broke is opened again at once after a clean end, else with growing pauses, so that a dead peer costs a
// connection attempt now and then.
const FIRST_PAUSE_MS = 250
const LAST_PAUSE_MS = 10_000
/** Between questions beside a stream that lives: the peer is there, and only messages were lost. */
const LAST_MEND_PAUSE_MS = 400
/** A question that is lost is asked again; where that is no help, the way is slow, and it gets twice as long each time. */
const ASK_MS = 1_000
const QUICK_ASKS = 4
const LONGEST_ASK_MS = 16_000
/** Snapshots in a row that did not bring the replica on, before the peer is set aside. */
const MAX_VAIN_SNAPSHOTS = 3
/** Frames in a stream are prefixed by their length. */
export const PREFIX_BYTES = 4

/** How a stream ended: `again`, to say what we have by a new one. */
interface StreamEnd {
  readonly again: boolean
}

/** One peer's digest, followed: its stream, what is asked for beside it, and what is built of both. */
export class DigestFollowing {
  readonly #parts: DigestFollowingParts
  readonly #state: PeerState
  readonly #stop = new AbortController()
  readonly #partial: PartialSnapshot
  #isBuilding = false
  #isMending = false
  /** What we said we had when we asked and were answered last, while that has not brought us on. */
  #answeredFrom: DigestName | undefined
  #vainSnapshots = 0

  constructor(parts: DigestFollowingParts, state: PeerState) {
    this.#parts = parts
    this.#state = state
    this.#partial = new PartialSnapshot(parts.maxFrameBytes)
  }

  /** Follows until `stop`. */
  async run(): Promise<void> {
    const { clock, random } = this.#parts
    const { signal } = this.#stop
    let failures = 0
    while (!signal.aborted) {
      const before = this.#state.digest.state
      const end = await this.#stream()
      if (signal.aborted) return
      // Only what has been proved counts as progress: who sends the same wrong frames again has to wait.
      failures = this.#state.digest.state !== before ? 0 : failures + 1
      if (end.again && failures === 0) continue
      await clock.sleep(pauseMs(failures, LAST_PAUSE_MS, random), signal)
    }
  }

  stop(): void {
    this.#stop.abort()
  }

  /** Builds what has come, and moves what is to lie elsewhere, in slices. */
  build(): void {
    if (this.#isBuilding || !this.#state.digest.hasWork) return
    void this.#buildInSlices(this.#stop.signal)
  }

  async #buildInSlices(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts
    this.#isBuilding = true
    await inSlices(() => this.#state.digest.work(clock.monotonicMs()), clock, signal)
    this.#isBuilding = false
  }

  /** One stream of the peer's digest, from asking for it to its end. */
  #stream(): Promise<StreamEnd> {
    const { transport } = this.#parts
    const { digest, peer } = this.#state
    const { signal } = this.#stop
    return new Promise((resolve) => {
      let again = false
      let left = false
      let refused: string | undefined
      let version: ProtocolVersion = 2
      const ended = new AbortController()
      const want = digest.want()
      this.#answeredFrom = digest.replica.have
      let stream: DigestStream | undefined
      const close = (): void => stream?.close()
      const refuse = (reason: string): void => {
        refused = reason
        this.#changed('refused', reason)
        close()
      }
      stream = transport.follow(peer, want, {
        opened: (spoken) => {
          version = spoken
          this.#sent('want', want.length + PREFIX_BYTES)
          this.#changed('connected', peer.url)
        },
        frame: (bytes) => {
          const received = this.#receive(bytes, PREFIX_BYTES)
          if (received === undefined || refused !== undefined) return
          // Not before: what is held may be of a life that is over, and only the publisher's own word tells.
          if (received.refused === undefined && !received.left) this.#state.isConnected = true
          left = received.left
          if (received.refused !== undefined) refuse(received.refused)
          else if (!received.lacks || left) return
          else if (version === 2) void this.#mend(ended.signal, refuse)
          else if (!again) {
            // What we lack is asked for by a new stream that says what we have.
            again = true
            close()
          }
        },
        closed: (reason) => {
          signal.removeEventListener('abort', close)
          ended.abort()
          // A stream that is opened again to ask for more leaves the peer as it was.
          if (!again) {
            this.#state.isConnected = false
            if (!signal.aborted) this.#changed('disconnected', refused ?? (left ? 'it said goodbye' : reason))
          }
          resolve({ again })
        },
      })
      if (signal.aborted) close()
      else signal.addEventListener('abort', close, { once: true })
    })
  }

  /** Takes a frame in. Undefined: the peer has been removed. */
  #receive(
    frame: Uint8Array,
    prefixBytes: number,
  ): { readonly lacks: boolean; readonly left: boolean; readonly refused: string | undefined } | undefined {
    const { clock, events, protocol } = this.#parts
    const { health, index, peer } = this.#state
    const nowMs = clock.monotonicMs()
    const received = protocol.receive(index, frame, nowMs)
    if (received === undefined) return undefined
    if (received.refused !== undefined) return { lacks: false, left: false, refused: received.refused }
    if (received.kind !== undefined) {
      events.emit({
        kind: 'digest-received',
        peer: peer.name,
        frame: received.kind,
        count: 1,
        bytes: frame.length + prefixBytes,
      })
    }
    if (health.heard(nowMs)) this.#changed('recovered', 'heard of again')
    if (received.merge === 'applied' || received.merge === 'proved') this.#broughtOn()
    this.build()
    return { lacks: received.lacks, left: received.merge === 'left', refused: undefined }
  }

  #broughtOn(): void {
    this.#answeredFrom = undefined
    this.#vainSnapshots = 0
  }

  /** Gets what is missing, beside the stream, which goes on (PROTOCOL rule 2). */
  async #mend(ended: AbortSignal, refuse: (reason: string) => void): Promise<void> {
    if (this.#isMending) return
    this.#isMending = true
    const { clock, random } = this.#parts
    const { digest } = this.#state
    let failures = 0
    while (!ended.aborted && digest.replica.lacks) {
      const before = digest.replica.have
      const bytesBefore = this.#partial.receivedBytes
      const problem = await this.#getMissing(ended, askTimeMs(failures))
      if (problem !== undefined) refuse(problem)
      if (this.#vainSnapshots >= MAX_VAIN_SNAPSHOTS) refuse('what it sends is not what its checksums say')
      const isStill = sameName(before, digest.replica.have) && this.#partial.receivedBytes === bytesBefore
      failures = isStill ? failures + 1 : 0
      if (failures > 0 && !ended.aborted) await clock.sleep(pauseMs(failures - 1, LAST_MEND_PAUSE_MS, random), ended)
    }
    this.#isMending = false
  }

  /** One question. Returns why the peer is to be refused. */
  async #getMissing(ended: AbortSignal, askMs: number): Promise<string | undefined> {
    const { digest } = this.#state
    const want = digest.wantOfGap()
    const { have } = digest.replica
    try {
      if (want === undefined || sameName(have, this.#answeredFrom)) return await this.#readSnapshot(ended)
      const refused = await this.#ask(want, ended, askMs)
      this.#answeredFrom = have
      return refused
    } catch (error) {
      if (!(error instanceof FetchError)) throw error
      return undefined
    }
  }

  async #ask(want: Uint8Array, ended: AbortSignal, askMs: number): Promise<string | undefined> {
    const { clock, transport } = this.#parts
    this.#sent('want', want.length)
    const [late, answered] = [new AbortController(), new AbortController()]
    void abortAfter(late, askMs, clock, answered.signal)
    let frames: readonly Uint8Array[]
    try {
      frames = await transport.ask(this.#state.peer, want, AbortSignal.any([ended, late.signal]))
    } finally {
      answered.abort()
    }
    for (const frame of frames) {
      const refused = this.#receive(frame, PREFIX_BYTES)?.refused
      if (refused !== undefined) return refused
    }
    return undefined
  }

  async #readSnapshot(ended: AbortSignal): Promise<string | undefined> {
    const { transport } = this.#parts
    const { digest, peer } = this.#state
    await transport.readSnapshot(peer, this.#partial, ended)
    const { frame } = this.#partial
    this.#partial.clear()
    const refused = this.#receive(frame, 0)?.refused
    // Only then is it known whether it proves what it says.
    await this.#buildInSlices(ended)
    if (digest.replica.lastRefusal === undefined) this.#broughtOn()
    else this.#vainSnapshots++
    return refused
  }

  #sent(frame: DigestFrameKind, bytes: number): void {
    this.#parts.events.emit({ kind: 'digest-sent', frame, count: 1, bytes })
  }

  #changed(state: PeerChanged['state'], reason: string): void {
    this.#parts.events.emit({ kind: 'peer-changed', peer: this.#state.peer.name, state, reason })
  }
}

function askTimeMs(failures: number): number {
  return Math.min(ASK_MS * 2 ** Math.max(0, failures + 1 - QUICK_ASKS), LONGEST_ASK_MS)
}

async function abortAfter(late: AbortController, ms: number, clock: Clock, notNeeded: AbortSignal): Promise<void> {
  await clock.sleep(ms, notNeeded)
  if (!notNeeded.aborted) late.abort()
}

/** Half of it by chance: peers that lost the same one do not come back all at once. */
function pauseMs(failures: number, longestMs: number, random: Random): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** failures, longestMs) * (0.5 + random.next() / 2)
}

function sameName(a: DigestName | undefined, b: DigestName | undefined): boolean {
  return a === undefined || b === undefined ? a === b : compareNames(a, b) === 0
}
