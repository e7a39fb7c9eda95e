import type { EvictionKind } from '../core/directory/eviction-kinds.ts'
import type { CacheKey } from '../core/http/cache-key.ts'
import { LookupPlan, type StepOutcome } from '../core/peers/lookup-plan.ts'
import { icpMessageBytes } from '../core/protocol/icp-message.ts'
import type { Outcome } from '../proxy/proxy-event.ts'
import type { Statistics } from '../proxy/views.ts'
import { askedHeadBytes, hitHeadBytes, unheldHeadBytes } from './peer-heads.ts'
import { schemeKinds, type SchemeName } from './schemes/scheme-kinds.ts'
import type { DigestSettings, SharingScheme } from './schemes/sharing-scheme.ts'
import { SimProxy } from './sim-proxy.ts'
import { UNKNOWN_SIZE, type Trace } from './traces/trace.ts'

export interface ReplayOptions {
  readonly proxyCount: number
  /** Of each proxy. */
  readonly memoryBytes: number
  readonly eviction: EvictionKind
  /** Larger documents are not kept. */
  readonly maxObjectBytes: number
  /** The first requests fill the caches and are not counted. */
  readonly warmUpRequests: number
  readonly digest: DigestSettings
}

/** What a scheme has come to. */
export interface SchemeRun {
  readonly scheme: SchemeName
  /** By proxy, without the warm-up. */
  readonly statistics: readonly Statistics[]
  /** Misses of which a peer held the right version and was not asked. */
  readonly falseMisses: number
}

/** A request, as it is looked for. */
interface Wanted {
  readonly key: CacheKey
  readonly bodyBytes: number
  readonly nowMs: number
  readonly client: string
}

/**
 * Replays a trace through N proxies under one scheme: a plain loop in virtual time, over the directories, plans, protocols
 * and counts of the live proxy (ARCHITECTURE: how data flows, e). A client always uses the proxy of its number modulo N.
 */
export class Replay {
  readonly scheme: SharingScheme
  readonly proxies: readonly SimProxy[]
  readonly #trace: Trace
  readonly #name: SchemeName
  readonly #warmUpRequests: number
  #position = 0
  #falseMisses = 0

  constructor(trace: Trace, name: SchemeName, options: ReplayOptions) {
    const { digest, proxyCount, warmUpRequests } = options
    this.#trace = trace
    this.#name = name
    this.#warmUpRequests = warmUpRequests
    this.scheme = schemeKinds[name].create({ proxyCount, startMs: trace.timeMs[0] ?? 0, digest })
    this.proxies = Array.from({ length: proxyCount }, (_, i) => new SimProxy(i, this.scheme.claims(i), options))
    this.scheme.start(this.proxies)
  }

  /** Requests replayed. */
  get position(): number {
    return this.#position
  }

