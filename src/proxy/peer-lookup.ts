import { parseCacheStatusDetail } from '../core/http/cache-status.ts'
import type { CacheKey } from '../core/http/cache-key.ts'
import type { RequestHead } from '../core/http/message-head.ts'
import { smoothedTruth } from '../core/peers/candidate-selection.ts'
import type { FalseHitCause } from '../core/peers/guess-counts.ts'
import { addedDelayMs, LookupPlan, type LookupPolicy, type LookupStep } from '../core/peers/lookup-plan.ts'
import type { PeerState } from '../core/peers/peer-table.ts'
import { SmoothedTime } from '../core/peers/smoothed-time.ts'
import type { SummaryCacheProtocol } from '../core/protocol/summary-cache-protocol.ts'
import { FetchError, type Clock, type EventSink, type FetchedResponse, type PeerFetch } from './ports.ts'

export type PeerAnswer<B> =
  | { readonly outcome: 'hit'; readonly peer: string; readonly response: FetchedResponse<B> }
  | { readonly outcome: 'false-hit' | 'failed' }

export interface PeerLookupParts<B> {
  readonly protocol: SummaryCacheProtocol
  readonly fetcher: PeerFetch<B>
  readonly clock: Clock
  readonly events: EventSink
  readonly policy: LookupPolicy
  /** Whether peers that do not pay for being asked are switched off. */
  readonly switchesOff: boolean
}

type PeerStep = Extract<LookupStep, { readonly kind: 'fetch-peer' | 'fetch-peers' }>

/** Asks peers for what their digests claim, and keeps account of how the guesses turned out and what they were worth. */
export class PeerLookup<B> {
  readonly #parts: PeerLookupParts<B>
  readonly #originTime = new SmoothedTime()

  constructor(parts: PeerLookupParts<B>) {
    this.#parts = parts
  }

  /** Smoothed, to the head of its answers; undefined before the first. */
  get originMs(): number | undefined {
    return this.#originTime.ms
  }

  /** An origin's answer has begun so long after it was asked. */
  originAnswered(elapsedMs: number): void {
    this.#originTime.add(elapsedMs)
  }

  plan(key: CacheKey): LookupPlan {
    const { clock, policy, protocol } = this.#parts
    const nowMs = clock.monotonicMs()
    return new LookupPlan(protocol.peers.candidates(key, nowMs), nowMs, policy, this.originMs)
  }

  /** @param request with only-if-cached already asked for */
  perform(step: PeerStep, request: RequestHead, signal: AbortSignal): Promise<PeerAnswer<B>> {
    if (step.kind === 'fetch-peer') return this.#ask(step.peer, request, step.timeoutMs, signal)
    return this.#askAll(step.peers, request, step.timeoutMs, signal)
  }

  /** All at once: the first hit is the answer, and the others are let go. */
  async #askAll(
    peers: readonly number[],
    request: RequestHead,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<PeerAnswer<B>> {
    const found = new AbortController()
    const either = AbortSignal.any([signal, found.signal])
    let hit: PeerAnswer<B> | undefined
    let isFalse = false
    const asking = peers.map(async (peer) => {
      const answer = await this.#ask(peer, request, timeoutMs, either, found.signal)
      if (answer.outcome === 'hit' && hit !== undefined) answer.response.cancel()
      else if (answer.outcome === 'hit') hit = answer
      else if (answer.outcome === 'false-hit') isFalse = true
      if (hit !== undefined) found.abort()
    })
    await Promise.all(asking)
    return hit ?? { outcome: isFalse ? 'false-hit' : 'failed' }
  }

