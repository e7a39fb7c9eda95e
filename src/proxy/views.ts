import type { FilterGeometry } from '../core/filter/filter-geometry.ts'
import { CANDIDATE_VERDICTS } from '../core/peers/candidate-selection.ts'
import type { FalseHitCause, FalseMissCause } from '../core/peers/guess-counts.ts'
import type { AskWay } from '../core/peers/lookup-plan.ts'
import type { TransportName } from '../core/peers/transport-kinds.ts'
import type { DatagramDrop, DigestFrameKind, Outcome, TurnedAwayCause } from './proxy-event.ts'

// Plain values that describe a proxy to its operator: what the administration API answers with.

export interface ProxyStatus {
  readonly name: string
  readonly version: string
  readonly startedAt: string
  readonly uptimeMs: number
  readonly incarnation: number
  readonly proxyAddress: string
  readonly store: StoreView
  readonly peers: { readonly configured: number; readonly consulted: number }
}

export interface StoreView {
  readonly entries: number
  readonly usedBytes: number
  /** Held for responses on their way in and for readers of evicted ones. */
  readonly reservedBytes: number
  readonly capacityBytes: number
  readonly eviction: string
  readonly evictions: number
}

export interface PeerView {
  readonly name: string
  readonly url: string
  readonly transport: TransportName
  /** Whether its replicas can be proved: the paper's wire has nothing to prove them with. */
  readonly proved: boolean
  /** `up`: its replica is consulted. `unproved`: connected, nothing proved yet or not for too long. `suspended`: failed, tried again later. `switched-off`: asking it costs more than it saves. */
  readonly state: 'up' | 'unproved' | 'suspended' | 'connecting' | 'switched-off'
  readonly reason: string
  readonly guesses: GuessesView
  /** What asking it has saved against the origin's time, in all; negative where it has cost more. */
  readonly savedMs: number
  readonly account: PeerAccountView
  readonly digest: ReplicaView | null
}

export interface GuessesView {
  readonly tests: number
  readonly claims: number
  readonly trueHits: number
  readonly falseHits: Readonly<Record<FalseHitCause, number>>
  readonly failures: number
  /** Held by the peer, but stale: the false hits by freshness, as Summary Cache calls them. */
  readonly remoteStaleHits: number
  /** Asked on a sample though its digest did not claim the key, and had it all the same. */
  readonly probes: number
  readonly falseMisses: number
  /** Of those whose replica has caught up meanwhile. */
  readonly falseMissCauses: Readonly<Record<FalseMissCause, number>>
  /** False hits by collision per test that should have said no; null before the first. */
  readonly measuredError: number | null
}

/** What one peer has cost, and what ICP would have cost in its place. */
export interface PeerAccountView {
  /** Updates received, and questions. */
  readonly messagesPaper: number
  /** Every frame received, questions, probes and answers. */
  readonly messagesFull: number
  readonly bytes: number
  readonly framesReceived: Readonly<Record<DigestFrameKind, number>>
  readonly frameBytesReceived: Readonly<Record<DigestFrameKind, number>>
  readonly questions: number
  /** Questions that no request waited for. */
  readonly probes: number
  readonly answers: number
  /** Of questions and answers. */
  readonly headBytes: number
  readonly icp: IcpCounts
}

export interface DigestView {
  /** `incarnation.generation.sequence`; empty on the paper's wire, which has no names. */
  readonly name: string
  readonly geometry: FilterGeometry
  readonly entries: number
  readonly setBits: number
  /** Set bits over all bits. */
  readonly fill: number
  readonly bytes: number
  /** Chance that a key that is not held is claimed, from the fill. */
  readonly expectedError: number
}

export interface OwnDigestView extends DigestView {
  readonly profile: string
  readonly pendingClears: number
  readonly unpublishedChanges: number
  readonly lastPublishReason: string
  /** Comparisons of the summary with the directory, and the bits that did not agree: 0 for ever. */
  readonly audits: number
  readonly drift: { readonly missing: number; readonly surplus: number }
  /** Times that the published bits were not what their checksum said; 0 for ever. */
  readonly checksumFaults: number
  readonly followers: number
  /** Requests of peers for it that were refused, and streams that were cut off. */
  readonly turnedAway: Readonly<Record<TurnedAwayCause, number>>
}