  /** Up to `maxRequests` more. False when there are none left. */
  work(maxRequests: number): boolean {
    const end = Math.min(this.#trace.length, this.#position + maxRequests)
    while (this.#position < end) {
      // What it costs to begin is part of the count where nothing is left out.
      if (this.#position === this.#warmUpRequests && this.#position > 0) this.#forgetCounts()
      this.#replay(this.#position++)
    }
    return this.#position < this.#trace.length
  }

  run(): SchemeRun {
    if (this.#position < this.#warmUpRequests) this.#forgetCounts()
    return {
      scheme: this.#name,
      statistics: this.proxies.map((proxy) => proxy.statistics()),
      falseMisses: this.#falseMisses,
    }
  }

  #forgetCounts(): void {
    for (const proxy of this.proxies) proxy.resetCounts()
    this.#falseMisses = 0
  }

  #replay(index: number): void {
    const { bodyBytes, client, clients, document, documents, passes, timeMs } = this.#trace
    const wanted: Wanted = {
      key: documents[document[index]!]!,
      bodyBytes: bodyBytes[index]!,
      nowMs: timeMs[index]!,
      client: clients[client[index]!]!,
    }
    const proxy = this.proxies[client[index]! % this.proxies.length]!
    this.scheme.advance(wanted.nowMs)
    if (passes[index] === 1) {
      proxy.emit({ kind: 'origin-asked', outcome: 'fetched' })
      ended(proxy, wanted, 'pass', undefined)
      return
    }
    const held = proxy.find(wanted.key, wanted.bodyBytes, wanted.nowMs)
    if (held?.isCurrent) {
      proxy.directory.hit(held.entry)
      ended(proxy, wanted, 'local-hit', undefined)
      return
    }
    const peer = this.#lookUp(proxy, wanted)
    if (peer === undefined) proxy.emit({ kind: 'origin-asked', outcome: 'fetched' })
    ended(proxy, wanted, peer === undefined ? 'miss' : 'remote-hit', peer?.name)
    if (wanted.bodyBytes !== UNKNOWN_SIZE) proxy.keep(wanted.key, wanted.bodyBytes, wanted.nowMs)
  }

  /** The peer that had it. */
  #lookUp(asker: SimProxy, wanted: Wanted): SimProxy | undefined {
    const { key, nowMs } = wanted
    const peers = this.proxies.length - 1
    asker.emit({
      kind: 'local-miss',
      peers,
      icpQueryBytes: peers * icpMessageBytes('query', key.url),
      icpReplyBytes: peers * icpMessageBytes('miss', key.url),
    })
    const plan = new LookupPlan(this.scheme.candidates(asker.index, key, nowMs))
    let { step } = plan
    while (step.kind === 'fetch-peer') {
      const peer = this.proxies[step.peer]!
      const outcome = this.#ask(asker, peer, wanted)
      if (outcome === 'hit') return peer
      step = plan.after(outcome)
    }
    if (this.proxies.some((peer) => peer !== asker && holds(peer, wanted))) this.#falseMisses++
    return undefined
  }

  #ask(asker: SimProxy, peer: SimProxy, wanted: Wanted): StepOutcome {
    const { bodyBytes, client, key, nowMs } = wanted
    const held = peer.find(key, bodyBytes, nowMs)
    const isHit = held?.isCurrent === true
    const absentCause = held === undefined ? this.scheme.falseHitCause(peer.index, key) : 'freshness'
    const outcome = isHit ? 'hit' : 'false-hit'
    asker.emit({
      kind: 'peer-asked',
      peer: peer.name,
      outcome,
      cause: isHit ? undefined : absentCause,
      requestBytes: askedHeadBytes(asker.name, client, key.url),
      replyBytes: isHit
        ? hitHeadBytes(peer.name, held.entry.stored, nowMs)
        : unheldHeadBytes(peer.name, held === undefined ? 'absent' : 'stale', absentCause, nowMs),
      elapsedMs: 0,
    })
    if (isHit) peer.directory.hit(held.entry)
    ended(peer, wanted, isHit ? 'local-hit' : 'unheld', undefined, true)
    return outcome
  }
}

function holds(peer: SimProxy, { bodyBytes, key, nowMs }: Wanted): boolean {
  return peer.find(key, bodyBytes, nowMs)?.isCurrent === true
}

/** @param fromPeer it answers another proxy, not a client */
function ended(
  proxy: SimProxy,
  { bodyBytes, client, key, nowMs }: Wanted,
  outcome: Outcome,
  server: string | undefined,
  fromPeer = false,
): void {
  const sentBytes = outcome === 'unheld' ? 0 : Math.max(0, bodyBytes)
  proxy.emit({
    kind: 'request-ended',
    wallMs: nowMs,
    elapsedMs: 0,
    client,
    fromPeer,
    method: 'GET',
    url: key.url,
    status: outcome === 'unheld' ? 504 : 200,
    outcome,
    // Without heads: what a client is told besides the body is in no log.
    bytesToClient: sentBytes,
    bodyBytes: sentBytes,
    contentType: undefined,
    server,
    aborted: false,
  })
}
