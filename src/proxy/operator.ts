import type { CacheDirectory, DirectoryEntry } from '../core/directory/cache-directory.ts'
import { formatName } from '../core/digest/digest-name.ts'
import type { StateHead } from '../core/digest/state-head.ts'
import type { FilterGeometry } from '../core/filter/filter-geometry.ts'
import { entriesFromFill, falseHitRateAtFill } from '../core/filter/filter-sizing.ts'
import { probePositions } from '../core/filter/probing.ts'
import { normalUrl, type CacheKey, type KeyOf } from '../core/http/cache-key.ts'
import { Fields } from '../core/http/fields.ts'
import { currentAgeMs, freshUntilMs, requestFacts } from '../core/http/freshness.ts'
import { judgeReuse } from '../core/http/reuse.ts'
import { measuredError } from '../core/peers/guess-counts.ts'
import type { LookupPolicy } from '../core/peers/lookup-plan.ts'
import { transportOf, type Peer } from '../core/peers/peer.ts'
import { isConsulted, isDigestUsable, MAX_PEERS, replicaAgeMs, type PeerState } from '../core/peers/peer-table.ts'
import { transportKinds, type TransportName } from '../core/peers/transport-kinds.ts'
import type { SummaryCacheProtocol } from '../core/protocol/summary-cache-protocol.ts'
import type { PaperReplica } from '../core/protocol/paper-replica.ts'
import type { DigestExchange } from './digest-exchange.ts'
import type { EventFanOut } from './event-fan-out.ts'
import { explainLookup } from './explanation.ts'
import type { Clock, PeerFollowing } from './ports.ts'
import type { PeerChange, ProxyControl } from './proxy-control.ts'
import type { ProxyEvent } from './proxy-event.ts'
import type { PeerAccounts } from './peer-accounts.ts'
import type { ProxyMetrics } from './proxy-metrics.ts'
import type {
  ClusterMember,
  ClusterView,
  DigestView,
  EntryView,
  Explanation,
  HeldDigestView,
  OwnDigestView,
  PeerView,
  ProxyStatus,
  ReplicaView,
  Statistics,
} from './views.ts'

export interface OperatorParts {
  readonly name: string
  readonly version: string
  readonly proxyAddress: string
  readonly profile: string
  readonly eviction: string
  readonly keyOf: KeyOf
  readonly lookup: LookupPolicy
  /** How long the origin takes, as far as is known. */
  readonly originMs: () => number | undefined
  readonly accounts: PeerAccounts
  readonly protocol: SummaryCacheProtocol
  readonly exchange: DigestExchange
  /** Who follows the peers of each transport; undefined: it is switched off. */
  readonly following: Readonly<Record<TransportName, PeerFollowing | undefined>>
  /** Sends what has changed on the transports beside HTTP. */
  readonly publishUpdates: () => void
  readonly directory: CacheDirectory
  /** Forgets every variant of a key; returns how many went. */
  readonly purge: (key: CacheKey) => number
  readonly metrics: ProxyMetrics
  readonly events: EventFanOut
  readonly clock: Clock
  /** Peers that follow our digest now. */
  readonly followerCount: () => number
  /** A peer's account of itself. @throws when it cannot be had */
  readonly describePeer: (peer: Peer, signal: AbortSignal) => Promise<ClusterMember>
}

/** A running proxy as its operator sees and steers it: the administration API's other end. */
export class Operator implements ProxyControl {
  readonly #parts: OperatorParts
  readonly #startedWallMs: number
  readonly #startedMs: number
  readonly #peerReasons = new Map<string, string>()
  #listening = true

