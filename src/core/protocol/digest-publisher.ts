import {
  encodeDelta,
  encodeGoodbye,
  encodeHeartbeat,
  encodeTurnover,
  turnoverFrameBytes,
} from '../digest/digest-codec.ts'
import { encodeSnapshot, snapshotFrameBytes } from '../digest/snapshot-encoder.ts'
import { compareNames, type DigestName } from '../digest/digest-name.ts'
import type { StateHead } from '../digest/state-head.ts'
import type { FilterGeometry } from '../filter/filter-geometry.ts'
import type { KeyHash } from '../filter/key-hash.ts'
import { Summary } from '../filter/summary.ts'
import type { PublishReason, UpdatePolicy } from './update-policy.ts'

export interface PublisherOptions {
  readonly incarnation: number
  readonly geometry: FilterGeometry
  readonly policy: UpdatePolicy
  /** A generation ends when this share of the published bits is pending clear; 0.03 by default (PROTOCOL rule 3). */
  readonly pendingClearShare: number
  readonly generationAgeMs: number
  /** Between two frames when nothing changes. */
  readonly heartbeatMs: number
}

export type UpdateReason = PublishReason | 'pending-clears' | 'generation-age' | 'command'

export interface OutgoingFrame {
  readonly kind: 'delta' | 'turnover' | 'snapshot' | 'heartbeat'
  readonly frame: Uint8Array
}

/** A frame for every follower. */
export interface Publication extends OutgoingFrame {
  readonly reason: UpdateReason | 'idle'
}

/** A published step, kept for peers that missed it. */
interface LoggedStep extends OutgoingFrame {
  readonly from: DigestName
}

/** An encoded snapshot is kept this long for the followers that come together after a cut (PROTOCOL rule 2). */
const SNAPSHOT_KEPT_MS = 30_000

/**
 * Our own digest as others see it: what has been published, under which names, and what is due next
 * (PROTOCOL rules 2, 3, 6 and 7). Knows neither peers nor sockets: frames come out, someone sends them.
 */
export class DigestPublisher {
  readonly summary: Summary
  readonly #options: PublisherOptions
  #name: DigestName
  #steps: LoggedStep[] = []
  #stepBytes = 0
  #snapshot: { readonly frame: Uint8Array; readonly atMs: number } | undefined
  #newDocuments = 0
  #localMisses = 0
  #nowMs: number
  #changedAtMs = Infinity
  #turnoverDueAtMs = Infinity
  #lastFrameMs: number
  #generationStartMs: number
  #lastReason: UpdateReason | 'start' = 'start'

  constructor(options: PublisherOptions, nowMs: number) {
    this.#options = options
    this.summary = new Summary(options.geometry)
    this.#name = { incarnation: options.incarnation, generation: 0, sequence: 0 }
    this.#nowMs = nowMs
    this.#lastFrameMs = nowMs
    this.#generationStartMs = nowMs
  }

  /** The state published last. */
  get name(): DigestName {
    return this.#name
  }

  get lastReason(): UpdateReason | 'start' {
    return this.#lastReason
  }

  claimed(key: KeyHash): void {
    this.summary.add(key)
    this.#newDocuments++
    // The time of the last tick: at most one tick too old, so that an age is never understated.
    if (this.summary.openChangeCount > 0) this.#changedAtMs = Math.min(this.#changedAtMs, this.#nowMs)
  }

