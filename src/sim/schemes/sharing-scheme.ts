import type { ClaimListener } from '../../core/directory/cache-directory.ts'
import type { FilterGeometry } from '../../core/filter/filter-geometry.ts'
import type { CacheKey } from '../../core/http/cache-key.ts'
import type { FalseHitCause } from '../../core/peers/guess-counts.ts'
import type { UpdateProfile } from '../../core/protocol/update-policy.ts'
import type { InterCacheCounts, Statistics } from '../../proxy/views.ts'
import type { SimProxy } from '../sim-proxy.ts'

/** How proxies learn what the others hold. Proxies are named by their index. */
export interface SharingScheme {
  /** Whom each proxy's directory is to tell of its claims. */
  claims(proxy: number): ClaimListener
  /** Called once, before anything else. */
  start(proxies: readonly SimProxy[]): void
  /** All that is due until `nowMs`, which never falls. */
  advance(nowMs: number): void
  /** The peers to ask after a local miss, in order. */
  candidates(asker: number, key: CacheKey, nowMs: number): readonly number[]
  /** Why `holder`, which lacks the key, was a candidate. */
  falseHitCause(holder: number, key: CacheKey): FalseHitCause
}

export interface DigestSettings {
  readonly profile: UpdateProfile
  readonly geometry: FilterGeometry
  readonly heartbeatMs: number
}

export interface SchemeSettings {
  readonly proxyCount: number
  /** Virtual time at the beginning. */
  readonly startMs: number
  readonly digest: DigestSettings
}

/** What a scheme's messages between the proxies have cost (PROTOCOL: how messages are compared with ICP). */
export type SchemeMessages = Pick<InterCacheCounts, 'messagesPaper' | 'messagesFull' | 'finding' | 'bytes'>

export interface SchemeKind {
  create(settings: SchemeSettings): SharingScheme
  /** A local miss that a peer could have answered is the scheme's fault. */
  readonly shares: boolean
  /** Which of one proxy's counts are this scheme's messages. */
  messages(statistics: Statistics): SchemeMessages
}

/** For schemes that need not be told. */
export const NO_CLAIMS: ClaimListener = { claimed: () => undefined, unclaimed: () => undefined, moved: () => undefined }
