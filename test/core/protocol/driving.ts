import type { DigestPublisher, OutgoingFrame, Publication } from '../../../src/core/protocol/digest-publisher.ts'
import type { SummaryCacheProtocol } from '../../../src/core/protocol/summary-cache-protocol.ts'

// What a live proxy does in slices, done at once.

/** What is due, with the next generation if that is due. */
export function due(publisher: DigestPublisher, nowMs: number): Publication | undefined {
  return publisher.tick(nowMs) ?? finished(publisher, nowMs)
}

/** A new generation of the bits in use. */
export function turnOver(publisher: DigestPublisher, nowMs: number): Publication {
  publisher.beginGeneration({ reason: 'command', refill: undefined })
  return finished(publisher, nowMs)!
}

/** The frames that answer a want, a snapshot among them where one is needed. */
export function answered(protocol: SummaryCacheProtocol, want: Uint8Array, nowMs: number): readonly OutgoingFrame[] {
  const answer = protocol.answer(want, true)
  while (answer.work(64, nowMs)) continue
  return answer.frames(nowMs)
}

export function snapshotOf(publisher: DigestPublisher, nowMs: number): Uint8Array {
  while (publisher.encodeSnapshot(64, nowMs)) continue
  return publisher.keptSnapshot()!.frame
}

function finished(publisher: DigestPublisher, nowMs: number): Publication | undefined {
  while (publisher.hasWork) {
    const publication = publisher.work(64, nowMs)
    if (publication !== undefined) return publication
  }
  return undefined
}
