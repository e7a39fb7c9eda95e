import type { FalseHitCause } from '../core/peers/guess-counts.ts'
import type { DigestFrameKind, DigestFramesSent, LocalMiss, PeerAsked, PeerProbed } from './proxy-event.ts'
import type { IcpCounts, InterCacheCounts } from './views.ts'

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
  #probes = 0
  #probeAnswers = 0
  #icpQueries = 0
  #icpBytes = 0

  sent(frames: DigestFramesSent): void {
    const bytes = frames.count * frames.bytes
    this.#framesSent[frames.frame] += frames.count
    this.#frameBytesSent[frames.frame] += bytes
    this.#frames += frames.count
    this.#frameBytes += bytes
    if (isUpdate(frames.frame)) this.#updates += frames.count
  }

  asked(asked: PeerAsked): void {
    this.#questions++
    this.#headBytes += asked.requestBytes + asked.replyBytes
    // A failure with a head was answered all the same: a 503, or a head whose body broke off.
    if (asked.replyBytes > 0 || asked.outcome === 'hit' || asked.outcome === 'false-hit') this.#answers++
    if (asked.outcome === 'failed') this.#failures++
    if (asked.outcome !== 'false-hit') return
    this.#falseHitCount++
    this.#falseHits[asked.cause ?? 'unknown']++
  }

  probed(probed: PeerProbed): void {
    this.#probes++
    if (probed.replyBytes > 0) this.#probeAnswers++
    this.#headBytes += probed.requestBytes + probed.replyBytes
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
      messagesFull: this.#frames + this.#questions + this.#answers + this.#probes + this.#probeAnswers,
      finding: this.#frames + this.#falseHitCount + this.#probes,
      bytes: this.#frameBytes + this.#headBytes,
      framesSent: { ...this.#framesSent },
      frameBytesSent: { ...this.#frameBytesSent },
    }
  }

  icp(): IcpCounts {
    return { messagesPaper: this.#icpQueries, messagesFull: 2 * this.#icpQueries, bytes: this.#icpBytes }
  }
}

/** Does it bring a peer's replica up to date? That is what the paper calls an update. */
export function isUpdate(frame: DigestFrameKind): boolean {
  return UPDATES[frame]
}

function noFrames(): Record<DigestFrameKind, number> {
  return { want: 0, snapshot: 0, delta: 0, turnover: 0, heartbeat: 0, goodbye: 0 }
}
