import { maxFrameBytes } from '../core/digest/digest-codec.ts'
import { CacheDirectory, type ClaimListener } from '../core/directory/cache-directory.ts'
import { evictionKinds, type EvictionKind } from '../core/directory/eviction-kinds.ts'
import { geometryFor } from '../core/filter/filter-geometry.ts'
import { cacheKey, type CacheKey } from '../core/http/cache-key.ts'
import type { RequestHead } from '../core/http/message-head.ts'
import type { LookupPolicy } from '../core/peers/lookup-plan.ts'
import type { Peer } from '../core/peers/peer.ts'
import type { SharingMode } from '../core/peers/sharing-mode.ts'
import { SummaryCacheProtocol, type ProtocolOptions } from '../core/protocol/summary-cache-protocol.ts'
import { DEFAULT_UPDATE_OPTIONS, UPDATE_PROFILES, type UpdateProfile } from '../core/protocol/update-policy.ts'
import { CacheProxy } from '../proxy/cache-proxy.ts'
import { DigestExchange } from '../proxy/digest-exchange.ts'
import { EventFanOut } from '../proxy/event-fan-out.ts'
import { PeerLookup } from '../proxy/peer-lookup.ts'
import { PeerProbes } from '../proxy/peer-probes.ts'
import type { CacheStore, DigestTransport, Origin, PeerFetch, ProtocolVersion } from '../proxy/ports.ts'
import type { ProxyEvent } from '../proxy/proxy-event.ts'
import { ProxyMetrics } from '../proxy/proxy-metrics.ts'
import type { Reply } from '../proxy/reply.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { SimNetwork } from './sim-network.ts'
import { MAX_BODY_BYTES } from './sim-origin.ts'
import { SimPeerFetch, type AnsweringHost } from './sim-peer-fetch.ts'
import { SimStore, type KeptResponse } from './sim-store.ts'
import { SimTransport, type DigestHost } from './sim-transport.ts'
import type { VirtualClock } from './virtual-clock.ts'

export interface VirtualProxySettings {
  readonly expectedEntries: number
  readonly profile: UpdateProfile
  readonly pendingClearShare: number
  readonly generationAgeMs: number
  readonly heartbeatMs: number
  readonly capacityBytes: number
  readonly eviction: EvictionKind
  readonly peerTimeoutMs: number
  readonly lookup: LookupPolicy
  /** Whether peers that do not pay for being asked are switched off. */
  readonly switchesOff: boolean
  /** Of misses by which digests are probed for false misses. */
  readonly probeShare: number
  readonly sharing: SharingMode
  /** How long a body takes to come, at most. */
  readonly fillMs: number
  readonly fillFailureShare: number
}

/** What the world gives one life of a proxy. */
export interface VirtualProxyParts {
  readonly index: number
  readonly name: string
  readonly incarnation: number
  readonly version: ProtocolVersion
  readonly settings: VirtualProxySettings
  readonly network: SimNetwork<VirtualProxy>
  readonly clock: VirtualClock
  readonly random: SeededRandom
  readonly origin: Origin<number>
  readonly bodyBytes: (body: number) => number
  readonly kept: readonly KeptResponse[]
  readonly witness: ProxyWitness
  readonly seams: VirtualProxySeams
}

/** Who is told what a proxy does. It only looks. */
export interface ProxyWitness {
  /** A frame for all followers is about to go out. */
  published(proxy: VirtualProxy, frame: Uint8Array): void
  /** A frame of `from` has come, before it is handed on; `isWhole`: as it was sent. */
  arrived(proxy: VirtualProxy, from: string, frame: Uint8Array, isWhole: boolean): void
  claimChanged(proxy: VirtualProxy, key: CacheKey, isClaimed: boolean): void
  event(proxy: VirtualProxy, event: ProxyEvent): void
  /** A question is about to go to a peer. */
  asked(proxy: VirtualProxy, peer: Peer, request: RequestHead): void
}

/** Where something else can be put between the proxy and its world; as it is when a seam is left out. */
export interface VirtualProxySeams {
  readonly protocol?: (options: ProtocolOptions, nowMs: number) => SummaryCacheProtocol
  readonly transport?: (transport: DigestTransport, proxy: VirtualProxy) => DigestTransport
  readonly peerFetch?: (fetch: PeerFetch<number>, proxy: VirtualProxy) => PeerFetch<number>
  readonly store?: (store: SimStore, proxy: VirtualProxy) => CacheStore<number>
  readonly claims?: (listener: ClaimListener) => ClaimListener
  readonly expire?: (expire: (nowMs: number) => void) => (nowMs: number) => void
  /** Whether its metrics get to see an event. */
  readonly counts?: (event: ProxyEvent) => boolean
}

const MAX_BIT_COUNT_FACTOR = 16

/** One life of a proxy, joined from the parts of the live one, over simulated ports (the live one's: `running-proxy.ts`). */
export class VirtualProxy implements DigestHost, AnsweringHost {
  readonly index: number
  readonly name: string
  readonly incarnation: number
  readonly clock: VirtualClock
  readonly protocol: SummaryCacheProtocol
  readonly directory: CacheDirectory
  readonly store: SimStore
  readonly transport: SimTransport
  readonly exchange: DigestExchange
  readonly metrics = new ProxyMetrics()
  /** Of the digests of others. */
  readonly maxBitCount: number
  readonly maxFrameBytes: number
  readonly #proxy: CacheProxy<number>
  readonly #probes: PeerProbes<number>
  readonly #events = new EventFanOut()
  #isUp = true

