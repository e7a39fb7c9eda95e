import type { DeltaMessage, TurnoverMessage } from './digest-message.ts'
import { compareNames, type DigestName } from './digest-name.ts'
import { sameGeometry } from '../filter/filter-geometry.ts'
import type { StateHead } from './state-head.ts'

const MAX_CHANGES = 64

export type DigestChange = DeltaMessage | TurnoverMessage

/**
 * 'fits': leads from the state held to a later one. 'waits': would from a later one. 'same', 'stale': leads to the
 * state held, to an older one. 'unfit': newer, but from a generation that is past. 'conflict': no publisher that keeps
 * the rules has said both this and what is held.
 */
export type Fit = 'fits' | 'waits' | 'same' | 'stale' | 'unfit' | 'conflict'

export function fitOf(change: DigestChange, held: StateHead | undefined): Fit {
  if (held === undefined) return 'waits'
  const { name, geometry } = change.state
  const order = compareNames(name, held.name)
  if (order <= 0) return order === 0 ? 'same' : 'stale'
  const from = originOf(change)
  if (from.generation !== held.name.generation) return from.generation > held.name.generation ? 'waits' : 'unfit'
  // Another geometry comes with a snapshot, never in mid-generation nor by a turnover.
  if (!sameGeometry(geometry, held.geometry)) return 'conflict'
  if (from.sequence > held.name.sequence) return 'waits'
  return change.kind === 'delta' || from.sequence === held.name.sequence ? 'fits' : 'conflict'
}

/** Changes that cannot be made yet, because others come before them. Bounded: what finds no room is asked for again. */
export class WaitingChanges {
  readonly #maxBytes: number
  #changes: DigestChange[] = []
  #bytes = 0

  /** @param maxBytes of coded positions */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get count(): number {
    return this.#changes.length
  }

  /** Of coded positions. */
  get bytes(): number {
    return this.#bytes
  }

  /** A copy: changes may be removed on the way. */
  all(): DigestChange[] {
    return [...this.#changes]
  }

  /** Whether it waits now; one that waits already is not kept twice. */
  add(change: DigestChange): boolean {
    if (this.#changes.some((other) => isRepeat(other, change))) return true
    const bytes = bytesOf(change)
    if (this.#changes.length === MAX_CHANGES || this.#bytes + bytes > this.#maxBytes) return false
    this.#changes.push(change)
    this.#bytes += bytes
    return true
  }

  remove(change: DigestChange): void {
    const index = this.#changes.indexOf(change)
    if (index < 0) return
    this.#changes.splice(index, 1)
    this.#bytes -= bytesOf(change)
  }

  clear(): void {
    this.#changes = []
    this.#bytes = 0
  }

  /** The latest state that they lead to from `start` without a gap. */
  reachFrom(start: DigestName): DigestName {
    let reached = start
    for (let moved = true; moved;) {
      moved = false
      for (const change of this.#changes) {
        if (!leadsOn(change, reached)) continue
        reached = change.state.name
        moved = true
      }
    }
    return reached
  }

  /** Where the gap behind `name` ends, in its generation: the first sequence that a delta waits from. */
  gapAfter(name: DigestName): number | undefined {
    let end: number | undefined
    for (const change of this.#changes) {
      const from = originOf(change)
      const isBeyond = change.kind === 'delta' && from.generation === name.generation && from.sequence > name.sequence
      if (isBeyond && (end === undefined || from.sequence < end)) end = from.sequence
    }
    return end
  }
}

export function later(a: DigestName, b: DigestName): DigestName {
  return compareNames(a, b) < 0 ? b : a
}

function originOf(change: DigestChange): DigestName {
  return change.kind === 'delta' ? { ...change.state.name, sequence: change.fromSequence } : change.from
}

function leadsOn(change: DigestChange, name: DigestName): boolean {
  if (compareNames(change.state.name, name) <= 0) return false
  const from = originOf(change)
  if (from.generation !== name.generation) return false
  return change.kind === 'delta' ? from.sequence <= name.sequence : from.sequence === name.sequence
}

function isRepeat(a: DigestChange, b: DigestChange): boolean {
  return compareNames(a.state.name, b.state.name) === 0 && compareNames(originOf(a), originOf(b)) === 0
}

function bytesOf(change: DigestChange): number {
  return change.setBits.bytes.length + (change.kind === 'turnover' ? change.clearBits.bytes.length : 0)
}
