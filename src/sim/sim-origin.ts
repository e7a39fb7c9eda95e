import { Fields } from '../core/http/fields.ts'
import { formatHttpDate } from '../core/http/http-date.ts'
import type { RequestHead } from '../core/http/message-head.ts'
import { FetchError, type Clock, type FetchedResponse, type Origin } from '../proxy/ports.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { VirtualTime } from './virtual-time.ts'

/** How one URL's responses may be kept. */
export interface DocumentKind {
  readonly cacheControl: string
  /** Undefined: they may not be stored. */
  readonly lifetimeMs: number | undefined
  /** One for each value of Accept-Language. */
  readonly varies: boolean
  readonly hasValidator: boolean
}

export interface SimDocument {
  readonly url: string
  readonly kind: DocumentKind
  version: number
}

/** What the origin has said. `body` is the number by which it is known from then on. */
export interface OriginAnswer {
  readonly document: SimDocument
  readonly language: string
  readonly body: number
  /** A 304: the body was the asker's. */
  readonly isConfirmation: boolean
}

const KINDS: readonly DocumentKind[] = [
  { cacheControl: 'max-age=3600', lifetimeMs: 3_600_000, varies: false, hasValidator: true },
  { cacheControl: 'max-age=3600', lifetimeMs: 3_600_000, varies: false, hasValidator: false },
  { cacheControl: 'max-age=30', lifetimeMs: 30_000, varies: false, hasValidator: true },
  { cacheControl: 'max-age=4', lifetimeMs: 4_000, varies: false, hasValidator: true },
  { cacheControl: 's-maxage=10, max-age=1', lifetimeMs: 10_000, varies: false, hasValidator: false },
  { cacheControl: 'max-age=60', lifetimeMs: 60_000, varies: true, hasValidator: true },
  { cacheControl: 'private, max-age=60', lifetimeMs: undefined, varies: false, hasValidator: true },
  { cacheControl: 'no-store', lifetimeMs: undefined, varies: false, hasValidator: false },
]
// Most documents live long: digests are about what stays.
const KIND_WEIGHTS = [6, 3, 3, 2, 1, 2, 1, 1]

const BODY_BYTES = [300, 2_000] as const
const DELAY_MS = [5, 40] as const
const SLOW_MS = 1_500
const TIMEOUT_MS = 2_000

/** No body has more. */
export const MAX_BODY_BYTES = BODY_BYTES[1]
export const ORIGIN_TIMEOUT_MS = TIMEOUT_MS

/** The origin of all documents: versions, freshness and failures. Its clock is right. */
export class SimOrigin {
  readonly documents: readonly SimDocument[]
  readonly #time: VirtualTime
  readonly #random: SeededRandom
  readonly #answered: (answer: OriginAnswer) => void
  readonly #byUrl = new Map<string, SimDocument>()
  readonly #bodies: { readonly bytes: number; readonly tag: string }[] = []
  readonly #bodyOf = new Map<string, number>()
  /** When it last left a request without an answer. */
  lastFailureMs = -Infinity
  isFailing = false
  isSlow = false

  constructor(
    time: VirtualTime,
    random: SeededRandom,
    documentCount: number,
    answered: (answer: OriginAnswer) => void,
  ) {
    this.#time = time
    this.#random = random
    this.#answered = answered
    this.documents = Array.from({ length: documentCount }, (_, i) => ({
      url: `http://origin.example/${i}`,
      kind: KINDS[weighted(random, KIND_WEIGHTS)]!,
      version: 0,
    }))
    for (const document of this.documents) this.#byUrl.set(document.url, document)
  }

  bodyBytes(body: number): number {
    return this.#bodies[body]?.bytes ?? 0
  }

  /** What one life of a proxy asks through. */
  portOf(clock: Clock): Origin<number> {
    return { fetch: (request, _body, signal) => this.#fetch(clock, request, signal) }
  }

  async #fetch(clock: Clock, request: RequestHead, signal: AbortSignal): Promise<FetchedResponse<number>> {
    const delayMs = this.isSlow ? SLOW_MS : this.#random.between(...DELAY_MS)
    const isLost = this.isFailing && this.#random.chance(0.3)
    const isRefused = this.isFailing && this.#random.chance(0.5)
    if (isLost || isRefused) this.lastFailureMs = this.#time.nowMs
    await clock.sleep(isLost ? TIMEOUT_MS : delayMs, signal)
    if (signal.aborted) throw new FetchError('cancelled', 'given up', 0)
    if (isLost) throw new FetchError('http_response_timeout', 'the origin did not answer', 0)
    if (isRefused) throw new FetchError('connection_refused', 'nobody listens at the origin', 0)
    return this.#answer(this.#byUrl.get(request.url)!, request)
  }

  #answer(document: SimDocument, request: RequestHead): FetchedResponse<number> {
    const { kind } = document
    if (request.method === 'POST') document.version++
    const language = kind.varies ? (request.fields.get('accept-language') ?? '') : ''
    const body = this.#bodyFor(document, language)
    const { bytes, tag } = this.#bodies[body]!
    const isConfirmation = kind.hasValidator && request.fields.get('if-none-match') === tag
    this.#answered({ document, language, body, isConfirmation })
    const fields = Fields.of({
      Date: formatHttpDate(ORIGIN_EPOCH_MS + this.#time.nowMs),
      'Cache-Control': kind.cacheControl,
      ...(kind.hasValidator && { ETag: tag }),
      ...(kind.varies && { Vary: 'Accept-Language' }),
      ...(!isConfirmation && { 'Content-Length': String(bytes) }),
    })
    const isEmpty = isConfirmation || request.method === 'HEAD'
    return {
      head: { status: isConfirmation ? 304 : 200, reason: isConfirmation ? 'Not Modified' : 'OK', fields },
      body: isEmpty ? undefined : body,
      bodyBytes: isEmpty ? undefined : bytes,
      requestHeadBytes: 0,
      responseHeadBytes: 0,
      cancel: () => undefined,
    }
  }

  /** One number for each version and language, given when it is first asked for. */
  #bodyFor(document: SimDocument, language: string): number {
    const name = `${document.url} ${document.version} ${language}`
    const known = this.#bodyOf.get(name)
    if (known !== undefined) return known
    const body = this.#bodies.length
    this.#bodies.push({ bytes: this.#random.between(...BODY_BYTES), tag: `"${body}"` })
    this.#bodyOf.set(name, body)
    return body
  }
}

/** What the origin's clock shows when virtual time is 0. */
export const ORIGIN_EPOCH_MS = 1_796_000_000_000

function weighted(random: SeededRandom, weights: readonly number[]): number {
  let left = random.next() * weights.reduce((sum, weight) => sum + weight, 0)
  for (const [index, weight] of weights.entries()) {
    left -= weight
    if (left < 0) return index
  }
  return 0
}
