import { ReplicaTable } from '../digest/replica-table.ts'
import type { KeyHash } from '../filter/key-hash.ts'
import { FollowedDigest, type FollowedDigestOptions } from '../protocol/followed-digest.ts'
import { PaperHasher } from '../protocol/paper-hashing.ts'
import type { PaperReplica } from '../protocol/paper-replica.ts'
import { costOfHitMs, FIRST_TRUTHFULNESS } from './candidate-selection.ts'
import { newGuessCounts, type GuessCounts } from './guess-counts.ts'
import type { Peer } from './peer.ts'
import { PeerHealth } from './peer-health.ts'
import { PeerWorth } from './peer-worth.ts'
import { TestCounts, type Tested } from './test-counts.ts'

/** Each of them costs the memory of its digest. */
export const MAX_PEERS = 1_024

export type PeerTableOptions = Omit<FollowedDigestOptions, 'makeBuffers' | 'changed'>

/** Its URL is hashed a second time where a peer's digest came over the paper's wire; without one those claim nothing. */
export type LookupKey = KeyHash & { readonly url?: string }

/** What we know of one peer. */
export interface PeerState {
  readonly index: number
  readonly peer: Peer
  readonly health: PeerHealth
  readonly guesses: GuessCounts
  /** A lookup has tested the digest that came over the paper's wire. */
  readonly testedOnPaper: () => void
  readonly digest: FollowedDigest
  /** In the place of `digest`, where the peer's comes over the paper's wire. */
  readonly paper: PaperReplica | undefined
  readonly worth: PeerWorth
  /** Smoothed time to its answers' heads; 0 before the first. */
  latencyMs: number
  /** Smoothed share of the claims that were true when they were tried. */
  truthfulness: number
  /** False while its digest's stream is broken: nothing says then that it lives. */
  isConnected: boolean
}

/** The other proxies of the cluster, by index and by name. */
export class PeerTable {
  readonly #options: PeerTableOptions
  readonly #states: (PeerState | undefined)[] = []
  readonly #replicas = new ReplicaTable()
  readonly #claiming = new Uint32Array(MAX_PEERS)
  readonly #tests = new TestCounts(() => this.#tested())
  #size = 0
  /** Those that are switched off: seldom any, so that lookups need not go through all peers for them. */
  readonly #off = new Set<PeerState>()
  /** Those with a paper replica. */
  #onPaper: readonly PeerState[] = []
  readonly #paperHasher = new PaperHasher()

  constructor(options: PeerTableOptions) {
    this.#options = options
  }