  unclaimed(key: KeyHash): void {
    this.summary.remove(key)
    if (this.#clearsExceedShare()) this.#turnoverDueAtMs = Math.min(this.#turnoverDueAtMs, this.#nowMs)
  }

  localMiss(): void {
    this.#localMisses++
  }

  /** What is due at `nowMs`; undefined: nothing. */
  tick(nowMs: number): Publication | undefined {
    this.#nowMs = nowMs
    const reason = this.#due(nowMs)
    if (reason !== undefined) return this.publish(nowMs, reason)
    if (nowMs - this.#lastFrameMs < this.#options.heartbeatMs) return undefined
    this.#lastFrameMs = nowMs
    return { ...this.#heartbeat(nowMs), reason: 'idle' }
  }

  /** Publishes now: a turnover when pending clears ask for one or `turnOver` says so, else the open delta. */
  publish(nowMs: number, reason: UpdateReason, turnOver = false): Publication | undefined {
    this.#nowMs = nowMs
    const starts = turnOver || reason === 'generation-age' || this.#clearsExceedShare()
    if (!starts && this.summary.openChangeCount === 0) {
      this.#changedAtMs = Infinity
      return undefined
    }
    const ageMs = this.#changeAgeMs(nowMs)
    const published = starts ? this.#turnOver(ageMs) : this.#delta(ageMs)
    this.#snapshot = published.kind === 'snapshot' ? { frame: published.frame, atMs: nowMs } : undefined
    this.#newDocuments = 0
    this.#localMisses = 0
    this.#changedAtMs = Infinity
    this.#turnoverDueAtMs = Infinity
    this.#lastFrameMs = nowMs
    this.#lastReason = reason
    return { ...published, reason }
  }

  /**
   * The frames that bring a follower from `have` to the state published last: a chain of kept steps where it is no
   * larger than a snapshot, else a snapshot (PROTOCOL rule 2); a heartbeat when it is there already.
   */
  catchUp(have: DigestName | undefined, nowMs: number): readonly OutgoingFrame[] {
    if (have !== undefined && compareNames(have, this.#name) === 0) return [this.#heartbeat(nowMs)]
    const snapshot = this.#snapshotFrame(nowMs)
    const first = have === undefined ? -1 : this.#steps.findIndex((step) => compareNames(step.from, have) === 0)
    if (first >= 0) {
      const steps = this.#steps.slice(first)
      if (steps.reduce((total, step) => total + step.frame.length, 0) <= snapshot.frame.length) return steps
    }
    const frame: OutgoingFrame = { kind: 'snapshot', frame: snapshot.frame }
    // One encoded before now says how old its oldest change was then; a heartbeat says how old it is.
    return snapshot.atMs === nowMs ? [frame] : [frame, this.#heartbeat(nowMs)]
  }

  /** The state published last, whole. */
  snapshot(nowMs: number): Uint8Array {
    return this.#snapshotFrame(nowMs).frame
  }

  goodbye(): Uint8Array {
    return encodeGoodbye(this.#name)
  }

  #due(nowMs: number): UpdateReason | undefined {
    const { policy, generationAgeMs } = this.#options
    if (nowMs - this.#generationStartMs >= generationAgeMs) return 'generation-age'
    if (this.summary.openChangeCount > 0) {
      const reason = policy.due({
        newDocuments: this.#newDocuments,
        documents: this.summary.entryCount,
        localMisses: this.#localMisses,
        changeAgeMs: this.#changeAgeMs(nowMs),
      })
      if (reason !== undefined) return reason
    }
    // A turnover that clears goes with the next delta where one is due soon: one message for both.
    return nowMs - this.#turnoverDueAtMs >= policy.maxAgeMs ? 'pending-clears' : undefined
  }

  #delta(ageMs: number): OutgoingFrame {
    const from = this.#name
    const setBits = this.summary.publishDelta()
    this.#name = { ...from, sequence: from.sequence + 1 }
    const frame = encodeDelta(from.sequence, this.#stateAged(ageMs), setBits)
    return this.#logged(from, { frame, kind: 'delta' })
  }

  #turnOver(ageMs: number): OutgoingFrame {
    const from = this.#name
    const { set, clear } = this.summary.publishTurnover()
    this.#name = { incarnation: from.incarnation, generation: from.generation + 1, sequence: 0 }
    this.#generationStartMs = this.#nowMs
    const state = this.#stateAged(ageMs)
    if (turnoverFrameBytes(set, clear) >= snapshotFrameBytes(this.summary.published, this.summary.setBitCount)) {
      const frame = encodeSnapshot(state, this.summary.published)
      this.#steps = []
      this.#stepBytes = 0
      return { frame, kind: 'snapshot' }
    }
    const frame = encodeTurnover(from, state, set, clear)
    return this.#logged(from, { frame, kind: 'turnover' })
  }

  // Steps are kept while together they are no larger than the snapshot that would replace them.
  #logged(from: DigestName, step: OutgoingFrame): OutgoingFrame {
    this.#steps.push({ ...step, from })
    this.#stepBytes += step.frame.length
    const limit = snapshotFrameBytes(this.summary.published, this.summary.setBitCount)
    let dropped = 0
    while (this.#stepBytes > limit && dropped < this.#steps.length)
      this.#stepBytes -= this.#steps[dropped++]!.frame.length
    if (dropped > 0) this.#steps.splice(0, dropped)
    return step
  }

  #snapshotFrame(nowMs: number): { readonly frame: Uint8Array; readonly atMs: number } {
    if (this.#snapshot === undefined || nowMs - this.#snapshot.atMs > SNAPSHOT_KEPT_MS) {
      this.#snapshot = { frame: encodeSnapshot(this.#state(nowMs), this.summary.published), atMs: nowMs }
    }
    return this.#snapshot
  }

  #heartbeat(nowMs: number): OutgoingFrame {
    return { kind: 'heartbeat', frame: encodeHeartbeat(this.#state(nowMs)) }
  }

  #state(nowMs: number): StateHead {
    return this.#stateAged(this.#changeAgeMs(nowMs))
  }

  #stateAged(oldestChangeAgeMs: number): StateHead {
    const { summary } = this
    return {
      name: this.#name,
      geometry: this.#options.geometry,
      setBitCount: summary.setBitCount,
      entryCount: summary.entryCount,
      oldestChangeAgeMs,
      checksumHi: summary.checksum.hi,
      checksumLo: summary.checksum.lo,
    }
  }

  #changeAgeMs(nowMs: number): number {
    return this.#changedAtMs === Infinity ? 0 : Math.max(0, Math.round(nowMs - this.#changedAtMs))
  }

  #clearsExceedShare(): boolean {
    const { pendingClearCount, setBitCount } = this.summary
    return pendingClearCount > 0 && pendingClearCount > this.#options.pendingClearShare * setBitCount
  }
}
