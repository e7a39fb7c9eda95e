import type { DigestName } from '../digest/digest-name.ts'
import type { CatchUp } from './catch-up.ts'
import type { DigestPublisher, OutgoingFrame } from './digest-publisher.ts'
import type { KeptSnapshot } from './snapshot-shelf.ts'

/** What is wanted, as a want frame says it. */
export interface Wanted {
  readonly have: DigestName | undefined
  readonly untilSequence: number | undefined
}

/**
 * The frames that bring a follower from what it has to the state published last, made a slice at a time: one step made of
 * all between where they are kept and together no larger than a snapshot (PROTOCOL rule 2).
 */
export class WantAnswer {
  readonly #publisher: DigestPublisher
  readonly #wanted: Wanted
  readonly #inStream: boolean
  #joining: CatchUp | undefined
  /** What is sent first, and the state to which it leads. */
  #first: { readonly frame: OutgoingFrame; readonly leadsTo: DigestName; readonly madeAtMs: number } | undefined
  #needsSnapshot = false

  /** @param inStream a snapshot is sent too; otherwise a heartbeat tells that one is to be fetched */
  constructor(publisher: DigestPublisher, wanted: Wanted, inStream: boolean) {
    this.#publisher = publisher
    this.#wanted = wanted
    this.#inStream = inStream
  }

  /** Goes on by about `maxSteps`; false once `frames` may be called, before anything else is published. */
  work(maxSteps: number, nowMs: number): boolean {
    const publisher = this.#publisher
    if (this.#first !== undefined) {
      // Turned over meanwhile by a state to which no step leads: begun anew.
      if (publisher.since(this.#first.leadsTo) !== undefined) return false
      this.#first = undefined
    }
    if (this.#joining !== undefined) return this.#join(this.#joining, maxSteps, nowMs)
    const { have, untilSequence } = this.#wanted
    const steps = have === undefined || this.#needsSnapshot ? undefined : publisher.since(have, untilSequence)
    if (steps === undefined) return this.#inStream && this.#takeSnapshot(maxSteps, nowMs)
    if (steps.length <= 1) return false
    this.#joining = publisher.catchUp(steps, nowMs)
    return true
  }

  frames(nowMs: number): readonly OutgoingFrame[] {
    const publisher = this.#publisher
    const { have, untilSequence } = this.#wanted
    const heartbeat: OutgoingFrame = { kind: 'heartbeat', frame: publisher.heartbeat(nowMs) }
    const begun = this.#first
    if (begun === undefined) {
      const steps = have === undefined || this.#needsSnapshot ? undefined : publisher.since(have, untilSequence)
      return steps === undefined || steps.length === 0 ? [heartbeat] : steps
    }
    if (untilSequence !== undefined) return [begun.frame]
    const since = publisher.since(begun.leadsTo) ?? []
    // What was made before now says how old its oldest change was then; a heartbeat says how old it is.
    return since.length === 0 && begun.madeAtMs !== nowMs ? [begun.frame, heartbeat] : [begun.frame, ...since]
  }

  #join(joining: CatchUp, maxSteps: number, nowMs: number): boolean {
    if (joining.work(maxSteps)) return true
    const { frame, kind, leadsTo } = joining
    this.#joining = undefined
    this.#needsSnapshot = frame === undefined
    if (frame !== undefined) this.#first = { frame: { kind, frame }, leadsTo, madeAtMs: nowMs }
    return frame === undefined
  }

  #takeSnapshot(maxSteps: number, nowMs: number): boolean {
    const kept: KeptSnapshot | undefined = this.#publisher.keptSnapshot()
    if (kept === undefined) {
      this.#publisher.encodeSnapshot(maxSteps, nowMs)
      return true
    }
    const frame: OutgoingFrame = { kind: 'snapshot', frame: kept.frame }
    this.#first = { frame, leadsTo: kept.state.name, madeAtMs: kept.madeAtMs }
    return false
  }
}