  /** Undefined when the table is full or the name taken. */
  add(peer: Peer, paper?: PaperReplica): PeerState | undefined {
    if (this.named(peer.name) !== undefined) return undefined
    let index = this.#states.indexOf(undefined)
    if (index < 0) index = this.#states.length
    if (index === MAX_PEERS) return undefined
    const tests = this.#tests
    const changed = (): void => tests.consultationChanged()
    let isConnected = true
    let paperTests = 0
    const digest: FollowedDigest = new FollowedDigest({
      ...this.#options,
      makeBuffers: (head) => this.#replicas.buffersFor(index, head),
      changed: () => {
        // Most frames prove anew what is proved already.
        if (tests.isCounting(index) !== digest.provedUntilMs > -Infinity) changed()
      },
    })
    const state: PeerState = {
      index,
      peer,
      health: new PeerHealth(changed),
      guesses: newGuessCounts(() => tests.of(index) + paperTests),
      testedOnPaper: () => void paperTests++,
      digest,
      paper,
      worth: new PeerWorth((isOff) => this.#switched(state, isOff)),
      latencyMs: 0,
      truthfulness: FIRST_TRUTHFULNESS,
      get isConnected() {
        return isConnected
      },
      set isConnected(is) {
        isConnected = is
        changed()
      },
    }
    tests.forget(index)
    this.#size++
    this.#states[index] = state
    this.#replicas.set(index, state.digest.replica)
    if (paper !== undefined) this.#onPaper = [...this.#onPaper, state]
    return state
  }

  remove(name: string): PeerState | undefined {
    const state = this.named(name)
    if (state === undefined) return undefined
    this.#states[state.index] = undefined
    this.#off.delete(state)
    this.#tests.forget(state.index)
    this.#size--
    this.#replicas.set(state.index, undefined)
    this.#onPaper = this.#onPaper.filter((other) => other !== state)
    return state
  }

  named(name: string): PeerState | undefined {
    return this.#states.find((state) => state?.peer.name === name)
  }

  at(index: number): PeerState | undefined {
    return this.#states[index]
  }

  /** Indexes of those to ask for the key, best first, counted as tests of their digests. */
  candidates(key: LookupKey, nowMs: number): number[] {
    this.#tests.lookup(nowMs)
    for (const state of this.#onPaper) if (isConsulted(state, nowMs)) state.testedOnPaper()
    const claiming = this.claimants(key, nowMs)
    for (const state of claiming) state.guesses.claims++
    return claiming.filter(({ worth }) => !worth.isOff).map((state) => state.index)
  }

  /** Those that claim the key and are switched off: to be tried while no request waits. */
  claimantsOff(key: LookupKey, nowMs: number): PeerState[] {
    if (this.#off.size === 0) return []
    return [...this.#off].filter((state) => isConsulted(state, nowMs) && this.isClaimed(state, key))
  }

  /**
   * Peers whose digests may contain the key and that are consulted now, nearest and most truthful first, those that are
   * switched off among them.
   */
  claimants(key: LookupKey, nowMs: number): PeerState[] {
    const found: PeerState[] = []
    const count = this.#replicas.candidates(key, this.#claiming)
    for (let i = 0; i < count; i++) {
      const state = this.#states[this.#claiming[i]!]
      if (state !== undefined && isConsulted(state, nowMs)) found.push(state)
    }
    for (const state of this.#onPaper) {
      if (isConsulted(state, nowMs) && this.isClaimed(state, key)) found.push(state)
    }
    return found.length > 1 ? found.sort((a, b) => costOfHitMs(a) - costOfHitMs(b)) : found
  }

  /** Whether the peer's digest claims the key, consulted or not. */
  isClaimed(state: PeerState, key: LookupKey): boolean {
    if (state.paper === undefined) return state.digest.replica.mayContain(key)
    if (key.url === undefined || state.paper.geometry === undefined) return false
    return state.paper.mayContain(this.#paperHasher.hash(key.url, state.paper.geometry.probeCount))
  }

  all(): PeerState[] {
    return this.#states.filter((state) => state !== undefined)
  }

  get size(): number {
    return this.#size
  }

  /** An answer may still come from one that has been removed. */
  #switched(state: PeerState, isOff: boolean): void {
    if (isOff && this.#states[state.index] === state) this.#off.add(state)
    else this.#off.delete(state)
  }

  /** By arithmetic: all but the few whose digests come over the paper's wire. */
  #tested(): Tested[] {
    return this.all().map(({ digest, health, index, isConnected, paper }) => ({
      index,
      consultedUntilMs: paper === undefined && isConnected && health.mayBeAsked ? digest.provedUntilMs : -Infinity,
    }))
  }
}

/** It is there, its replica is proved, and it has not failed of late (PROTOCOL rule 9). */
export function isConsulted(state: PeerState, nowMs: number): boolean {
  return state.isConnected && state.health.mayBeAsked && isDigestUsable(state, nowMs)
}

/** How far behind it can be; on the paper's wire since it was fetched whole. */
export function replicaAgeMs({ digest, paper }: PeerState, nowMs: number): number {
  return paper === undefined ? digest.ageMs(nowMs) : paper.unmendedMs(nowMs)
}

/** Proved of late, or for want of proofs on the paper's wire: heard of late. */
export function isDigestUsable({ digest, paper }: PeerState, nowMs: number): boolean {
  return paper === undefined ? digest.isProved(nowMs) : paper.isCurrent(nowMs)
}
