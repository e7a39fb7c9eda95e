import { decodeDigestMessage } from '../digest/digest-codec.ts'
import type { ClaimListener } from '../directory/cache-directory.ts'
import type { ClaimSource } from '../filter/claim-source.ts'
import type { KeyHash } from '../filter/key-hash.ts'
import { PeerTable } from '../peers/peer-table.ts'
import { DigestPublisher, type Publication, type PublisherOptions } from './digest-publisher.ts'
import type { Received } from './followed-digest.ts'
import { MalformedMessageError } from './malformed-message-error.ts'
import { peerBudgets, type PeerBudgets } from './peer-budgets.ts'
import { WantAnswer } from './want-answer.ts'

export interface ProtocolOptions extends PublisherOptions {
  /** A peer's digest with more bits is refused. */
  readonly maxBitCount: number
}

/**
 * The Summary Cache protocol of one proxy: what it publishes of itself and what it knows of its peers. Events and frames
 * go in, frames come out; it knows no socket, clock or chance. Live, simulated and under test it is this very code.
 */
export class SummaryCacheProtocol implements ClaimListener {
  readonly publisher: DigestPublisher
  readonly peers: PeerTable
  readonly budgets: PeerBudgets
  readonly #maxBitCount: number

  constructor(options: ProtocolOptions, nowMs: number) {
    const { geometry, heartbeatMs, maxBitCount } = options
    this.publisher = new DigestPublisher(options, nowMs)
    this.#maxBitCount = maxBitCount
    this.budgets = peerBudgets(maxBitCount, geometry.bitCount)
    this.peers = new PeerTable({ maxBitCount, hashing: geometry, heartbeatMs, budgets: this.budgets })
  }

  /** The directory whose claims are told: what the summary is compared with and rebuilt from. */
  rebuildFrom(source: ClaimSource): void {
    this.publisher.rebuildFrom(source)
  }

  /** The directory can now serve the key, by what is in that slot. */
  claimed(key: KeyHash, holder: number): void {
    this.publisher.claimed(key, holder)
  }

  /** It no longer can. */
  unclaimed(key: KeyHash, holder: number): void {
    this.publisher.unclaimed(key, holder)
  }

  /** It can, by what is in another slot. */
  moved(key: KeyHash, from: number, to: number): void {
    this.publisher.moved(key, from, to)
  }

  /** A request that the directory could not answer. */
  localMiss(): void {
    this.publisher.localMiss()
  }

  /** What is due for every follower of our digest. */
  tick(nowMs: number): Publication | undefined {
    return this.publisher.tick(nowMs)
  }

  /**
   * What a follower that sent `want` is to be sent.
   * @param inStream with a snapshot among the frames where one is needed
   * @throws {MalformedMessageError}
   */
  answer(want: Uint8Array, inStream: boolean): WantAnswer {
    const message = decodeDigestMessage(want, { maxBitCount: this.#maxBitCount })
    if (message.kind !== 'want') throw new MalformedMessageError('want', 0, `a ${message.kind} where a want belongs`)
    return new WantAnswer(this.publisher, message, inStream)
  }

  /** A frame of a peer's digest. Undefined: no such peer any more. */
  receive(peerIndex: number, frame: Uint8Array, nowMs: number): Received | undefined {
    return this.peers.at(peerIndex)?.digest.receive(frame, nowMs)
  }
}
