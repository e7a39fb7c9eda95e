import type { FalseHitCause } from '../core/peers/guess-counts.ts'
import type { DigestFrameKind, DigestFramesSent, LocalMiss, PeerAsked } from './proxy-event.ts'
import type { IcpCounts, InterCacheCounts } from './views.ts'

/** Frames that bring a peer's replica up to date: what the paper calls updates. */
const UPDATES: Readonly<Record<DigestFrameKind, boolean>> = {
  want: false,
  snapshot: true,
  delta: true,
  turnover: true,
  heartbeat: false,
  goodbye: false,
}

/**
 * What finding copies at peers has cost, and what ICP would have cost for the same local misses
 * (PROTOCOL: how messages are compared with ICP). Every event is counted as it happens, by the codecs' own sizes.
 */
export class MessagesAccount {
  readonly #framesSent = noFrames()
  readonly #frameBytesSent = noFrames()
  readonly #falseHits: Record<FalseHitCause, number> = {
    collision: 0,
    'pending-clear': 0,
    freshness: 0,
    variant: 0,
    unknown: 0,
  }
  #updates = 0
  #frames = 0
  #frameBytes = 0
  #questions = 0
  #answers = 0
  #headBytes = 0
  #falseHitCount = 0
  #failures = 0
  #icpQueries = 0
  #icpBytes = 0

  sent(frames: DigestFramesSent): void {
    const bytes = frames.count * frames.bytes
    this.#framesSent[frames.frame] += frames.count
    this.#frameBytesSent[frames.frame] += bytes
    this.#frames += frames.count
    this.#frameBytes += bytes
    if (UPDATES[frames.frame]) this.#updates += frames.count
  }

  asked(asked: PeerAsked): void {
    this.#questions++
    this.#headBytes += asked.requestBytes + asked.replyBytes
    // A failure with a head was answered all the same: a 503, or a head whose body broke off.
    if (asked.outcome !== 'failed' || asked.replyBytes > 0) this.#answers++
    if (asked.outcome === 'failed') this.#failures++
    if (asked.outcome !== 'false-hit') return
    this.#falseHitCount++
    this.#falseHits[asked.cause ?? 'unknown']++
  }

  missed(miss: LocalMiss): void {
    this.#icpQueries += miss.peers
    this.#icpBytes += miss.icpQueryBytes + miss.icpReplyBytes
  }

  falseHits(): Readonly<Record<FalseHitCause, number>> {
    return { ...this.#falseHits }
  }

  peerFailures(): number {
    return this.#failures
  }

  interCache(): InterCacheCounts {
    return {
      messagesPaper: this.#updates + this.#questions,
      messagesFull: this.#frames + this.#questions + this.#answers,
      finding: this.#frames + this.#falseHitCount,
      bytes: this.#frameBytes + this.#headBytes,
      framesSent: { ...this.#framesSent },
      frameBytesSent: { ...this.#frameBytesSent },
    }
  }

  icp(): IcpCounts {
    return { messagesPaper: this.#icpQueries, messagesFull: 2 * this.#icpQueries, bytes: this.#icpBytes }
  }
}

function noFrames(): Record<DigestFrameKind, number> {
  return { want: 0, snapshot: 0, delta: 0, turnover: 0, heartbeat: 0, goodbye: 0 }
}
