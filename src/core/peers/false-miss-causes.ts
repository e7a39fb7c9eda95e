import { replicaAgeMs, type LookupKey, type PeerState, type PeerTable } from './peer-table.ts'

/** Older ones are given up: what is measured on a sample may as well be left out. */
const MAX_OPEN = 16
/** A frame may be under way for so long before what it proves is believed to be all that there was. */
const MAX_UNDER_WAY_MS = 1_000
const PAUSE_MS = 250

interface Open {
  readonly state: PeerState
  readonly incarnation: number | undefined
  readonly key: LookupKey
  readonly atMs: number
}

/**
 * Why peers had what their digests did not claim (PROTOCOL rule 10). At once it cannot be told: the replica is let catch up
 * with the moment of the answer first, by the age that its publisher states of its oldest unpublished change.
 */
export class FalseMissCauses {
  readonly #peers: PeerTable
  #open: Open[] = []
  #dueMs = -Infinity

  constructor(peers: PeerTable) {
    this.#peers = peers
  }

  /** @param atMs when its answer was there */
  found(state: PeerState, key: LookupKey, atMs: number): void {
    state.guesses.falseMisses++
    this.#open.push({ state, incarnation: incarnationOf(state), key, atMs })
    if (this.#open.length > MAX_OPEN) this.#open.shift()
    this.#dueMs = atMs
  }

  /** Counts those that can be told by now. To be called at any lookup: it has seldom something to do. */
  settle(nowMs: number): void {
    if (this.#open.length === 0 || nowMs < this.#dueMs) return
    this.#dueMs = nowMs + PAUSE_MS
    this.#open = this.#open.filter((open) => !this.#isSettled(open, nowMs))
  }

  #isSettled({ atMs, incarnation, key, state }: Open, nowMs: number): boolean {
    // Its new life says nothing of what it held in the one before.
    if (this.#peers.at(state.index) !== state || incarnationOf(state) !== incarnation) return true
    const { falseMissCauses } = state.guesses
    if (this.#peers.isClaimed(state, key)) falseMissCauses.freshness++
    else if (nowMs - replicaAgeMs(state, nowMs) > atMs + MAX_UNDER_WAY_MS) falseMissCauses.unknown++
    else return false
    return true
  }
}

function incarnationOf({ digest, paper }: PeerState): number | undefined {
  return paper === undefined ? digest.state?.name.incarnation : undefined
}
