import type { DirectoryEntry } from '../core/directory/cache-directory.ts'
import type { CacheKey, KeyOf } from '../core/http/cache-key.ts'
import type { CacheStatus } from '../core/http/cache-status.ts'
import { cdnLoopAppended } from '../core/http/forwarded-headers.ts'
import {
  CONDITIONAL,
  HAS_RANGE,
  NO_CACHE,
  NO_STORE,
  ONLY_IF_CACHED,
  PRECONDITION,
  requestFacts,
  type RequestFacts,
} from '../core/http/freshness.ts'
import type { RequestHead } from '../core/http/message-head.ts'
import { judgeReuse, type ReuseVerdict } from '../core/http/reuse.ts'
import { judgeStorability } from '../core/http/storability.ts'
import { storedHead } from '../core/http/stored-head.ts'
import { confirmsStored, refreshedHead, validationRequest, withoutConditions } from '../core/http/validation.ts'
import { selectingValues } from '../core/http/vary.ts'
import { icpMessageBytes } from '../core/protocol/icp-message.ts'
import type { SummaryCacheProtocol } from '../core/protocol/summary-cache-protocol.ts'
import { failedReply, loopReply, unheldReply } from './own-replies.ts'
import {
  asksPeers,
  entryToValidate,
  forwarded,
  hostOf,
  isSafe,
  loops,
  onlyIfCached,
  withoutPeerHop,
} from './forwarding.ts'
import type { LookupPlan } from '../core/peers/lookup-plan.ts'
import type { PeerLookup } from './peer-lookup.ts'
import type { PeerProbes } from './peer-probes.ts'
import type { SharingMode } from '../core/peers/sharing-mode.ts'
import { Replies } from './replies.ts'
import { FetchError, type CacheStore, type Clock, type EventSink, type FetchedResponse } from './ports.ts'
import type { Filling, FillOutcome, Origin } from './ports.ts'
import type { Outcome } from './proxy-event.ts'
import type { Reply } from './reply.ts'
import { RecentPurges } from './recent-purges.ts'
import { SingleFlight, type Flight } from './single-flight.ts'

export interface ProxyRequest<B> {
  /** Fields as they came, hop-by-hop ones included. */
  readonly head: RequestHead
  readonly body: B | undefined
  /** Address of the client. */
  readonly client: string
}

export interface CacheProxyParts<B> {
  readonly name: string
  readonly keyOf: KeyOf
  readonly store: CacheStore<B>
  readonly origin: Origin<B>
  readonly peers: PeerLookup<B>
  readonly probes: PeerProbes<B>
  /** Whether what a peer had is kept here too, or at that peer alone. */
  readonly sharing: SharingMode
  readonly protocol: SummaryCacheProtocol
  readonly clock: Clock
  readonly events: EventSink
}

/** Where an answer came from. */
interface Found<B> {
  readonly response: FetchedResponse<B>
  readonly peer: string | undefined
  readonly server: string
  readonly requestedMs: number
}

/** The life of a request, from its parsed head to the reply's (ARCHITECTURE: how data flows, a to c). */
export class CacheProxy<B> {
  readonly #parts: CacheProxyParts<B>
  readonly #flights = new SingleFlight<B>()
  readonly #purges = new RecentPurges()
  readonly #replies: Replies<B>

  constructor(parts: CacheProxyParts<B>) {
    this.#parts = parts
    this.#replies = new Replies(parts.name, parts.clock)
  }