  constructor(parts: VirtualProxyParts) {
    const { clock, network, random, seams, settings, witness } = parts
    this.index = parts.index
    this.name = parts.name
    this.incarnation = parts.incarnation
    this.clock = clock
    const { heartbeatMs } = settings
    const geometry = geometryFor(settings.expectedEntries)
    const maxBitCount = geometry.bitCount * MAX_BIT_COUNT_FACTOR
    this.maxBitCount = maxBitCount
    this.maxFrameBytes = maxFrameBytes({ maxBitCount })
    const makeProtocol = seams.protocol ?? ((options, nowMs) => new SummaryCacheProtocol(options, nowMs))
    this.protocol = makeProtocol(
      {
        incarnation: parts.incarnation,
        geometry,
        policy: UPDATE_PROFILES[settings.profile](DEFAULT_UPDATE_OPTIONS),
        pendingClearShare: settings.pendingClearShare,
        generationAgeMs: settings.generationAgeMs,
        heartbeatMs,
        maxBitCount,
      },
      clock.monotonicMs(),
    )
    this.#events.subscribe((event) => witness.event(this, event))
    this.#events.subscribe((event) => {
      if (seams.counts?.(event) !== false) this.metrics.emit(event)
    })
    const claims = seams.claims?.(this.protocol) ?? this.protocol
    this.directory = new CacheDirectory(evictionKinds[settings.eviction](), this.#watched(claims, witness), {
      capacityBytes: settings.capacityBytes,
    })
    this.protocol.rebuildFrom(this.directory)
    this.store = new SimStore(this.directory, clock, random.fork(1), {
      maxObjectBytes: MAX_BODY_BYTES,
      fillMs: settings.fillMs,
      failureShare: settings.fillFailureShare,
      bodyBytes: parts.bodyBytes,
    })
    this.store.restore(parts.kept)

    this.transport = new SimTransport(network, this, {
      version: parts.version,
      heartbeatMs,
      arrived: (from, bytes, isWhole) => witness.arrived(this, from, bytes, isWhole),
    })
    const transport = seams.transport?.(this.transport, this) ?? this.transport
    const expire = (nowMs: number): void => this.directory.expire(nowMs)
    this.exchange = new DigestExchange({
      protocol: this.protocol,
      transport: {
        broadcast: (frame) => {
          witness.published(this, frame)
          return transport.broadcast(frame)
        },
        follow: (peer, want, handler) => transport.follow(peer, want, handler),
        ask: (peer, want, signal) => transport.ask(peer, want, signal),
        readSnapshot: (peer, partial, signal) => transport.readSnapshot(peer, partial, signal),
      },
      clock,
      random: random.fork(2),
      events: this.#events,
      maxFrameBytes: this.maxFrameBytes,
      expire: seams.expire?.(expire) ?? expire,
    })
    this.transport.serve(this.exchange)

    const simFetch = new SimPeerFetch<VirtualProxy>(network, this, settings.peerTimeoutMs)
    const peerFetch = seams.peerFetch?.(simFetch, this) ?? simFetch
    const asking: PeerFetch<number> = {
      fetch: (peer, request, signal, timeoutMs) => {
        witness.asked(this, peer, request)
        return peerFetch.fetch(peer, request, signal, timeoutMs)
      },
    }
    const { protocol } = this
    const events = this.#events
    const { lookup: policy, switchesOff } = settings
    const lookup = new PeerLookup({ protocol, fetcher: asking, clock, events, policy, switchesOff })
    this.#probes = new PeerProbes({
      protocol,
      lookup,
      fetcher: asking,
      clock,
      random: random.fork(3),
      events,
      share: settings.probeShare,
    })
    this.#proxy = new CacheProxy({
      name: this.name,
      keyOf: cacheKey,
      store: seams.store?.(this.store, this) ?? this.store,
      origin: parts.origin,
      peers: lookup,
      probes: this.#probes,
      sharing: settings.sharing,
      protocol,
      clock,
      events,
    })
  }

  get isUp(): boolean {
    return this.#isUp
  }

  start(peers: readonly string[]): void {
    this.exchange.start()
    for (const name of peers) this.exchange.follow({ name, url: `http://${name}` })
  }

  /** With a goodbye, or as if killed: nothing that waited is gone on with. */
  stop(isClean: boolean): void {
    if (isClean) this.exchange.stop()
    this.#probes.stop()
    this.transport.close(isClean)
    this.#isUp = false
    this.clock.stop()
  }

  purge(url: string): number {
    return this.#proxy.purge(cacheKey(url))
  }

  /** A client's request, or a peer's question where `asker` is one. */
  async answer(head: RequestHead, asker: string, gone: AbortSignal): Promise<Reply<number>> {
    const { clock } = this
    const startMs = clock.monotonicMs()
    const reply = await this.#proxy.handle({ head, body: undefined, client: asker }, gone)
    reply.release()
    this.#events.emit({
      kind: 'request-ended',
      wallMs: clock.wallMs(),
      elapsedMs: clock.monotonicMs() - startMs,
      client: asker,
      fromPeer: head.fields.has('via'),
      method: head.method,
      url: head.url,
      status: reply.head.status,
      outcome: reply.outcome,
      bytesToClient: reply.bodyBytes ?? 0,
      bodyBytes: reply.bodyBytes ?? 0,
      contentType: undefined,
      server: reply.server,
      aborted: gone.aborted,
    })
    return reply
  }

  #watched(claims: ClaimListener, witness: ProxyWitness): ClaimListener {
    return {
      claimed: (key, holder) => {
        witness.claimChanged(this, key, true)
        claims.claimed(key, holder)
      },
      unclaimed: (key, holder) => {
        witness.claimChanged(this, key, false)
        claims.unclaimed(key, holder)
      },
      moved: (key, from, to) => claims.moved(key, from, to),
    }
  }
}
