import { parseCacheStatusDetail } from '../core/http/cache-status.ts'
import type { CacheKey } from '../core/http/cache-key.ts'
import type { RequestHead } from '../core/http/message-head.ts'
import type { FalseHitCause } from '../core/peers/guess-counts.ts'
import type { PeerState } from '../core/peers/peer-table.ts'
import type { SummaryCacheProtocol } from '../core/protocol/summary-cache-protocol.ts'
import { FetchError, type Clock, type EventSink, type FetchedResponse, type PeerFetch } from './ports.ts'

export type PeerAnswer<B> =
  | { readonly outcome: 'hit'; readonly response: FetchedResponse<B> }
  | { readonly outcome: 'false-hit' | 'failed' }

/** Asks one peer for what its digest claims, and keeps account of how the guess turned out. */
export class PeerLookup<B> {
  readonly #protocol: SummaryCacheProtocol
  readonly #fetcher: PeerFetch<B>
  readonly #clock: Clock
  readonly #events: EventSink

  constructor(protocol: SummaryCacheProtocol, fetcher: PeerFetch<B>, clock: Clock, events: EventSink) {
    this.#protocol = protocol
    this.#fetcher = fetcher
    this.#clock = clock
    this.#events = events
  }

  candidates(key: CacheKey): readonly number[] {
    return this.#protocol.peers.candidates(key, this.#clock.monotonicMs())
  }

  /** @param request with only-if-cached already asked for */
  async ask(peerIndex: number, request: RequestHead, signal: AbortSignal): Promise<PeerAnswer<B>> {
    const state = this.#protocol.peers.at(peerIndex)
    if (state === undefined) return { outcome: 'failed' } // removed meanwhile
    const startMs = this.#clock.monotonicMs()
    let response: FetchedResponse<B>
    try {
      response = await this.#fetcher.fetch(state.peer, request, signal)
    } catch (error) {
      if (!(error instanceof FetchError)) throw error
      if (error.code === 'cancelled') throw error
      this.#failed(state, error, startMs)
      return { outcome: 'failed' }
    }
    const elapsedMs = this.#clock.monotonicMs() - startMs
    state.health.answered()
    state.latencyMs = state.latencyMs === 0 ? elapsedMs : state.latencyMs + (elapsedMs - state.latencyMs) / 8
    const cause = falseHitCause(response)
    this.#events.emit({
      kind: 'peer-asked',
      peer: state.peer.name,
      outcome: cause === undefined ? 'hit' : 'false-hit',
      cause,
      requestBytes: response.requestHeadBytes,
      replyBytes: response.responseHeadBytes,
      elapsedMs,
    })
    if (cause === undefined) {
      state.guesses.trueHits++
      return { outcome: 'hit', response }
    }
    state.guesses.falseHits[cause]++
    response.cancel()
    return { outcome: 'false-hit' }
  }

  #failed(state: PeerState, error: FetchError, startMs: number): void {
    const nowMs = this.#clock.monotonicMs()
    state.guesses.failures++
    if (state.health.mayBeAsked) {
      this.#events.emit({ kind: 'peer-changed', peer: state.peer.name, state: 'suspended', reason: error.message })
    }
    state.health.failed(nowMs, error.message)
    this.#events.emit({
      kind: 'peer-asked',
      peer: state.peer.name,
      outcome: 'failed',
      cause: undefined,
      requestBytes: error.requestHeadBytes,
      replyBytes: 0,
      elapsedMs: nowMs - startMs,
    })
  }
}

/**
 * Undefined for a hit. A sibling of ours marks what comes from its store with `hit` in `Cache-Status`; whatever else it
 * says (504, a refusal, an error page) is no object and is never passed on, nor held against its health.
 */
function falseHitCause(response: FetchedResponse<unknown>): FalseHitCause | undefined {
  const said = parseCacheStatusDetail(response.head.fields.get('cache-status') ?? '')
  if (said.params['hit'] === true) return undefined
  if (response.head.status !== 504) return 'unknown'
  if (said.detail === 'stale') return 'freshness'
  if (said.detail === 'variant') return 'variant'
  if (said.detail !== 'absent') return 'unknown'
  // Bits that the peer has cleared since count as pending: they were when our replica was made.
  return said.params['claim'] === 'collision' ? 'collision' : 'pending-clear'
}
