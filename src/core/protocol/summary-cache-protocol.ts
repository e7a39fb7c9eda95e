import { decodeDigestMessage } from '../digest/digest-codec.ts'
import type { ClaimListener } from '../directory/cache-directory.ts'
import type { KeyHash } from '../filter/key-hash.ts'
import { PeerTable } from '../peers/peer-table.ts'
import { DigestPublisher, type OutgoingFrame, type Publication, type PublisherOptions } from './digest-publisher.ts'
import type { Received } from './followed-digest.ts'
import { MalformedMessageError } from './malformed-message-error.ts'

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
  readonly #maxBitCount: number

  constructor(options: ProtocolOptions, nowMs: number) {
    this.publisher = new DigestPublisher(options, nowMs)
    this.#maxBitCount = options.maxBitCount
    this.peers = new PeerTable(options.maxBitCount, options.heartbeatMs)
  }

  /** The directory can now serve the key. */
  claimed(key: KeyHash): void {
    this.publisher.claimed(key)
  }

  /** It no longer can. */
  unclaimed(key: KeyHash): void {
    this.publisher.unclaimed(key)
  }

  /** A request that the directory could not answer. */
  localMiss(): void {
    this.publisher.localMiss()
  }

  /** What is due for every follower of our digest. */
  tick(nowMs: number): Publication | undefined {
    return this.publisher.tick(nowMs)
  }

  /** What a follower that sent `want` is to be sent. @throws {MalformedMessageError} */
  answer(want: Uint8Array, nowMs: number): readonly OutgoingFrame[] {
    const message = decodeDigestMessage(want, { maxBitCount: this.#maxBitCount })
    if (message.kind !== 'want') throw new MalformedMessageError('want', 0, `a ${message.kind} where a want belongs`)
    return this.publisher.catchUp(message.have, nowMs)
  }

  /** A frame of a peer's digest. Undefined: no such peer any more. */
  receive(peerIndex: number, frame: Uint8Array, nowMs: number): Received | undefined {
    return this.peers.at(peerIndex)?.digest.receive(frame, nowMs)
  }
}