  constructor(parts: OperatorParts) {
    this.#parts = parts
    this.#startedWallMs = parts.clock.wallMs()
    this.#startedMs = parts.clock.monotonicMs()
    parts.events.subscribe((event) => this.#note(event))
  }

  /** The proxy is about to stop: load balancers should look elsewhere. */
  leaving(): void {
    this.#listening = false
  }

  readiness(): { readonly ready: boolean; readonly reason: string } {
    if (!this.#listening) return { ready: false, reason: 'stopping' }
    const nowMs = this.#parts.clock.monotonicMs()
    for (const state of this.#parts.protocol.peers.all()) {
      // A peer that serves no whole digest may have nothing to tell for long.
      const isHere = isDigestUsable(state, nowMs) || (state.paper !== undefined && state.isConnected)
      const settled = isHere || this.#peerReasons.has(state.peer.name)
      if (!settled) return { ready: false, reason: `no digest of ${state.peer.name} yet` }
    }
    return { ready: true, reason: 'serving' }
  }

  status(): ProxyStatus {
    const { name, version, proxyAddress, protocol, clock, directory, eviction } = this.#parts
    const nowMs = clock.monotonicMs()
    const peers = protocol.peers.all()
    return {
      name,
      version,
      startedAt: new Date(this.#startedWallMs).toISOString(),
      uptimeMs: Math.round(nowMs - this.#startedMs),
      incarnation: protocol.publisher.name.incarnation,
      proxyAddress,
      store: {
        entries: directory.entryCount,
        usedBytes: directory.usedBytes,
        reservedBytes: directory.reservedBytes,
        capacityBytes: directory.capacityBytes,
        eviction,
        evictions: directory.evictionCount,
      },
      peers: { configured: peers.length, consulted: peers.filter((state) => isConsulted(state, nowMs)).length },
    }
  }

  statistics(): Statistics {
    return this.#parts.metrics.statistics()
  }

  peers(): readonly PeerView[] {
    return this.#parts.protocol.peers.all().map((state) => this.#peerView(state))
  }

  addPeer(peer: Peer): PeerChange {
    const { following, name, protocol } = this.#parts
    const transport = transportOf(peer)
    if (peer.name === name) return 'own-name'
    if (protocol.peers.named(peer.name) !== undefined) return 'name-taken'
    if (protocol.peers.size >= MAX_PEERS) return 'too-many-peers'
    if (transportKinds[transport].takesUpdates !== (peer.updates !== undefined)) return 'updates-address'
    const follower = following[transport]
    if (follower === undefined) return 'transport-off'
    follower.follow(peer)
    return 'done'
  }

  changePeer(name: string, url: string, updates?: string): PeerChange {
    const peer = this.#parts.protocol.peers.named(name)?.peer
    if (peer === undefined) return 'unknown-peer'
    if (updates !== undefined && peer.updates === undefined) return 'updates-address'
    this.removePeer(name)
    return this.addPeer({ ...peer, url, ...(updates !== undefined && { updates }) })
  }

  removePeer(name: string): PeerChange {
    const { following, protocol } = this.#parts
    this.#peerReasons.delete(name)
    const peer = protocol.peers.named(name)?.peer
    return peer !== undefined && following[transportOf(peer)]?.leave(name) === true ? 'done' : 'unknown-peer'
  }

  ownDigest(): OwnDigestView {
    const { metrics, profile, protocol, followerCount } = this.#parts
    const { publisher } = protocol
    const { summary } = publisher
    return {
      ...digestView(summary.geometry, formatName(publisher.name), summary.entryCount, summary.setBitCount),
      profile,
      pendingClears: summary.pendingClearCount,
      unpublishedChanges: summary.openChangeCount,
      lastPublishReason: publisher.lastReason,
      audits: publisher.auditCount,
      drift: publisher.drift,
      checksumFaults: publisher.checksumFaults,
      followers: followerCount(),
      turnedAway: metrics.turnedAway(),
    }
  }

  replicas(): readonly HeldDigestView[] {
    return this.#parts.protocol.peers.all().map((state) => ({
      peer: state.peer.name,
      digest: this.#replicaView(state),
      measuredError: measuredError(state.guesses),
    }))
  }

  publishNow(): string {
    this.#parts.exchange.publish()
    this.#parts.publishUpdates()
    return formatName(this.#parts.protocol.publisher.name)
  }

  async newGeneration(): Promise<string> {
    await this.#parts.exchange.newGeneration()
    return formatName(this.#parts.protocol.publisher.name)
  }

  lookup(url: string): readonly EntryView[] | undefined {
    const key = this.#keyOf(url)
    return key === undefined ? undefined : this.#entries(key)
  }

  purge(url: string): number | undefined {
    const key = this.#keyOf(url)
    return key === undefined ? undefined : this.#parts.purge(key)
  }

  explain(url: string): Explanation | undefined {
    const { clock, directory, lookup, originMs, protocol } = this.#parts
    const key = this.#keyOf(url)
    if (key === undefined) return undefined
    const nowMs = clock.monotonicMs()
    const request = { method: 'GET', url: key.url, fields: Fields.none }
    const entry = directory.find(key, request.fields)
    const verdict = entry === undefined ? 'absent' : judgeReuse(entry.stored.facts, requestFacts(request), nowMs)
    const { geometry } = protocol.publisher.summary
    const probes = new Uint32Array(geometry.probeCount)
    probePositions(key, geometry, probes)
    return {
      url: key.url,
      key: [key.h0, key.h1, key.h2, key.h3].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join(''),
      probes: [...probes],
      directory: { held: directory.variantsOf(key).length > 0, verdict, entries: this.#entries(key) },
      ...explainLookup({
        key,
        entry,
        verdict,
        peers: protocol.peers,
        policy: lookup,
        originMs: originMs(),
        reasonOf: (state) => this.#reasonOf(state),
        nowMs,
      }),
    }
  }

  async cluster(signal: AbortSignal): Promise<ClusterView> {
    const { describePeer, protocol } = this.#parts
    const others = protocol.peers.all().map(async ({ peer }): Promise<ClusterMember> => {
      try {
        // The name under which we know it, whatever it calls itself.
        const { peers, statistics } = await describePeer(peer, signal)
        return { name: peer.name, url: peer.url, reachable: true, reason: '', statistics, peers }
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        return { name: peer.name, url: peer.url, reachable: false, reason, statistics: null, peers: [] }
      }
    })
    return { proxies: [this.describe(), ...(await Promise.all(others))] }
  }

  /** Ourselves as a member of the cluster. */
  describe(): ClusterMember {
    const { name, proxyAddress } = this.#parts
    const url = `http://${proxyAddress}`
    return { name, url, reachable: true, reason: '', statistics: this.statistics(), peers: this.peers() }
  }

  subscribe(listener: (event: ProxyEvent) => void): () => void {
    return this.#parts.events.subscribe(listener)
  }

  #note(event: ProxyEvent): void {
    if (event.kind !== 'peer-changed') return
    if (
      event.state === 'connected' ||
      event.state === 'added' ||
      event.state === 'recovered' ||
      event.state === 'switched-on'
    ) {
      this.#peerReasons.delete(event.peer)
    } else if (event.state !== 'removed') {
      this.#peerReasons.set(event.peer, event.reason)
    }
  }

  #peerView(state: PeerState): PeerView {
    const nowMs = this.#parts.clock.monotonicMs()
    const { guesses, peer } = state
    const usable = isDigestUsable(state, nowMs)
    return {
      name: peer.name,
      url: peer.url,
      transport: transportOf(peer),
      proved: transportKinds[transportOf(peer)].proved,
      state: stateOf(state, usable),
      reason: this.#reasonOf(state),
      guesses: {
        tests: guesses.tests,
        claims: guesses.claims,
        trueHits: guesses.trueHits,
        falseHits: { ...guesses.falseHits },
        failures: guesses.failures,
        remoteStaleHits: guesses.falseHits.freshness,
        probes: guesses.probes,
        falseMisses: guesses.falseMisses,
        falseMissCauses: { ...guesses.falseMissCauses },
        measuredError: measuredError(guesses),
      },
      savedMs: Math.round(state.worth.savedMs),
      account: this.#parts.accounts.of(peer.name),
      digest: this.#replicaView(state),
    }
  }

  #reasonOf({ health, peer }: PeerState): string {
    return this.#peerReasons.get(peer.name) ?? (health.mayBeAsked ? '' : health.reason)
  }

  #replicaView(state: PeerState): ReplicaView | null {
    if (state.paper !== undefined) return this.#paperView(state.paper)
    const held: StateHead | undefined = state.digest.state
    if (held === undefined) return null
    const nowMs = this.#parts.clock.monotonicMs()
    return {
      ...digestView(held.geometry, formatName(held.name), held.entryCount, held.setBitCount),
      proved: state.digest.isProved(nowMs),
      provedAgoMs: Math.round(state.digest.provedAgoMs(nowMs)),
      ageMs: Math.round(replicaAgeMs(state, nowMs)),
    }
  }