  /** @param signal aborted when the client has gone: its own fetches are given up, those that others wait for are not */
  async handle(request: ProxyRequest<B>, signal: AbortSignal): Promise<Reply<B>> {
    const { name, store, clock } = this.#parts
    const { head } = request
    if (loops(head.fields, name)) return loopReply(name)

    const facts = requestFacts(head)
    const storeOnly = (facts.flags & ONLY_IF_CACHED) !== 0
    // A GET with a body is the origin's to make sense of (RFC 9110 §9.3.1).
    const cacheable = (head.method === 'GET' || head.method === 'HEAD') && request.body === undefined
    if (!cacheable) return storeOnly ? this.#unheld(undefined, 'absent') : this.#pass(request, signal)

    const key = this.#parts.keyOf(head.url)
    const entry = store.find(key, head.fields)
    const verdict = entry === undefined ? 'absent' : judgeReuse(entry.stored.facts, facts, clock.monotonicMs())
    if (entry !== undefined && verdict === 'serve') {
      const opened = await store.open(entry)
      if (opened !== undefined) return this.#replies.stored(request.head, opened, { hit: true }, 'local-hit', undefined)
    }
    if (storeOnly) return this.#unheld(key, verdict)

    if (head.method === 'HEAD' || (facts.flags & (HAS_RANGE | NO_STORE | PRECONDITION)) !== 0) {
      return this.#pass(request, signal)
    }
    return this.#fetchOnce(request, key, facts, entryToValidate(entry, verdict), signal)
  }

  /** Forgets every variant of the key; what is being fetched of it now will not be stored. Returns how many went. */
  purge(key: CacheKey): number {
    const { clock, store } = this.#parts
    this.#purges.add(key.url, clock.monotonicMs())
    return store.purge(key)
  }

