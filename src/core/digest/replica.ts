import { MAX_PROBE_COUNT, sameGeometry, type FilterGeometry } from '../filter/filter-geometry.ts'
import type { KeyHash } from '../filter/key-hash.ts'
import type { MembershipFilter } from '../filter/membership-filter.ts'
import { probeSequence } from '../filter/probing.ts'
import { MalformedMessageError } from '../protocol/malformed-message-error.ts'
import type { DigestMessage, SnapshotMessage } from './digest-message.ts'
import { compareNames, type DigestName } from './digest-name.ts'
import { DoubleBuffer } from './double-buffer.ts'
import type { ReplicaBits, ReplicaBuffers } from './replica-bits.ts'
import { ReplicaHome } from './replica-home.ts'
import { DeltaMerge, MoveBuild, SnapshotBuild, TurnoverBuild, type StateBuild } from './state-build.ts'
import { sameProof, type StateHead } from './state-head.ts'
import { WaitingChanges, fitOf, later, type DigestChange } from './waiting-changes.ts'

// A full digest claims everything. At nine bits in ten, four probes claim two keys of three that are not there.
const MAX_FILL = 0.9
// What `receive` does at once; a step is some tens of nanoseconds. The rest is left to `work`.
const RECEIVE_STEPS = 8192

/** Why a message was not believed. Only 'refused-incarnation' is no sign of a fault: an old life's message, late. */
export type Refusal =
  | 'refused-want'
  | 'refused-incarnation'
  | 'refused-geometry'
  | 'refused-density'
  | 'refused-conflict'
  | 'refused-malformed'
  | 'refused-proof'

/**
 * What became of a message. 'applied': the state it leads to is held and proved. 'proved': it names the state held and
 * proves it. 'stale': an older state. 'ahead': something before it is missing; a change waits, if there is room.
 * 'building': all is there, and `work` does it. 'left': the publisher said goodbye; nothing is held any more.
 */
export type Merge = 'applied' | 'proved' | 'stale' | 'ahead' | 'building' | 'left' | Refusal

export interface ReplicaOptions {
  /** Larger digests are refused before anything is allocated. Also bounds what waits, in bytes, to a snapshot's. */
  readonly maxBitCount: number
  /** Called for the first snapshot and for each of another size; arrays of its own when not given. */
  readonly makeBuffers?: (state: StateHead) => ReplicaBuffers
}

/**
 * One peer's digest as it was last proved: bit for bit what the publisher published under `name` (PROTOCOL rules 1 to
 * 4). It is never repaired by guesswork. Where something is missing or cannot be proved it keeps the last proved state
 * and says so by `lacks`; only another incarnation throws that away at once.
 */
export class Replica implements MembershipFilter {
  readonly #maxBitCount: number
  readonly #home: ReplicaHome
  readonly #waiting: WaitingChanges
  readonly #probes = new Uint32Array(MAX_PROBE_COUNT)
  #state: StateHead | undefined
  #build: StateBuild | undefined
  /** Waits for the build before it; a newer one takes its place. */
  #snapshot: SnapshotMessage | undefined
  /** Of the messages believed, the latest state named. */
  #newest: DigestName | undefined
  #incarnation = -1
  /** Set when the publisher contradicts what is held: nothing but a proof or a snapshot settles that. */
  #isDisputed = false
  #lastRefusal: Refusal | undefined
  #stepCount = 0

  constructor(options: ReplicaOptions) {
    this.#maxBitCount = options.maxBitCount
    this.#home = new ReplicaHome(options.makeBuffers ?? (({ geometry }) => new DoubleBuffer(geometry.bitCount)))
    this.#waiting = new WaitingChanges(options.maxBitCount / 8)
  }

  /** The state held; undefined before the first. */
  get state(): StateHead | undefined {
    return this.#state
  }

  get name(): DigestName | undefined {
    return this.#state?.name
  }

  /** The bits of `state`, and while a large delta is raised in slices those of its bits that are up; read only. */
  get bits(): ReplicaBits | undefined {
    return this.#state === undefined ? undefined : this.buffers?.active
  }