  #paperView(replica: PaperReplica): ReplicaView | null {
    const { geometry, setBitCount } = replica
    if (geometry === undefined) return null
    const nowMs = this.#parts.clock.monotonicMs()
    const entries = entriesFromFill(geometry, setBitCount)
    return {
      ...digestView(geometry, '', Number.isFinite(entries) ? Math.round(entries) : 0, setBitCount),
      proved: false,
      provedAgoMs: Math.round(replica.heardAgoMs(nowMs)),
      ageMs: Math.round(replica.unmendedMs(nowMs)),
    }
  }

  #keyOf(url: string): CacheKey | undefined {
    const normal = normalUrl(url)
    return normal === undefined ? undefined : this.#parts.keyOf(normal)
  }

  #entries(key: CacheKey): EntryView[] {
    return this.#parts.directory.variantsOf(key).map((entry) => this.#entryView(entry))
  }

  #entryView(entry: DirectoryEntry): EntryView {
    const { clock, directory } = this.#parts
    const { facts, head, variant } = entry.stored
    const freshForMs = Math.round(freshUntilMs(facts) - clock.monotonicMs())
    return {
      url: entry.key.url,
      variant,
      status: head.status,
      contentType: head.fields.get('content-type') ?? null,
      bodyBytes: entry.bodyBytes,
      ageMs: Math.round(currentAgeMs(facts, clock.monotonicMs())),
      freshForMs: Number.isFinite(freshForMs) ? freshForMs : null,
      claimed: directory.claims(entry.key),
    }
  }
}

function stateOf({ health, isConnected, worth }: PeerState, isUsable: boolean): PeerView['state'] {
  if (!health.mayBeAsked) return 'suspended'
  if (!isConnected) return 'connecting'
  if (!isUsable) return 'unproved'
  return worth.isOff ? 'switched-off' : 'up'
}

function digestView(geometry: FilterGeometry, name: string, entries: number, setBits: number): DigestView {
  return {
    name,
    geometry,
    entries,
    setBits,
    fill: setBits / geometry.bitCount,
    bytes: geometry.bitCount / 8,
    expectedError: falseHitRateAtFill(geometry, setBits),
  }
}