  /** @param notNeeded aborted when another has answered: that it was let go is no failure then */
  async #ask(
    peerIndex: number,
    request: RequestHead,
    timeoutMs: number,
    signal: AbortSignal,
    notNeeded?: AbortSignal,
  ): Promise<PeerAnswer<B>> {
    const { clock, fetcher, protocol } = this.#parts
    const state = protocol.peers.at(peerIndex)
    if (state === undefined) return { outcome: 'failed' } // removed meanwhile
    const startMs = clock.monotonicMs()
    let response: FetchedResponse<B>
    try {
      response = await fetcher.fetch(state.peer, request, signal, timeoutMs)
    } catch (error) {
      if (!(error instanceof FetchError)) throw error
      if (error.code === 'cancelled') {
        // The question was sent all the same.
        this.#told(state, 'cancelled', undefined, error.requestHeadBytes, 0, startMs)
        if (notNeeded?.aborted !== true) throw error
        return { outcome: 'failed' }
      }
      this.#failed(state, error, startMs, timeoutMs)
      return { outcome: 'failed' }
    }
    const elapsedMs = clock.monotonicMs() - startMs
    state.health.answered()
    state.latencyMs = state.latencyMs === 0 ? elapsedMs : state.latencyMs + (elapsedMs - state.latencyMs) / 8
    const cause = falseHitCause(response)
    const outcome = cause === undefined ? 'hit' : 'false-hit'
    state.truthfulness = smoothedTruth(state.truthfulness, cause === undefined)
    this.#told(state, outcome, cause, response.requestHeadBytes, response.responseHeadBytes, startMs)
    this.#judge(state, outcome, elapsedMs)
    if (cause === undefined) {
      state.guesses.trueHits++
      return { outcome: 'hit', peer: state.peer.name, response }
    }
    state.guesses.falseHits[cause]++
    response.cancel()
    return { outcome: 'false-hit' }
  }

  #failed(state: PeerState, error: FetchError, startMs: number, timeoutMs: number): void {
    const { clock, events, policy } = this.#parts
    const nowMs = clock.monotonicMs()
    state.guesses.failures++
    // Cut off early, since others had used up the request's time: that says nothing of this one's health.
    const wasCutShort = error.code === 'http_response_timeout' && timeoutMs < addedDelayMs(policy, this.originMs) / 2
    if (!wasCutShort) {
      if (state.health.mayBeAsked) {
        events.emit({ kind: 'peer-changed', peer: state.peer.name, state: 'suspended', reason: error.message })
      }
      state.health.failed(nowMs, error.message)
    }
    this.#told(state, 'failed', undefined, error.requestHeadBytes, 0, startMs)
    this.#judge(state, 'failed', nowMs - startMs)
  }

  #told(
    state: PeerState,
    outcome: 'hit' | 'false-hit' | 'failed' | 'cancelled',
    cause: FalseHitCause | undefined,
    requestBytes: number,
    replyBytes: number,
    startMs: number,
  ): void {
    const elapsedMs = this.#parts.clock.monotonicMs() - startMs
    const peer = state.peer.name
    this.#parts.events.emit({ kind: 'peer-asked', peer, outcome, cause, requestBytes, replyBytes, elapsedMs })
  }

  #judge(state: PeerState, outcome: 'hit' | 'false-hit' | 'failed', elapsedMs: number): void {
    const { clock, events, switchesOff } = this.#parts
    if (!switchesOff || !state.worth.asked(outcome, elapsedMs, this.originMs, clock.monotonicMs())) return
    const reason = `asking it costs more than it saves: ${inMs(elapsedMs)} for the last answer (${outcome}), where the origin takes ${inMs(this.originMs)}`
    events.emit({ kind: 'peer-changed', peer: state.peer.name, state: 'switched-off', reason })
  }
}

export function inMs(ms: number | undefined): string {
  return ms === undefined ? 'an unknown time' : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
}

/**
 * Undefined for a hit. A sibling of ours marks what comes from its store with `hit` in `Cache-Status`; whatever else it
 * says (504, a refusal, an error page) is no object and is never passed on, nor held against its health.
 */
export function falseHitCause(response: FetchedResponse<unknown>): FalseHitCause | undefined {
  const said = parseCacheStatusDetail(response.head.fields.get('cache-status') ?? '')
  if (said.params['hit'] === true) return undefined
  if (response.head.status !== 504) return 'unknown'
  if (said.detail === 'stale') return 'freshness'
  if (said.detail === 'variant') return 'variant'
  if (said.detail !== 'absent') return 'unknown'
  // Bits that the peer has cleared since count as pending: they were when our replica was made.
  return said.params['claim'] === 'collision' ? 'collision' : 'pending-clear'
}
