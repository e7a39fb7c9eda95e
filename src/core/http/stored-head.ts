import { strict as assert } from 'node:assert'
import { endToEnd } from './forwarded-headers.ts'
import { currentAgeMs, fieldDate, reuseFacts } from './freshness.ts'
import type { ExchangeTimes, ReuseFacts } from './freshness.ts'
import { formatHttpDate } from './http-date.ts'
import type { RequestHead, ResponseHead } from './message-head.ts'
import { selectingValues, varyNames } from './vary.ts'

/** What is kept of a response beside its body: its head, and what was worked out from it once, at admit. */
export interface StoredHead {
  /** End-to-end fields only; no Age, no hop-by-hop fields. */
  readonly head: ResponseHead
  readonly facts: ReuseFacts
  /** Lower-case names of the request fields that select this variant; empty when the response does not vary. */
  readonly varyNames: readonly string[]
  /** `selectingValues(varyNames, request)` of the request that brought it; '' when it does not vary. */
  readonly variant: string
}

const AGE: ReadonlySet<string> = new Set(['age'])

/**
 * The head to keep of a response that may be stored (`judgeStorability`).
 *
 * @param response as it came. Its Age goes into the facts; a Date that is missing or unreadable becomes the time of
 *   receipt (RFC 9110 §6.6.1), all other end-to-end fields stay as they are
 */
export function storedHead(request: RequestHead, response: ResponseHead, times: ExchangeTimes): StoredHead {
  const names = varyNames(response.fields)
  assert(names !== '*', 'a response that never matches was to be stored')
  let fields = endToEnd(response.fields).without(AGE)
  if (fieldDate(fields, 'date', times.receivedWallMs) === undefined) {
    fields = fields.set('Date', formatHttpDate(times.receivedWallMs))
  }
  return {
    head: { status: response.status, reason: response.reason, fields },
    facts: reuseFacts({ request, response, ...times }),
    varyNames: names,
    variant: selectingValues(names, request.fields),
  }
}

/** The head to answer with from the store at `nowMs` (monotonic): as stored, and its Age (RFC 9111 §4, §5.1). */
export function servedHead(stored: StoredHead, nowMs: number): ResponseHead {
  const { status, reason, fields } = stored.head
  const ageSeconds = Math.floor(currentAgeMs(stored.facts, nowMs) / 1000)
  return { status, reason, fields: fields.plus('Age', String(ageSeconds)) }
}
