import { isUpdate } from './messages-account.ts'
import type { EventSink } from './ports.ts'
import type { DigestFrameKind, PeerAsked, PeerProbed, ProxyEvent } from './proxy-event.ts'
import type { PeerAccountView } from './views.ts'

interface Account {
  readonly frames: Record<DigestFrameKind, number>
  readonly frameBytes: Record<DigestFrameKind, number>
  questions: number
  probes: number
  answers: number
  headBytes: number
  /** Local misses, and what ICP's messages to one peer would have taken, before the peer came. */
  readonly missesBefore: number
  readonly icpBytesBefore: number
}

/**
 * What each peer costs and what ICP would have cost in its place, counted per event as it happens (PROTOCOL: how messages
 * are compared with ICP). A peer that is removed takes its account along.
 */
export class PeerAccounts implements EventSink {
  readonly #accounts = new Map<string, Account>()
  #misses = 0
  /** Of a query and a reply to one peer at each of them. */
  #icpBytes = 0

  emit(event: ProxyEvent): void {
    switch (event.kind) {
      case 'peer-changed':
        if (event.state === 'added') this.#accounts.set(event.peer, this.#newAccount())
        else if (event.state === 'removed') this.#accounts.delete(event.peer)
        return
      case 'digest-received':
        return this.#received(event.peer, event.frame, event.count, event.bytes)
      case 'peer-asked':
        return this.#asked('questions', event)
      case 'peer-probed':
        return this.#asked('probes', event)
      case 'local-miss':
        this.#misses++
        if (event.peers > 0) this.#icpBytes += (event.icpQueryBytes + event.icpReplyBytes) / event.peers
        return
      default:
        return
    }
  }

  /** Nothing but zeros for a peer that is not known. */
  of(peer: string): PeerAccountView {
    const account = this.#accounts.get(peer) ?? this.#newAccount()
    const { answers, frameBytes, frames, headBytes, probes, questions } = account
    const kinds = Object.keys(frames) as DigestFrameKind[]
    const allFrames = kinds.reduce((sum, kind) => sum + frames[kind], 0)
    const updates = kinds.reduce((sum, kind) => sum + (isUpdate(kind) ? frames[kind] : 0), 0)
    const misses = this.#misses - account.missesBefore
    return {
      messagesPaper: updates + questions,
      messagesFull: allFrames + questions + probes + answers,
      bytes: kinds.reduce((sum, kind) => sum + frameBytes[kind], 0) + headBytes,
      framesReceived: { ...frames },
      frameBytesReceived: { ...frameBytes },
      questions,
      probes,
      answers,
      headBytes,
      icp: {
        messagesPaper: misses,
        messagesFull: 2 * misses,
        bytes: Math.round(this.#icpBytes - account.icpBytesBefore),
      },
    }
  }

  #received(peer: string, frame: DigestFrameKind, count: number, bytes: number): void {
    // Wants come from whoever asks for our digest, known here or not.
    const account = this.#accounts.get(peer)
    if (account === undefined) return
    account.frames[frame] += count
    account.frameBytes[frame] += count * bytes
  }

  #asked(what: 'questions' | 'probes', { peer, replyBytes, requestBytes }: PeerAsked | PeerProbed): void {
    const account = this.#accounts.get(peer)
    if (account === undefined) return
    account[what]++
    if (replyBytes > 0) account.answers++
    account.headBytes += requestBytes + replyBytes
  }

  #newAccount(): Account {
    return {
      frames: { want: 0, snapshot: 0, delta: 0, turnover: 0, heartbeat: 0, goodbye: 0 },
      frameBytes: { want: 0, snapshot: 0, delta: 0, turnover: 0, heartbeat: 0, goodbye: 0 },
      questions: 0,
      probes: 0,
      answers: 0,
      headBytes: 0,
      missesBefore: this.#misses,
      icpBytesBefore: this.#icpBytes,
    }
  }
}
