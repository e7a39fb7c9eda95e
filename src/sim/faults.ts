import type { EvictionKind } from '../core/directory/eviction-kinds.ts'
import { DEFAULT_LOOKUP_POLICY, type LookupPolicy } from '../core/peers/lookup-plan.ts'
import type { SharingMode } from '../core/peers/sharing-mode.ts'
import type { UpdateProfile } from '../core/protocol/update-policy.ts'
import type { ProtocolVersion } from '../proxy/ports.ts'
import { SeededRandom } from './seeded-random.ts'
import type { LinkFault, NetworkMode } from './sim-network.ts'

/** One thing that happens to the cluster. Proxies are named by their index. */
export type Action = { readonly atMs: number } & (
  | {
      readonly kind: 'request'
      readonly proxy: number
      readonly document: number
      readonly method: 'GET' | 'HEAD' | 'POST'
      readonly language: string
      /** Cache-Control of the client. */
      readonly demand: string
      /** When the client goes away; undefined: it waits. */
      readonly patienceMs: number | undefined
    }
  | {
      readonly kind: 'link'
      readonly from: number
      readonly to: number
      readonly forMs: number
      readonly fault: LinkFault
    }
  /** No message gets from the one side to the other, nor back. */
  | { readonly kind: 'partition'; readonly side: readonly number[]; readonly forMs: number }
  | {
      readonly kind: 'restart'
      readonly proxy: number
      readonly isClean: boolean
      readonly keepsStore: boolean
      readonly downMs: number
    }
  | { readonly kind: 'leave'; readonly proxy: number; readonly forMs: number }
  | { readonly kind: 'clock-step'; readonly proxy: number; readonly byMs: number }
  | { readonly kind: 'change'; readonly document: number }
  | { readonly kind: 'origin-trouble'; readonly what: 'failing' | 'slow'; readonly forMs: number }
  | { readonly kind: 'purge'; readonly proxy: number; readonly document: number }
  | { readonly kind: 'publish'; readonly proxy: number }
  | { readonly kind: 'new-generation'; readonly proxy: number }
  /** It sends frames that do not keep the rules, to all who follow it. */
  | { readonly kind: 'lie'; readonly proxy: number; readonly lie: Lie; readonly forMs: number }
)

const LIES = ['checksum', 'full', 'huge', 'garbage', 'ahead'] as const
/**
 * 'checksum': of other bits than were sent. 'full': a digest that claims everything. 'huge': one of 2^31 bits. 'garbage':
 * no frame. 'ahead': a flood of deltas that lead on from nothing.
 */
export type Lie = (typeof LIES)[number]

export interface Setting {
  readonly proxyCount: number
  readonly documentCount: number
  readonly mode: NetworkMode
  readonly durationMs: number
  readonly expectedEntries: number
  readonly profile: UpdateProfile
  readonly pendingClearShare: number
  readonly generationAgeMs: number
  readonly heartbeatMs: number
  readonly capacityBytes: number
  readonly eviction: EvictionKind
  readonly fillMs: number
  readonly fillFailureShare: number
  readonly lookup: LookupPolicy
  readonly switchesOff: boolean
  readonly probeShare: number
  readonly sharing: SharingMode
  /** By proxy. */
  readonly versions: readonly ProtocolVersion[]
}

/** All that a seed decides before it starts. */
export interface Plan {
  readonly seed: number
  readonly setting: Setting
  /** In the order of their moments. */
  readonly actions: readonly Action[]
}

export interface PlanOptions {
  /** By the seed's choice when not given. */
  readonly proxyCount?: number | undefined
}

const LANGUAGES = ['en', 'de']
const DEMANDS = ['', '', '', '', '', '', 'no-cache', 'max-age=0', 'max-age=2', 'no-store', 'min-fresh=2', 'max-stale=5']
const PROFILES: readonly UpdateProfile[] = ['fresh', 'fresh', 'balanced', 'balanced', 'thrifty']

export function planOf(seed: number, options: PlanOptions = {}): Plan {
  const random = new SeededRandom(seed)
  const setting = settingOf(random.fork(1), options)
  const actions = [...requests(random.fork(2), setting), ...faults(random.fork(3), setting)]
  return { seed, setting, actions: actions.sort((a, b) => a.atMs - b.atMs) }
}

