import { encodeDelta, encodeGoodbye, encodeHeartbeat } from '../digest/digest-codec.ts'
import type { DigestName } from '../digest/digest-name.ts'
import { snapshotFrameBytes } from '../digest/snapshot-encoder.ts'
import type { StateHead } from '../digest/state-head.ts'
import type { ClaimSource } from '../filter/claim-source.ts'
import type { FilterGeometry } from '../filter/filter-geometry.ts'
import type { SummaryDrift } from '../filter/generation-build.ts'
import type { KeyHash } from '../filter/key-hash.ts'
import { Summary, type BitsProof } from '../filter/summary.ts'
import { CatchUp } from './catch-up.ts'
import {
  clearsExceedShare,
  generationDue,
  isSparse,
  type GenerationLimits,
  type GenerationPlan,
  type GenerationReason,
} from './generation-policy.ts'
import { GenerationTurn } from './generation-turn.ts'
import { PublishedSteps, type PublishedStep } from './published-steps.ts'
import { SnapshotShelf, type KeptSnapshot } from './snapshot-shelf.ts'
import type { PublishReason, UpdatePolicy } from './update-policy.ts'

export interface PublisherOptions extends GenerationLimits {
  readonly incarnation: number
  readonly geometry: FilterGeometry
  readonly policy: UpdatePolicy
  /** Between two frames when nothing changes. */
  readonly heartbeatMs: number
}

export type UpdateReason = PublishReason | GenerationReason

export interface OutgoingFrame {
  readonly kind: 'delta' | 'turnover' | 'snapshot' | 'heartbeat'
  readonly frame: Uint8Array
}

/** A frame for every follower. A heartbeat with another reason than 'idle' names a state that is to be fetched whole. */
export interface Publication {
  readonly kind: 'delta' | 'turnover' | 'heartbeat'
  readonly frame: Uint8Array
  readonly reason: UpdateReason | 'idle'
}

/** Some hundreds of small steps. */
const LEAST_KEPT_BYTES = 64 * 1024

/**
 * Our own digest as others see it: what has been published, under which names, and what is due next
 * (PROTOCOL rules 2, 3, 5, 6 and 7). Knows neither peers nor sockets: frames come out, someone sends them. What takes long
 * is done in slices by `work`.
 */
export class DigestPublisher {
  readonly summary: Summary
  readonly #options: PublisherOptions
  readonly #steps = new PublishedSteps()
  readonly #shelf = new SnapshotShelf()
  #source: ClaimSource | undefined
  #name: DigestName
  #turning: GenerationTurn | undefined
  #newDocuments = 0
  #localMisses = 0
  #nowMs: number
  #changedAtMs = Infinity
  #clearsSinceMs = Infinity
  #sparseSinceMs = Infinity
  #lastFrameMs: number
  #generationStartMs: number
  #auditedAtMs: number
  #drift: SummaryDrift = { missing: 0, surplus: 0 }
  #auditCount = 0
  #checksumFaults = 0
  #lastReason: UpdateReason | 'start' = 'start'

  constructor(options: PublisherOptions, nowMs: number) {
    this.#options = options
    this.summary = new Summary(options.geometry)
    this.#name = { incarnation: options.incarnation, generation: 0, sequence: 0 }
    this.#nowMs = nowMs
    this.#lastFrameMs = nowMs
    this.#generationStartMs = nowMs
    this.#auditedAtMs = nowMs
  }

  /** The directory that the claims come from: without it the summary is neither audited nor resized. */
  rebuildFrom(source: ClaimSource): void {
    this.#source = source
  }

  /** The state published last. */
  get name(): DigestName {
    return this.#name
  }

  get lastReason(): UpdateReason | 'start' {
    return this.#lastReason
  }

  /** Bits that did not agree with the directory when they were compared, summed over all comparisons; 0 for ever. */
  get drift(): SummaryDrift {
    return this.#drift
  }

  /** Times that the published bits were not what their checksum said when it was worked out whole; 0 for ever. */
  get checksumFaults(): number {
    return this.#checksumFaults
  }

  /** Comparisons of the summary with the directory so far. */
  get auditCount(): number {
    return this.#auditCount
  }

  /** @param slot where the directory keeps it */
  claimed(key: KeyHash, slot = 0): void {
    this.summary.add(key, slot)
    this.#newDocuments++
    // The time of the last tick: at most one tick too old, so that an age is never understated.
    if (this.summary.openChangeCount > 0) this.#changedAtMs = Math.min(this.#changedAtMs, this.#nowMs)
  }