  /** Whether a later state is known than can be reached with what has come, or the one held is disputed. */
  get lacks(): boolean {
    if (this.#needsSnapshot) return true
    const reached = this.#reached
    return reached === undefined || (this.#newest !== undefined && compareNames(reached, this.#newest) < 0)
  }

  /** What to tell the publisher when asking for what follows: undefined for a snapshot. */
  get have(): DigestName | undefined {
    return this.#needsSnapshot ? undefined : this.#reached
  }

  /** Up to where it lacks something after `have`: what comes then has come already. Undefined: all is lacking. */
  get gapEnd(): number | undefined {
    const { have } = this
    return have && this.#waiting.gapAfter(have)
  }

  /** Why a message or build was given up last, until something is proved again. */
  get lastRefusal(): Refusal | undefined {
    return this.#lastRefusal
  }

  /** Changes that wait for what comes before them, and the bytes of their positions. */
  get waiting(): { readonly count: number; readonly bytes: number } {
    return this.#waiting
  }

  /** Where its states lie; undefined before the first. */
  get buffers(): ReplicaBuffers | undefined {
    return this.#home.buffers
  }

  mayContain(key: KeyHash): boolean {
    probeSequence(key, MAX_PROBE_COUNT, this.#probes)
    return this.claims(this.#probes)
  }

  /** @param probes of `probeSequence`, as many as any geometry has */
  claims(probes: Uint32Array): boolean {
    if (this.#state === undefined) return false
    const { bitCount, probeCount } = this.#state.geometry
    const bits = this.#home.buffers!.active
    for (let i = 0; i < probeCount; i++) if (!bits.get(probes[i]! & (bitCount - 1))) return false
    return true
  }

  /** Positions and words worked off so far, as `work` counts them. */
  get stepCount(): number {
    return this.#stepCount
  }

  /** Whether `work` has something to do. */
  get hasWork(): boolean {
    const isWaiting = this.#home.canMove(this.#state) || this.#snapshot !== undefined
    return this.#build !== undefined || isWaiting || this.buffers?.hasWork === true
  }

  /**
   * States of that geometry are to lie there from now on. `work` moves the one held as soon as it has the geometry; it
   * stays in use until then.
   */
  moveTo(buffers: ReplicaBuffers, geometry: FilterGeometry): void {
    this.#home.moveTo(buffers, geometry)
  }

  /** It is not used again: what it holds is given back. */
  release(): void {
    this.#forget(this.#incarnation)
    this.#home.leave()
  }

  /** Takes in a message. Its bytes are kept, not copied, while it waits or is worked off. */
  receive(message: DigestMessage): Merge {
    if (message.kind === 'want') return this.#refuse('refused-want')
    const { incarnation } = message.kind === 'goodbye' ? message.name : message.state.name
    // A goodbye of an old life, late, is of no consequence.
    if (incarnation < this.#incarnation) return message.kind === 'goodbye' ? 'stale' : 'refused-incarnation'
    if (incarnation > this.#incarnation || message.kind === 'goodbye') this.#forget(incarnation)
    if (message.kind === 'goodbye') return 'left'

    const { state } = message
    if (state.geometry.bitCount > this.#maxBitCount) return this.#refuse('refused-geometry')
    if (state.setBitCount > MAX_FILL * state.geometry.bitCount) return this.#refuse('refused-density')
    if (message.kind === 'snapshot') return this.#receiveSnapshot(message)
    this.#newest = later(this.#newest ?? state.name, state.name)
    return message.kind === 'heartbeat' ? this.#receiveHeartbeat(state) : this.#receiveChange(message)
  }

  /**
   * Goes on with what is being built and what waits behind it, by about `maxPositions`: 20,000 are about a
   * millisecond. True while there is more to do.
   */
  work(maxPositions: number): boolean {
    let left = maxPositions
    while (left > 0) {
      const build = (this.#build ??= this.#nextBuild())
      if (build === undefined) {
        this.buffers?.work(left)
        return this.buffers?.hasWork === true
      }
      const before = build.stepCount
      const outcome = this.#advance(build, left)
      const steps = build.stepCount - before
      // Every buffer is held by a reader: there is more to do, but not now.
      if (outcome === 'building' && steps === 0) return true
      left -= Math.max(1, steps)
    }
    this.#build ??= this.#nextBuild()
    return this.hasWork
  }

  #receiveHeartbeat(state: StateHead): Merge {
    const order = this.#state === undefined ? 1 : compareNames(state.name, this.#state.name)
    if (order === 0) {
      const merge = this.#proveHeld(state)
      // It stands where we do: what waits for more was never published, or will be asked for again.
      if (merge === 'proved') this.#expectNothing(state.name)
      return merge
    }
    return order < 0 ? 'stale' : 'ahead'
  }

  #receiveSnapshot(snapshot: SnapshotMessage): Merge {
    const { state } = snapshot
    if (!this.#wants(state.name))
      return compareNames(state.name, this.#state!.name) === 0 ? this.#proveHeld(state) : 'stale'
    // One that was made earlier leads to what was heard of before it came: the rest is asked for at once.
    this.#newest = later(this.#newest ?? state.name, state.name)
    if (this.#build === undefined) {
      this.#build = this.#snapshotBuild(snapshot)
      return 'building'
    }
    const coming = this.#build.kind === 'snapshot' ? this.#build.target.name : undefined
    if (coming !== undefined && compareNames(state.name, coming) <= 0) return 'building'
    if (this.#snapshot === undefined || compareNames(state.name, this.#snapshot.state.name) > 0)
      this.#snapshot = snapshot
    return 'building'
  }

  #receiveChange(change: DigestChange): Merge {
    const fit = fitOf(change, this.#state)
    if (fit === 'fits') return this.#make(change)
    if (fit === 'same') return this.#proveHeld(change.state)
    if (fit === 'conflict') return this.#dispute('refused-conflict')
    if (fit === 'waits') this.#waiting.add(change)
    return fit === 'stale' ? 'stale' : 'ahead'
  }

  /** A change that leads on from the state held. */
  #make(change: DigestChange): Merge {
    const running = this.#build
    if (running === undefined) {
      this.#build = this.#changeBuild(change)
      if (change.kind === 'turnover') return 'building'
      const outcome = this.#advance(this.#build, RECEIVE_STEPS)
      if (outcome === 'applied') this.work(RECEIVE_STEPS)
      return outcome
    }
    // A turnover starts from the last state of its generation, so no delta can follow that one.
    if (running.kind === 'turnover' && change.kind === 'delta') return this.#dispute('refused-conflict')
    if (running.kind === 'snapshot' && change.kind === 'delta' && 2 * change.setBits.count < RECEIVE_STEPS) {
      const outcome = this.#advance(this.#changeBuild(change), RECEIVE_STEPS)
      if (!this.#wants(running.target.name)) this.#giveUp(running)
      return outcome
    }
    return this.#waiting.add(change) ? 'building' : 'ahead'
  }

  #advance(build: StateBuild, maxSteps: number): 'building' | 'applied' | Refusal {
    const before = build.stepCount
    try {
      build.work(maxSteps)
    } catch (error) {
      if (!(error instanceof MalformedMessageError)) throw error
      this.#giveUp(build)
      return this.#dispute('refused-malformed')
    } finally {
      this.#stepCount += build.stepCount - before
    }
    if (build.status === 'more') return 'building'
    if (build.status === 'unproved') {
      this.#giveUp(build)
      return this.#dispute('refused-proof')
    }
    if (this.#build === build) this.#build = undefined
    this.#home.settle(build.commit(), build.target.geometry)
    // A move proves nothing: it leads to the state held.
    if (build.kind !== 'move') this.#proved(build.target)
    return 'applied'
  }

  /** What can be built now; what cannot any more is dropped. */
  #nextBuild(): StateBuild | undefined {
    if (this.#home.canMove(this.#state)) {
      return new MoveBuild(this.#home.buffers!, this.#home.takeFuture(), this.#state!)
    }
    for (const change of this.#waiting.all()) {
      const fit = fitOf(change, this.#state)
      if (fit === 'waits') continue
      this.#waiting.remove(change)
      if (fit === 'fits') return this.#changeBuild(change)
      if (fit === 'conflict') this.#dispute('refused-conflict')
    }
    const snapshot = this.#snapshot
    this.#snapshot = undefined
    return snapshot !== undefined && this.#wants(snapshot.state.name) ? this.#snapshotBuild(snapshot) : undefined
  }

  #changeBuild(change: DigestChange): StateBuild {
    const buffers = this.#home.buffers!
    if (change.kind === 'delta') return new DeltaMerge(buffers, this.#state!, change)
    return new TurnoverBuild(buffers, this.#state!, change)
  }

  #snapshotBuild(snapshot: SnapshotMessage): StateBuild {
    const { buffers, isFresh } = this.#home.roomFor(snapshot.state, this.#state !== undefined)
    return new SnapshotBuild(buffers, isFresh, snapshot)
  }

  /** Would a snapshot of that name serve? One of the state held does while that is disputed. */
  #wants(name: DigestName): boolean {
    if (this.#state === undefined) return true
    const order = compareNames(name, this.#state.name)
    return order > 0 || (order === 0 && this.#isDisputed)
  }

  #proveHeld(state: StateHead): Merge {
    const held = this.#state!
    if (!sameGeometry(state.geometry, held.geometry)) return this.#dispute('refused-conflict')
    if (!sameProof(state, held)) return this.#dispute('refused-proof')
    // Entries and ages change under one name: removals do not show in published bits.
    this.#proved(state)
    return 'proved'
  }

  #proved(state: StateHead): void {
    this.#state = state
    this.#isDisputed = false
    this.#lastRefusal = undefined
  }

  #expectNothing(held: DigestName): void {
    this.#waiting.clear()
    this.#newest = held
  }

  #giveUp(build: StateBuild): void {
    build.abandon()
    if (this.#build === build) this.#build = undefined
  }

  #forget(incarnation: number): void {
    const wasMoving = this.#home.willMove || this.#build?.kind === 'move'
    this.#incarnation = incarnation
    this.#state = undefined
    if (this.#build !== undefined) this.#giveUp(this.#build)
    if (wasMoving) this.#home.leave()
    else this.buffers?.hide()
    this.#snapshot = undefined
    this.#newest = undefined
    this.#isDisputed = false
    this.#lastRefusal = undefined
    this.#waiting.clear()
  }

  #dispute(refusal: Refusal): Refusal {
    this.#isDisputed = true
    return this.#refuse(refusal)
  }

  #refuse(refusal: Refusal): Refusal {
    this.#lastRefusal = refusal
    return refusal
  }

  get #needsSnapshot(): boolean {
    return this.#isDisputed && this.#snapshot === undefined && this.#build?.kind !== 'snapshot'
  }

  get #reached(): DigestName | undefined {
    let reached = this.#state?.name
    for (const coming of [this.#build?.target.name, this.#snapshot?.state.name]) {
      if (coming !== undefined) reached = reached === undefined ? coming : later(reached, coming)
    }
    return reached && this.#waiting.reachFrom(reached)
  }
}