export interface ReplicaView extends DigestView {
  readonly proved: boolean
  /** Since the last frame that proved it; where nothing is proved, since the last that came. */
  readonly provedAgoMs: number
  /**
   * Age of its oldest change that had not reached us when last proved, plus the time since: how far behind it can be. On the paper's wire the time since it was
   * fetched whole.
   */
  readonly ageMs: number
}

/** One peer's digest as we hold it; null where nothing has been proved yet. */
export interface HeldDigestView {
  readonly peer: string
  readonly digest: ReplicaView | null
  /** As in its `GuessesView`, beside the digest's expected error. */
  readonly measuredError: number | null
}

export interface ClusterView {
  readonly proxies: readonly ClusterMember[]
}

export interface ClusterMember {
  readonly name: string
  readonly url: string
  /** False: its figures could not be had; `reason` says why. */
  readonly reachable: boolean
  readonly reason: string
  readonly statistics: Statistics | null
  readonly peers: readonly PeerView[]
}

/** Counted since the start. Bytes between proxies are heads and digest frames, never bodies. */
export interface Statistics {
  readonly requests: number
  readonly byOutcome: Readonly<Record<Outcome, number>>
  /** Only-if-cached questions from peers: asked of us, and answered from our store. */
  readonly peerRequests: { readonly asked: number; readonly served: number }
  readonly bytesToClients: number
  /** Of answers to clients, by where the body came from; tunnels and our own answers left out. */
  readonly bodyBytes: { readonly local: number; readonly remote: number; readonly origin: number }
  /** Shares of all clients' requests. A validated hit is a local one, as in Squid's counters. */
  readonly hitRatio: { readonly local: number; readonly remote: number }
  readonly falseHits: Readonly<Record<FalseHitCause, number>>
  readonly peerFailures: number
  readonly originRequests: {
    readonly fetched: number
    readonly validated: number
    readonly failed: number
  }
  /** On the paper's wire, by cause. */
  readonly datagramsDropped: Readonly<Record<DatagramDrop, number>>
  readonly interCache: InterCacheCounts
  readonly icp: IcpCounts
}

/** What finding copies at peers has cost (PROTOCOL: how messages are compared with ICP). */
export interface InterCacheCounts {
  /** Updates sent, one per peer, and requests sent to peers. */
  readonly messagesPaper: number
  /** Every message: frames sent, requests to peers and their answers. */
  readonly messagesFull: number
  /** Frames sent and false hits: finding alone. */
  readonly finding: number
  readonly bytes: number
  readonly framesSent: Readonly<Record<DigestFrameKind, number>>
  readonly frameBytesSent: Readonly<Record<DigestFrameKind, number>>
}

/** What ICP would have cost for the same local misses. */
export interface IcpCounts {
  readonly messagesPaper: number
  readonly messagesFull: number
  readonly bytes: number
}

export interface EntryView {
  readonly url: string
  readonly variant: string
  readonly status: number
  readonly contentType: string | null
  readonly bodyBytes: number
  readonly ageMs: number
  /** Negative: stale since. Null: never fresh. */
  readonly freshForMs: number | null
  readonly claimed: boolean
}

/** `not-needed`: it would be asked if the store had nothing of it. */
export const PEER_CHOICES = [...CANDIDATE_VERDICTS, 'not-needed'] as const
export type PeerChoice = (typeof PEER_CHOICES)[number]

/** What would be done with `GET url` now, and why. */
export interface Explanation {
  readonly url: string
  readonly key: string
  readonly probes: readonly number[]
  readonly directory: {
    readonly held: boolean
    readonly verdict: string
    readonly entries: readonly EntryView[]
  }
  /** The policy that decides on peers now. */
  readonly lookup: {
    readonly ask: AskWay
    readonly tries: number
    /** What is configured, or less where the origin is quick. */
    readonly addedDelayMs: number
    /** Smoothed; null before its first answer. */
    readonly originMs: number | null
  }
  readonly peers: readonly {
    readonly name: string
    readonly claims: boolean
    readonly consulted: boolean
    readonly choice: PeerChoice
    readonly reason: string
  }[]
  /** In order: `serve from store`, `ask peer b`, `fetch from origin http://...`. */
  readonly plan: readonly string[]
}