  unclaimed(key: KeyHash, slot = 0): void {
    this.summary.remove(key, slot)
    if (this.#clearsExceedShare()) this.#clearsSinceMs = Math.min(this.#clearsSinceMs, this.#nowMs)
  }

  /** The key's claim has gone on to another slot. */
  moved(key: KeyHash, fromSlot: number, toSlot: number): void {
    this.summary.move(key, fromSlot, toSlot)
  }

  localMiss(): void {
    this.#localMisses++
  }

  /** What is due at `nowMs`; undefined: nothing, or `work` has to be done first. */
  tick(nowMs: number): Publication | undefined {
    this.#nowMs = nowMs
    this.#shelf.expire(nowMs)
    const reason = this.#deltaDue(nowMs)
    if (this.#turning === undefined) {
      const plan = this.#generationDue(nowMs) ?? this.#turnoverInstead(reason)
      if (plan !== undefined) {
        this.beginGeneration(plan)
        return undefined
      }
    }
    if (reason !== undefined) return this.publish(nowMs, reason)
    if (nowMs - this.#lastFrameMs < this.#options.heartbeatMs) return undefined
    this.#lastFrameMs = nowMs
    return { kind: 'heartbeat', frame: this.heartbeat(nowMs), reason: 'idle' }
  }

  /** The open delta, now; undefined: nothing is open, or the next generation is about to take it along. */
  publish(nowMs: number, reason: UpdateReason): Publication | undefined {
    this.#nowMs = nowMs
    if (this.summary.isFixed) return undefined
    if (this.summary.openChangeCount === 0) {
      this.#changedAtMs = Infinity
      return undefined
    }
    const from = this.#name
    const ageMs = this.#ageOf(this.#changedAtMs, nowMs)
    const setBits = this.summary.publishDelta()
    for (const position of setBits) {
      this.#shelf.rose(position)
      this.#turning?.rose(position)
    }
    this.#name = { ...from, sequence: from.sequence + 1 }
    const state = this.#stateAged(ageMs)
    const frame = encodeDelta(from.sequence, state, setBits)
    this.#keep({ kind: 'delta', from, state, frame })
    this.#changedAtMs = Infinity
    this.#startBatch()
    this.#lastFrameMs = nowMs
    this.#lastReason = reason
    return { kind: 'delta', frame, reason }
  }

  /** Starts with the next generation, unless that is under way: `work` does it. */
  beginGeneration(plan: GenerationPlan): void {
    this.#turning ??= new GenerationTurn(plan, this.summary, this.#source)
  }

  /** Whether `work` has something to do. */
  get hasWork(): boolean {
    return this.#turning !== undefined
  }

  /**
   * Goes on with the next generation by about `maxSteps`, some tens of nanoseconds each.
   * @returns what is to be published when it is there
   */
  work(maxSteps: number, nowMs: number): Publication | undefined {
    const turning = this.#turning
    switch (turning?.work(maxSteps)) {
      case 'built':
        this.#fix(turning, nowMs)
        return undefined
      case 'measured':
        return this.#measured(turning, nowMs)
      case 'written':
        return this.#turnedOver(turning, nowMs)
      default:
        return undefined
    }
  }

  /**
   * The way from `have` to the state published last, or to `untilSequence`; undefined: the steps are not kept any more,
   * and a snapshot is needed. Empty: it is there.
   */
  since(have: DigestName, untilSequence?: number): readonly PublishedStep[] | undefined {
    return this.#steps.since(have, this.#name, untilSequence)
  }

  /** Makes one step of some that `since` gave. */
  catchUp(steps: readonly PublishedStep[], nowMs: number): CatchUp {
    const last = steps.at(-1)!.state
    const isNewest = last.name === this.#name
    return new CatchUp(steps, isNewest ? this.#state(nowMs) : last, this.#snapshotBytes())
  }

  /**
   * A snapshot from which the steps published since lead on; that of `tag` where it is kept. Undefined: none is, and
   * `encodeSnapshot` has to be worked at.
   */
  keptSnapshot(tag?: string): KeptSnapshot | undefined {
    const named = tag === undefined ? undefined : this.#shelf.find(tag)
    if (named !== undefined) return named
    const { newest } = this.#shelf
    const since = newest && this.since(newest.state.name)
    if (since === undefined) return undefined
    // What has to be sent after it would be more than a new one.
    const sinceBytes = since.reduce((sum, { frame }) => sum + frame.length, 0)
    return sinceBytes <= newest!.frame.length ? newest : undefined
  }

  /** Goes on with a snapshot of the state published last; false once it is kept. */
  encodeSnapshot(maxSteps: number, nowMs: number): boolean {
    return this.#shelf.work(maxSteps, this.summary.published, this.#state(nowMs), nowMs)
  }

  heartbeat(nowMs: number): Uint8Array {
    return encodeHeartbeat(this.#state(nowMs))
  }

  goodbye(): Uint8Array {
    return encodeGoodbye(this.#name)
  }

  #deltaDue(nowMs: number): PublishReason | undefined {
    if (this.summary.isFixed || this.summary.openChangeCount === 0) return undefined
    return this.#options.policy.due({
      newDocuments: this.#newDocuments,
      documents: this.summary.entryCount,
      localMisses: this.#localMisses,
      changeAgeMs: this.#ageOf(this.#changedAtMs, nowMs),
    })
  }

  /** One message for both, where it is soon done; where not, the next tick finds it under way and publishes. */
  #turnoverInstead(reason: PublishReason | undefined): GenerationPlan | undefined {
    if (reason === undefined || !this.#clearsExceedShare()) return undefined
    return { reason: 'pending-clears', refill: undefined }
  }

  #generationDue(nowMs: number): GenerationPlan | undefined {
    const { summary } = this
    const { entryCount, geometry, liveBitCount, openChangeCount, pendingClearCount } = summary
    if (!this.#clearsExceedShare()) this.#clearsSinceMs = Infinity
    this.#sparseSinceMs = isSparse({ entryCount, geometry }) ? Math.min(this.#sparseSinceMs, nowMs) : Infinity
    return generationDue(
      {
        geometry,
        entryCount,
        setBitCount: summary.setBitCount + openChangeCount,
        pendingClearCount,
        liveBitCount,
        clearsForMs: nowMs - this.#clearsSinceMs,
        ageMs: nowMs - this.#generationStartMs,
        sinceAuditMs: this.#source === undefined ? undefined : nowMs - this.#auditedAtMs,
        sparseForMs: nowMs - this.#sparseSinceMs,
      },
      this.#options,
      this.#options.policy.maxAgeMs,
    )
  }

  /** The next generation's bits stand: what changes from now on belongs to the delta after it. */
  #fix(turning: GenerationTurn, nowMs: number): void {
    turning.fix(this.#changedAtMs)
    this.#changedAtMs = Infinity
    this.#clearsSinceMs = Infinity
    this.#startBatch()
    if (turning.plan.refill !== undefined) this.#auditedAtMs = nowMs
    if (turning.hasChecksumFault) this.#checksumFaults++
    const { drift } = turning
    if (drift === undefined) return
    this.#auditCount++
    this.#drift = { missing: this.#drift.missing + drift.missing, surplus: this.#drift.surplus + drift.surplus }
  }

  /** Both sizes are known: the smaller one is published. */
  #measured(turning: GenerationTurn, nowMs: number): Publication | undefined {
    const ageMs = this.#ageOf(turning.changedAtMs, nowMs)
    if (!turning.isWhole && turning.frameBytes < this.#snapshotBytes()) {
      turning.begin(this.#name, this.#nextState(turning.after, ageMs))
      return undefined
    }
    this.#enterGeneration(turning.after, nowMs)
    this.#steps.clear()
    return this.#turned(turning, nowMs, { kind: 'heartbeat', frame: encodeHeartbeat(this.#stateAged(ageMs)) })
  }

  #turnedOver(turning: GenerationTurn, nowMs: number): Publication {
    const from = this.#name
    const { after, frame } = turning
    const state = this.#nextState(after, this.#ageOf(turning.changedAtMs, nowMs))
    this.#enterGeneration(after, nowMs)
    this.#keep({ kind: 'turnover', from, state: { ...state, name: this.#name }, frame })
    return this.#turned(turning, nowMs, { kind: 'turnover', frame })
  }

  #enterGeneration(after: BitsProof, nowMs: number): void {
    this.summary.turnOver(after)
    this.#shelf.turnedOver()
    this.#name = this.#nextName
    this.#generationStartMs = nowMs
  }

