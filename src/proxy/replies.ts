import { cacheStatus, type CacheStatus } from '../core/http/cache-status.ts'
import { endToEnd, viaAppended } from '../core/http/forwarded-headers.ts'
import { freshUntilMs } from '../core/http/freshness.ts'
import type { RequestHead, ResponseHead } from '../core/http/message-head.ts'
import { servedHead } from '../core/http/stored-head.ts'
import { clientHas, notModifiedHead } from '../core/http/validation.ts'
import type { Clock, FetchedResponse, StoredResponse } from './ports.ts'
import type { Outcome } from './proxy-event.ts'
import type { Reply } from './reply.ts'

/** Makes replies of what the store, a peer or the origin has given: each says what we did and that we were there. */
export class Replies<B> {
  readonly #name: string
  readonly #clock: Clock

  constructor(name: string, clock: Clock) {
    this.#name = name
    this.#clock = clock
  }

  /** From the store; a 304 where the client has it already (RFC 9111 §4.3.2). */
  stored(
    request: RequestHead,
    opened: StoredResponse<B>,
    said: CacheStatus,
    outcome: Outcome,
    server: string | undefined,
  ): Reply<B> {
    const nowMs = this.#clock.monotonicMs()
    // Rounded so that it and Age, which is rounded down, make up the lifetime.
    const ttlSeconds = Math.ceil((freshUntilMs(opened.stored.facts) - nowMs) / 1000)
    const status = Number.isFinite(ttlSeconds) ? { ...said, ttlSeconds } : said
    // RFC 9111 §5.1: Age says that the answer was not made or confirmed by the origin for this request.
    const firstHand = outcome === 'miss' || outcome === 'validated-hit'
    const { facts, head } = opened.stored
    const served = firstHand && facts.initialAgeMs < 1_000 ? head : servedHead(opened.stored, nowMs)
    const notModified = clientHas(request, served, this.#clock.wallMs())
    if (notModified || request.method === 'HEAD') opened.release()
    return {
      head: this.#sent(notModified ? notModifiedHead(served) : served, status),
      body: notModified || request.method === 'HEAD' ? undefined : opened.body,
      bodyBytes: notModified ? undefined : opened.bodyBytes,
      outcome,
      server,
      release: () => opened.release(),
    }
  }

  /** Straight through, past the store. */
  passed(response: FetchedResponse<B>, said: CacheStatus, outcome: Outcome, server: string): Reply<B> {
    return {
      head: this.#sent({ ...response.head, fields: endToEnd(response.head.fields) }, said),
      body: response.body,
      bodyBytes: response.bodyBytes,
      outcome,
      server,
      release: () => response.cancel(),
    }
  }

  #sent(head: ResponseHead, said: CacheStatus): ResponseHead {
    const fields = viaAppended(head.fields, '1.1', this.#name)
    return { ...head, fields: fields.plus('Cache-Status', cacheStatus(this.#name, said)) }
  }
}
