import type { FalseHitCause } from '../core/peers/guess-counts.ts'

/** How a request ended, in the words of Summary Cache. */
export const OUTCOMES = [
  'local-hit', // answered from our store without asking anyone
  'validated-hit', // answered from our store after the origin's 304
  'remote-hit', // a peer had it
  'miss', // the origin's answer, which might have been stored
  'pass', // the origin's answer to a request that no cache may answer (POST, Range, no-store, ...)
  'tunnel', // CONNECT
  'unheld', // only-if-cached, and not to be served from here: 504
  'refused', // malformed, forbidden or looping: our own answer
  'failed', // neither peer nor origin gave an answer: our own 502, 503 or 504
] as const
export type Outcome = (typeof OUTCOMES)[number]

/** A request has ended, well or not. The access log's and the counters' source. */
export interface RequestEnded {
  readonly kind: 'request-ended'
  readonly wallMs: number
  readonly elapsedMs: number
  readonly client: string
  /** It came from another proxy of the cluster (RFC 2187: an only-if-cached question), not from a client of ours. */
  readonly fromPeer: boolean
  readonly method: string
  readonly url: string
  readonly status: number
  readonly outcome: Outcome
  /** Head and body, as sent. */
  readonly bytesToClient: number
  readonly bodyBytes: number
  readonly contentType: string | undefined
  /** Host of the origin or name of the peer that gave the answer; undefined when nobody was asked. */
  readonly server: string | undefined
  /** The client went away, or the source broke off, before the end. */
  readonly aborted: boolean
}

/** A peer was asked for an object with only-if-cached. Bytes are those of the heads, both ways. */
export interface PeerAsked {
  readonly kind: 'peer-asked'
  readonly peer: string
  /** 'cancelled': another that was asked at the same time had it first. */
  readonly outcome: 'hit' | 'false-hit' | 'failed' | 'cancelled'
  readonly cause: FalseHitCause | undefined
  readonly requestBytes: number
  readonly replyBytes: number
  readonly elapsedMs: number
}

/** A peer was asked for a head while no request waited: it does not claim the key, or is switched off. */
export interface PeerProbed {
  readonly kind: 'peer-probed'
  readonly peer: string
  readonly why: 'unclaimed' | 'switched-off'
  readonly outcome: 'hit' | 'false-hit' | 'failed'
  /** How far behind our replica could be when it was asked. */
  readonly replicaAgeMs: number
  readonly requestBytes: number
  readonly replyBytes: number
  readonly elapsedMs: number
}

/**
 * A request that our store could not answer, at the moment ICP would have queried every peer.
 * The ICP bytes are counted by the ICP codec, one query and one reply per peer.
 */
export interface LocalMiss {
  readonly kind: 'local-miss'
  readonly peers: number
  readonly icpQueryBytes: number
  readonly icpReplyBytes: number
}

export interface OriginAsked {
  readonly kind: 'origin-asked'
  readonly outcome: 'fetched' | 'validated' | 'failed'
}

export const DIGEST_FRAME_KINDS = ['want', 'snapshot', 'delta', 'turnover', 'heartbeat', 'goodbye'] as const
export type DigestFrameKind = (typeof DIGEST_FRAME_KINDS)[number]

/**
 * Digest frames; `bytes` is one frame's size, with its length prefix where it has one. On the paper's wire a datagram with
 * records counts as a delta, one without as a heartbeat, and the fetch of a whole digest as a want and a snapshot.
 */
export interface DigestFramesSent {
  readonly kind: 'digest-sent'
  readonly frame: DigestFrameKind
  /** To how many peers it went. */
  readonly count: number
  readonly bytes: number
}

export interface DigestFramesReceived {
  readonly kind: 'digest-received'
  /** Its name, or its address where it did not say. */
  readonly peer: string
  readonly frame: DigestFrameKind
  readonly count: number
  readonly bytes: number
}

/** Something about a peer that an operator wants to see in the log. */
export interface PeerChanged {
  readonly kind: 'peer-changed'
  readonly peer: string
  readonly state:
    | 'added'
    | 'removed'
    | 'connected'
    | 'disconnected'
    | 'suspended'
    | 'recovered'
    | 'refused'
    | 'switched-off'
    | 'switched-on'
  readonly reason: string
}

export interface DigestTurned {
  readonly kind: 'digest-turned'
  readonly incarnation: number
  readonly generation: number
  readonly reason: string
}

/**
 * Why a datagram of the paper's wire came to nothing: from an address that is no peer's, beyond its sender's share of a
 * second, with a format or content that was refused, or not to be sent.
 */
export const DATAGRAM_DROPS = ['unknown-sender', 'over-rate', 'malformed', 'unsent'] as const
export type DatagramDrop = (typeof DATAGRAM_DROPS)[number]

/** Counted up, and told once a second at most. */
export interface DatagramsDropped {
  readonly kind: 'datagrams-dropped'
  readonly cause: DatagramDrop
  readonly count: number
}

/** Why a peer did not get, or no longer gets, what it asked of our digest. */
export const TURNED_AWAY_CAUSES = [
  'certificate', // none, or not of the cluster's CA
  'signature', // none, or one that does not hold
  'malformed', // no message of the protocol
  'share', // more than its share of answers
  'full', // no place for another follower
  'slow', // it did not read what was sent
] as const
export type TurnedAwayCause = (typeof TURNED_AWAY_CAUSES)[number]

export interface PeerTurnedAway {
  readonly kind: 'peer-turned-away'
  /** The name that it gives itself, or its address. */
  readonly peer: string
  readonly cause: TurnedAwayCause
  readonly reason: string
}

export type ProxyEvent =
  | RequestEnded
  | PeerAsked
  | PeerProbed
  | LocalMiss
  | OriginAsked
  | DigestFramesSent
  | DigestFramesReceived
  | PeerChanged
  | PeerTurnedAway
  | DigestTurned
  | DatagramsDropped