  #turned(turning: GenerationTurn, nowMs: number, published: Omit<Publication, 'reason'>): Publication {
    const { reason } = turning.plan
    this.#turning = undefined
    this.#lastFrameMs = nowMs
    this.#lastReason = reason
    return { ...published, reason }
  }

  get #nextName(): DigestName {
    const { incarnation, generation } = this.#name
    return { incarnation, generation: generation + 1, sequence: 0 }
  }

  #nextState({ setBitCount, checksumHi, checksumLo }: BitsProof, oldestChangeAgeMs: number): StateHead {
    const { entryCount, geometry } = this.summary
    return { name: this.#nextName, geometry, setBitCount, entryCount, oldestChangeAgeMs, checksumHi, checksumLo }
  }

  // Steps are kept while together they are no larger than the snapshot that would replace them; small ones anyway, since
  // their heads, which made into one step they have no longer, would soon outweigh a small digest.
  #keep(step: PublishedStep): void {
    this.#steps.add(step, Math.max(LEAST_KEPT_BYTES, this.#snapshotBytes()))
  }

  #snapshotBytes(): number {
    return snapshotFrameBytes(this.summary.published, this.summary.setBitCount)
  }

  #startBatch(): void {
    this.#newDocuments = 0
    this.#localMisses = 0
  }

  #state(nowMs: number): StateHead {
    return this.#stateAged(this.#ageOf(Math.min(this.#changedAtMs, this.#turning?.changedAtMs ?? Infinity), nowMs))
  }

  #stateAged(oldestChangeAgeMs: number): StateHead {
    const { entryCount, geometry } = this.summary
    return { name: this.#name, geometry, entryCount, oldestChangeAgeMs, ...this.#proof() }
  }

  /** Of the published bits. */
  #proof(): BitsProof {
    const { checksum, setBitCount } = this.summary
    return { setBitCount, checksumHi: checksum.hi, checksumLo: checksum.lo }
  }

  #ageOf(changedAtMs: number, nowMs: number): number {
    return changedAtMs === Infinity ? 0 : Math.max(0, Math.round(nowMs - changedAtMs))
  }

  #clearsExceedShare(): boolean {
    return clearsExceedShare(this.summary, this.#options)
  }
}
