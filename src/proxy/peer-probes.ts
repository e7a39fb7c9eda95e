import type { CacheKey } from '../core/http/cache-key.ts'
import type { RequestHead } from '../core/http/message-head.ts'
import { FalseMissCauses } from '../core/peers/false-miss-causes.ts'
import { isConsulted, replicaAgeMs, type PeerState } from '../core/peers/peer-table.ts'
import type { SummaryCacheProtocol } from '../core/protocol/summary-cache-protocol.ts'
import { falseHitCause, inMs, type PeerLookup } from './peer-lookup.ts'
import { FetchError, type Clock, type EventSink, type FetchedResponse, type PeerFetch, type Random } from './ports.ts'

export interface PeerProbesParts<B> {
  readonly protocol: SummaryCacheProtocol
  readonly lookup: PeerLookup<B>
  readonly fetcher: PeerFetch<B>
  readonly clock: Clock
  readonly random: Random
  readonly events: EventSink
  /** Share of the local misses that are sampled. */
  readonly share: number
}

/** Under way at once, all together: what is sampled may as well be left out. */
const MAX_UNDER_WAY = 4
const TIMEOUT_MS = 2_000

/**
 * Questions that no request waits for: to peers that do not claim a key, so that false misses are measured (PROTOCOL rule
 * 10), and to those that are switched off, so that it is seen when they would pay again (rule 11).
 */
export class PeerProbes<B> {
  readonly #parts: PeerProbesParts<B>
  readonly #stopped = new AbortController()
  readonly #falseMisses: FalseMissCauses
  #underWay = 0

  constructor(parts: PeerProbesParts<B>) {
    this.#parts = parts
    this.#falseMisses = new FalseMissCauses(parts.protocol.peers)
  }

  /** @param request with only-if-cached already asked for */
  missed(key: CacheKey, request: RequestHead): void {
    const { clock, protocol, random, share } = this.#parts
    if (this.#stopped.signal.aborted) return
    const nowMs = clock.monotonicMs()
    this.#falseMisses.settle(nowMs)
    if (this.#underWay >= MAX_UNDER_WAY) return
    for (const state of protocol.peers.claimantsOff(key, nowMs)) {
      if (state.worth.takeTrial(nowMs)) void this.#probe(state, key, request, 'switched-off')
    }
    if (share === 0 || random.next() >= share) return
    const silent = protocol.peers
      .all()
      .filter((state) => isConsulted(state, nowMs) && !protocol.peers.isClaimed(state, key))
    const chosen = silent[Math.floor(random.next() * silent.length)]
    if (chosen !== undefined) void this.#probe(chosen, key, request, 'unclaimed')
  }

  stop(): void {
    this.#stopped.abort()
  }

  async #probe(
    state: PeerState,
    key: CacheKey,
    request: RequestHead,
    why: 'unclaimed' | 'switched-off',
  ): Promise<void> {
    const { clock, events, fetcher } = this.#parts
    const startMs = clock.monotonicMs()
    const ageMs = replicaAgeMs(state, startMs)
    this.#underWay++
    let response: FetchedResponse<B> | undefined
    let requestBytes = 0
    try {
      response = await fetcher.fetch(state.peer, { ...request, method: 'HEAD' }, this.#stopped.signal, TIMEOUT_MS)
      requestBytes = response.requestHeadBytes
      response.cancel()
    } catch (error) {
      if (!(error instanceof FetchError)) throw error
      requestBytes = error.requestHeadBytes
    } finally {
      this.#underWay--
    }
    if (this.#stopped.signal.aborted) return
    const outcome = response === undefined ? 'failed' : falseHitCause(response) === undefined ? 'hit' : 'false-hit'
    const elapsedMs = clock.monotonicMs() - startMs
    events.emit({
      kind: 'peer-probed',
      peer: state.peer.name,
      why,
      outcome,
      replicaAgeMs: Math.round(ageMs),
      requestBytes,
      replyBytes: response?.responseHeadBytes ?? 0,
      elapsedMs,
    })
    if (why === 'unclaimed') this.#measured(state, key, outcome)
    else this.#tried(state, outcome, elapsedMs)
  }

  #measured(state: PeerState, key: CacheKey, outcome: 'hit' | 'false-hit' | 'failed'): void {
    if (outcome === 'failed') return
    state.guesses.probes++
    if (outcome === 'hit') this.#falseMisses.found(state, key, this.#parts.clock.monotonicMs())
  }

  #tried(state: PeerState, outcome: 'hit' | 'false-hit' | 'failed', elapsedMs: number): void {
    const { clock, events, lookup } = this.#parts
    if (!state.worth.tried(outcome, elapsedMs, lookup.originMs, clock.monotonicMs())) return
    const reason = `it answers in ${inMs(elapsedMs)}, where the origin takes ${inMs(lookup.originMs)}`
    events.emit({ kind: 'peer-changed', peer: state.peer.name, state: 'switched-on', reason })
  }
}
