import { cacheStatus } from '../core/http/cache-status.ts'
import { Fields } from '../core/http/fields.ts'
import type { ResponseHead } from '../core/http/message-head.ts'
import type { TargetProblem } from '../core/http/request-target.ts'
import type { FetchErrorCode } from './ports.ts'

/** An answer that the proxy makes itself. */
export interface OwnReply {
  readonly head: ResponseHead
  /** Plain text for people, ending in a line break. */
  readonly text: string
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  403: 'Forbidden',
  404: 'Not Found',
  414: 'URI Too Long',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  504: 'Gateway Timeout',
  508: 'Loop Detected',
}

function ownReply(status: number, text: string, extra: Readonly<Record<string, string>>): OwnReply {
  return {
    head: {
      status,
      reason: REASONS[status] ?? '',
      fields: Fields.of({ 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store', ...extra }),
    },
    text: `${text}\n`,
  }
}

/** Why an only-if-cached question got nothing (PROTOCOL rule 14), for the asker's counts. */
export type UnheldDetail = 'absent' | 'stale' | 'variant'

/** RFC 9111 §5.2.1.7: 504 to a request that may only be answered from the store. */
export function unheldReply(proxyName: string, detail: UnheldDetail, claim: string): OwnReply {
  const forwarded = detail === 'stale' ? 'stale' : detail === 'variant' ? 'vary-miss' : 'uri-miss'
  return ownReply(
    504,
    `${proxyName} cannot answer this from its store (${detail}) and was told not to ask elsewhere.`,
    {
      'Cache-Status': cacheStatus(proxyName, { fwd: forwarded, detail, claim }),
    },
  )
}

/** RFC 9209: no answer could be had; says who failed and how. */
export function failedReply(proxyName: string, url: string, code: FetchErrorCode, message: string): OwnReply {
  const timedOut = code === 'connection_timeout' || code === 'http_response_timeout'
  return ownReply(timedOut ? 504 : 502, `${proxyName} could not fetch ${url}: ${message}`, {
    'Cache-Status': cacheStatus(proxyName, { fwd: 'uri-miss', detail: code }),
    'Proxy-Status': `${proxyName}; error=${code}`,
  })
}

/** RFC 9110 §7.6.3: a message that has been here before would go round for ever. */
export function loopReply(proxyName: string): OwnReply {
  return ownReply(508, `This request has already passed through ${proxyName}: a forwarding loop.`, {
    'Cache-Status': cacheStatus(proxyName, { fwd: 'request', detail: 'loop' }),
    'Proxy-Status': `${proxyName}; error=proxy_loop_detected`,
  })
}

/** Why a request goes nowhere. Those of a target are RFC 9112's (see `effectiveUrl`). */
export type Refusal = TargetProblem | 'forbidden' | 'no-mount' | 'internal'

const REFUSALS: Readonly<Record<Refusal, readonly [status: number, why: string]>> = {
  'bad-authority': [400, 'its target names no host (and, for CONNECT, port) that can be understood'],
  'bad-host': [400, 'its Host field is no host'],
  'bad-target': [400, 'its target is neither a path nor an absolute URL'],
  fragment: [400, 'its target has a fragment, which is never sent'],
  'no-host': [400, 'it has no Host field'],
  'several-hosts': [400, 'it has more than one Host field'],
  'too-long': [414, 'its target is too long'],
  'unsupported-scheme': [400, 'its scheme is neither http nor https'],
  userinfo: [400, 'its target carries user information'],
  forbidden: [403, 'this client or port may not be served here (configuration: access.clients, forward)'],
  'no-mount': [404, 'no mount in the configuration matches its host and path'],
  internal: [500, 'the proxy failed'],
}

export function refusedReply(proxyName: string, refusal: Refusal, about: string): OwnReply {
  const [status, why] = REFUSALS[refusal]
  return ownReply(status, `${proxyName} refuses this request: ${why}: ${about}`, {
    'Cache-Status': cacheStatus(proxyName, { fwd: 'request', detail: refusal }),
  })
}
