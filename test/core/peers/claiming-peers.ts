import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import type { CacheKey } from '../../../src/core/http/cache-key.ts'
import type { PeerState } from '../../../src/core/peers/peer-table.ts'
import { SummaryCacheProtocol } from '../../../src/core/protocol/summary-cache-protocol.ts'
import { UPDATE_PROFILES } from '../../../src/core/protocol/update-policy.ts'
import { answered } from '../protocol/driving.ts'

export function newProtocol(incarnation = 1): SummaryCacheProtocol {
  const geometry = geometryFor(20)
  return new SummaryCacheProtocol(
    {
      incarnation,
      geometry,
      policy: UPDATE_PROFILES.fresh(),
      pendingClearShare: 0.03,
      generationAgeMs: 86_400_000,
      heartbeatMs: 3_600_000,
      maxBitCount: geometry.bitCount,
    },
    0,
  )
}

/** A peer of the asker that holds these keys and has published them. */
export function addPublished(
  asker: SummaryCacheProtocol,
  name: string,
  keys: readonly CacheKey[],
  publisher = newProtocol(),
): PeerState {
  for (const key of keys) publisher.claimed(key, 0)
  publisher.publisher.publish(0, 'command')
  const state = asker.peers.add({ name, url: `http://${name}` })!
  follow(asker, state, publisher, 0)
  return state
}

/** All that the publisher has published reaches the asker. */
export function follow(
  asker: SummaryCacheProtocol,
  { digest, index }: PeerState,
  publisher: SummaryCacheProtocol,
  nowMs: number,
): void {
  for (const { frame } of answered(publisher, digest.want(), nowMs)) asker.receive(index, frame, nowMs)
  while (digest.work(nowMs)) continue
}