function settingOf(random: SeededRandom, options: PlanOptions): Setting {
  const proxyCount = options.proxyCount ?? random.between(2, 6)
  const documentCount = random.pick([12, 40, 120])
  const mode = random.chance(0.7) ? 'streams' : 'datagrams'
  // A version 1 that has not been upgraded yet, in one cluster of five. It opens a stream anew for whatever it lacks, which
  // nothing but a stream that keeps its order can end.
  const mixes = mode === 'streams' && random.chance(0.3)
  return {
    proxyCount,
    documentCount,
    mode,
    // Long ones, in which entries go stale in their digests, are few.
    durationMs: random.pick([6_000, 6_000, 10_000, 10_000, 10_000, 15_000, 20_000, 100_000]),
    // A digest that grows stays within what its peers accept, which is 16 times as much.
    expectedEntries: random.pick(documentCount > 64 ? [32, 64, 256] : [8, 32, 64, 256]),
    profile: random.pick(PROFILES),
    pendingClearShare: random.pick([0.03, 0.03, 0.2]),
    generationAgeMs: random.pick([3_000, 20_000, 86_400_000, 86_400_000]),
    heartbeatMs: random.pick([500, 1_000, 1_000, 5_000]),
    capacityBytes: random.pick([12_000, 40_000, 200_000]),
    eviction: random.pick(['sieve', 'lru']),
    fillMs: random.pick([0, 20, 400]),
    fillFailureShare: random.pick([0, 0.05]),
    lookup: { ...DEFAULT_LOOKUP_POLICY, ask: random.pick(['best', 'best', 'all']), tries: random.between(1, 3) },
    switchesOff: random.chance(0.7),
    probeShare: random.pick([0, 0.1]),
    sharing: random.pick(['copy', 'copy', 'single-copy']),
    versions: Array.from({ length: proxyCount }, () => (mixes && random.chance(0.5) ? 1 : 2)),
  }
}

function requests(random: SeededRandom, { documentCount, durationMs, proxyCount }: Setting): Action[] {
  const count = random.pick([40, 80, 150, 400])
  return Array.from({ length: count }, () => ({
    kind: 'request',
    atMs: whole(random.next() * durationMs),
    proxy: random.between(0, proxyCount - 1),
    // Some documents are wanted much more than others.
    document: Math.floor(random.next() ** 2 * documentCount),
    method: random.chance(0.02) ? 'POST' : random.chance(0.05) ? 'HEAD' : 'GET',
    language: random.pick(LANGUAGES),
    demand: random.pick(DEMANDS),
    patienceMs: random.chance(0.05) ? random.between(0, 100) : undefined,
  }))
}

function faults(random: SeededRandom, setting: Setting): Action[] {
  const count = random.between(0, 30)
  const actions: Action[] = []
  for (let i = 0; i < count; i++) actions.push(fault(random, setting))
  return actions
}

function fault(random: SeededRandom, { documentCount, durationMs, proxyCount }: Setting): Action {
  const atMs = whole(random.next() * durationMs)
  const proxy = random.between(0, proxyCount - 1)
  const document = random.between(0, documentCount - 1)
  const forMs = whole(random.next() ** 2 * durationMs * 0.6)
  const dice = random.between(0, 99)
  if (dice < 36) {
    const to = (proxy + random.between(1, proxyCount - 1)) % proxyCount
    return { kind: 'link', atMs, from: proxy, to, forMs, fault: linkFault(random) }
  }
  if (dice < 44) {
    const side = Array.from({ length: proxyCount }, (_, i) => i).filter(() => random.chance(0.5))
    return { kind: 'partition', atMs, side, forMs }
  }
  if (dice < 56) {
    const downMs = whole(random.next() ** 2 * 8_000)
    return { kind: 'restart', atMs, proxy, isClean: random.chance(0.4), keepsStore: random.chance(0.5), downMs }
  }
  if (dice < 60) return { kind: 'leave', atMs, proxy, forMs }
  if (dice < 64) return { kind: 'clock-step', atMs, proxy, byMs: random.pick([-3_600_000, -5_000, 5_000, 3_600_000]) }
  if (dice < 76) return { kind: 'change', atMs, document }
  if (dice < 80) return { kind: 'origin-trouble', atMs, what: random.pick(['failing', 'slow']), forMs }
  if (dice < 86) return { kind: 'purge', atMs, proxy, document }
  if (dice < 89) return { kind: 'publish', atMs, proxy }
  if (dice < 94) return { kind: 'new-generation', atMs, proxy }
  return { kind: 'lie', atMs, proxy, lie: random.pick(LIES), forMs }
}

function linkFault(random: SeededRandom): LinkFault {
  const share = random.pick([0.02, 0.1, 0.5])
  const kinds: readonly LinkFault[] = [
    { lossShare: share },
    { repeatShare: share },
    { reorderShare: share },
    { corruptShare: share / 2 },
    { delayMs: random.pick([50, 300, 1_500]) },
    { isCut: true },
    { lossShare: share, repeatShare: share, reorderShare: share },
    { lossShare: share, corruptShare: share / 2 },
  ]
  return random.pick(kinds)
}

function whole(ms: number): number {
  return Math.floor(ms)
}