  /** One fetch for all who ask for the key at once; who cannot use what it brings fetches alone. */
  async #fetchOnce(
    request: ProxyRequest<B>,
    key: CacheKey,
    facts: RequestFacts,
    stale: DirectoryEntry | undefined,
    signal: AbortSignal,
  ): Promise<Reply<B>> {
    // A client's own condition may bring a 304, its no-cache an answer later than the flight's: neither is shared.
    if ((facts.flags & (CONDITIONAL | NO_CACHE)) !== 0 && stale === undefined) {
      return this.#fetch(request, key, facts, undefined, undefined, signal)
    }
    if (this.#flights.isLoner(key.url, this.#parts.clock.monotonicMs())) {
      return this.#fetch(request, key, facts, stale, undefined, signal)
    }
    const under = this.#flights.under(key.url)
    if (under !== undefined) {
      const reply = await this.#aboard(under, request, key, facts, signal)
      return reply ?? this.#fetch(request, key, facts, stale, undefined, signal)
    }
    const flight = this.#flights.begin(key.url)
    return this.#fetch(request, key, facts, stale, flight, signal)
  }

  /** Waits for another's fetch; undefined when what it brought is not for this request. */
  async #aboard(
    flight: Flight<B>,
    request: ProxyRequest<B>,
    key: CacheKey,
    facts: RequestFacts,
    signal: AbortSignal,
  ): Promise<Reply<B> | undefined> {
    const { store, clock } = this.#parts
    const leave = flight.board(signal)
    const landing = await flight.landed
    leave()
    if (landing === 'alone') return undefined
    const entry = landing === 'stored' ? store.find(key, request.head.fields) : undefined
    const stored = landing === 'stored' ? entry?.stored : landing.stored
    if (stored === undefined) return undefined
    if (selectingValues(stored.varyNames, request.head.fields) !== stored.variant) return undefined
    if (judgeReuse(stored.facts, facts, clock.monotonicMs()) !== 'serve') return undefined
    const opened = landing === 'stored' ? await store.open(entry!) : landing.open()
    if (opened === undefined) return undefined
    return this.#replies.stored(request.head, opened, { fwd: 'uri-miss', collapsed: true }, 'local-hit', undefined)
  }

  async #fetch(
    request: ProxyRequest<B>,
    key: CacheKey,
    facts: RequestFacts,
    stale: DirectoryEntry | undefined,
    flight: Flight<B> | undefined,
    signal: AbortSignal,
  ): Promise<Reply<B>> {
    const leave = flight?.board(signal)
    let filling: Filling<B> | undefined
    try {
      const found = await this.#find(request, key, facts, stale, flight?.signal ?? signal)
      if (stale !== undefined && found.response.head.status === 304) {
        const reply = await this.#validated(request, key, facts, stale, found, signal)
        flight?.land('stored')
        return reply
      }
      filling = this.#admit(request.head, key, found)
      // What came for a client's own condition or reload says nothing of what others would get.
      const isShared = found.peer !== undefined && this.#parts.sharing === 'single-copy'
      if (!isShared && (flight !== undefined || filling !== undefined)) {
        this.#flights.remember(key.url, filling === undefined, this.#parts.clock.monotonicMs())
      }
      if (filling === undefined) return this.#passed(request.head, found, 'miss')
      flight?.land(filling)
      return this.#filled(request, key, found, filling, flight)
    } catch (error) {
      return this.#failed(request.head, error)
    } finally {
      leave?.()
      if (flight !== undefined && filling === undefined) {
        flight.land('alone')
        this.#flights.end(key.url, flight)
      }
    }
  }

  /** Candidates one at a time, then the origin; a stale entry's validators go to the origin at once. */
  async #find(
    request: ProxyRequest<B>,
    key: CacheKey,
    facts: RequestFacts,
    stale: DirectoryEntry | undefined,
    signal: AbortSignal,
  ): Promise<Found<B>> {
    const { clock, peers, probes, protocol, events } = this.#parts
    const head = forwarded(request.head, this.#parts.name, request.client)
    let plan: LookupPlan | undefined
    if (stale === undefined && asksPeers(facts)) {
      protocol.localMiss()
      const peerCount = protocol.peers.size
      events.emit({
        kind: 'local-miss',
        peers: peerCount,
        icpQueryBytes: peerCount * icpMessageBytes('query', key.url),
        icpReplyBytes: peerCount * icpMessageBytes('miss', key.url),
      })
      plan = peers.plan(key)
      probes.missed(key, onlyIfCached(head))
    }
    let step = plan?.step
    while (step?.kind === 'fetch-peer' || step?.kind === 'fetch-peers') {
      const requestedMs = clock.monotonicMs()
      const answer = await peers.perform(step, onlyIfCached(head), signal)
      if (answer.outcome === 'hit') {
        return { response: answer.response, peer: answer.peer, server: answer.peer, requestedMs }
      }
      step = plan?.after(answer.outcome, clock.monotonicMs())
    }
    const wanted = stale === undefined ? head : validationRequest(head, stale.stored)
    return this.#askOrigin(wanted, undefined, signal)
  }

  async #askOrigin(head: RequestHead, body: B | undefined, signal: AbortSignal): Promise<Found<B>> {
    const { clock, events, name, origin, peers } = this.#parts
    const requestedMs = clock.monotonicMs()
    try {
      const response = await origin.fetch({ ...head, fields: cdnLoopAppended(head.fields, name) }, body, signal)
      peers.originAnswered(clock.monotonicMs() - requestedMs)
      events.emit({ kind: 'origin-asked', outcome: response.head.status === 304 ? 'validated' : 'fetched' })
      return { response, peer: undefined, server: hostOf(head.url), requestedMs }
    } catch (error) {
      events.emit({ kind: 'origin-asked', outcome: 'failed' })
      throw error
    }
  }

  /** Room in the store for what was found; undefined when it is not to be stored or does not fit. */
  #admit(request: RequestHead, key: CacheKey, found: Found<B>): Filling<B> | undefined {
    const { clock, sharing, store } = this.#parts
    const { response, peer, requestedMs } = found
    if (this.#purges.since(key.url, requestedMs)) return undefined
    // The one copy stays at its holder, whose eviction policy has just seen the hit.
    if (peer !== undefined && sharing === 'single-copy') return undefined
    if (response.body === undefined || judgeStorability(request, response.head, clock.wallMs()) !== 'store')
      return undefined
    const fields = peer === undefined ? response.head.fields : withoutPeerHop(response.head.fields)
    const stored = storedHead(
      request,
      { ...response.head, fields },
      { requestedMs, receivedMs: clock.monotonicMs(), receivedWallMs: clock.wallMs() },
    )
    return store.reserve(key, stored, response.bodyBytes)
  }

  /** The reply reads from the filling, as those who came after it do; the flight lasts until it is whole. */
  #filled(
    request: ProxyRequest<B>,
    key: CacheKey,
    found: Found<B>,
    filling: Filling<B>,
    flight: Flight<B> | undefined,
  ): Reply<B> {
    const opened = filling.open()
    if (opened === undefined || found.response.body === undefined) throw new Error('a new filling has its first byte')
    void this.#settle(filling.fill(found.response.body), key, found, flight)
    const outcome = found.peer === undefined ? 'miss' : 'remote-hit'
    const said: CacheStatus = { fwd: 'uri-miss', fwdStatus: found.response.head.status, stored: true }
    return this.#replies.stored(request.head, opened, withPeer(said, found.peer), outcome, found.server)
  }

  async #settle(
    settled: Promise<FillOutcome>,
    key: CacheKey,
    found: Found<B>,
    flight: Flight<B> | undefined,
  ): Promise<void> {
    // Given up while the source still sends: its connection is not for us to wait on.
    if ((await settled) !== 'committed') found.response.cancel()
    if (flight !== undefined) this.#flights.end(key.url, flight)
  }

  /** The origin says that the stale entry is still good (RFC 9111 §4.3.4). */
  async #validated(
    request: ProxyRequest<B>,
    key: CacheKey,
    facts: RequestFacts,
    stale: DirectoryEntry,
    found: Found<B>,
    signal: AbortSignal,
  ): Promise<Reply<B>> {
    const { clock, store } = this.#parts
    found.response.cancel()
    // A 304 about another response than ours updates nothing (§4.3.4): the whole is fetched.
    if (!confirmsStored(stale.stored, found.response.head)) {
      return this.#fetch(withoutClientConditions(request), key, facts, undefined, undefined, signal)
    }
    const times = { requestedMs: found.requestedMs, receivedMs: clock.monotonicMs(), receivedWallMs: clock.wallMs() }
    store.refresh(stale, refreshedHead(stale.stored, found.response.head, request.head, times))
    const opened = await store.open(stale)
    // Evicted while the origin was asked: then there is nothing to validate, and the whole is fetched.
    if (opened === undefined)
      return this.#fetch(withoutClientConditions(request), key, facts, undefined, undefined, signal)
    return this.#replies.stored(request.head, opened, { fwd: 'stale', fwdStatus: 304 }, 'validated-hit', found.server)
  }

  /** To the origin and back, past the store. */
  async #pass(request: ProxyRequest<B>, signal: AbortSignal): Promise<Reply<B>> {
    const { method, url } = request.head
    try {
      const found = await this.#askOrigin(
        forwarded(request.head, this.#parts.name, request.client),
        request.body,
        signal,
      )
      // RFC 9111 §4.4: an unsafe request that succeeded makes what is stored of its target out of date.
      if (!isSafe(method) && found.response.head.status < 400) this.purge(this.#parts.keyOf(url))
      return this.#passed(request.head, found, 'pass')
    } catch (error) {
      return this.#failed(request.head, error)
    }
  }

  #passed(request: RequestHead, found: Found<B>, outcome: Outcome): Reply<B> {
    const { peer, response, server } = found
    const fwd = outcome === 'miss' ? 'uri-miss' : isSafe(request.method) ? 'bypass' : 'method'
    const said = withPeer({ fwd, fwdStatus: response.head.status }, peer)
    return this.#replies.passed(response, said, peer === undefined ? outcome : 'remote-hit', server)
  }

  /** @param verdict on the entry that the request selects; 'absent' or 'serve' (evicted meanwhile): none is held */
  #unheld(key: CacheKey | undefined, verdict: ReuseVerdict | 'absent'): Reply<B> {
    const { name, protocol, store } = this.#parts
    if (key === undefined) return unheldReply(name, 'absent', 'absent')
    const held = verdict !== 'absent' && verdict !== 'serve'
    const otherVariant = verdict === 'coding-refused' || (!held && store.variantCount(key) > 0)
    const detail = otherVariant ? 'variant' : held ? 'stale' : 'absent'
    return unheldReply(name, detail, protocol.publisher.summary.claimCause(key))
  }

  #failed(request: RequestHead, error: unknown): Reply<B> {
    if (!(error instanceof FetchError)) throw error
    return failedReply(this.#parts.name, request.url, error.code, error.message)
  }
}

function withPeer(said: CacheStatus, peer: string | undefined): CacheStatus {
  return peer === undefined ? said : { ...said, detail: 'remote-hit', peer }
}

function withoutClientConditions<B>(request: ProxyRequest<B>): ProxyRequest<B> {
  return { ...request, head: withoutConditions(request.head) }
}
