import { cacheStatus, tokenOrString, type CacheStatus } from '../core/http/cache-status.ts'
import { Fields } from '../core/http/fields.ts'
import type { TargetProblem } from '../core/http/request-target.ts'
import type { FetchErrorCode } from './ports.ts'
import type { Outcome } from './proxy-event.ts'
import type { Reply } from './reply.ts'

/** An answer that the proxy makes itself: plain ASCII text for people. */
export interface OwnReply extends Reply<never> {
  readonly body: string
  readonly bodyBytes: number
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  403: 'Forbidden',
  404: 'Not Found',
  408: 'Request Timeout',
  414: 'URI Too Long',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  504: 'Gateway Timeout',
  505: 'HTTP Version Not Supported',
  508: 'Loop Detected',
}

function ownReply(
  name: string,
  outcome: Outcome,
  status: number,
  said: CacheStatus,
  text: string,
  error?: string,
): OwnReply {
  const body = `${text.replaceAll(/[^ -~]/g, '?')}\n`
  const fields = {
    'Content-Type': 'text/plain; charset=utf-8',
    'Cache-Control': 'no-store',
    Via: `1.1 ${name}`,
    'Cache-Status': cacheStatus(name, said),
    ...(error !== undefined && { 'Proxy-Status': `${tokenOrString(name)}; error=${error}` }),
  }
  return {
    head: { status, reason: REASONS[status] ?? '', fields: Fields.of(fields) },
    body,
    bodyBytes: body.length,
    outcome,
    server: undefined,
    release: () => undefined,
  }
}

/** Why an only-if-cached question got nothing (PROTOCOL rule 14), for the asker's counts. */
export type UnheldDetail = 'absent' | 'stale' | 'variant'

/** RFC 9111 §5.2.1.7: 504 to a request that may only be answered from the store. */
export function unheldReply(name: string, detail: UnheldDetail, claim: string): OwnReply {
  const fwd = detail === 'stale' ? 'stale' : detail === 'variant' ? 'vary-miss' : 'uri-miss'
  const text = `${name} cannot answer this from its store (${detail}) and was told not to ask elsewhere.`
  return ownReply(name, 'unheld', 504, { fwd, detail, claim }, text)
}

/** RFC 9209: no answer could be had; says who failed and how. */
export function failedReply(name: string, url: string, code: FetchErrorCode, message: string): OwnReply {
  const status = code === 'connection_timeout' || code === 'http_response_timeout' ? 504 : 502
  const text = `${name} could not fetch ${url}: ${message}`
  return ownReply(name, 'failed', status, { fwd: 'uri-miss', detail: code }, text, code)
}

/** RFC 9110 §7.6.3: a message that has been here before would go round for ever. */
export function loopReply(name: string): OwnReply {
  const text = `This request has already passed through ${name}: a forwarding loop.`
  return ownReply(name, 'refused', 508, { fwd: 'request', detail: 'loop' }, text, 'proxy_loop_detected')
}

/** Why a request goes nowhere. Those of a target are RFC 9112's (see `effectiveUrl`). */
export type Refusal =
  | TargetProblem
  | 'forbidden'
  | 'peers-only'
  | 'no-mount'
  | 'internal'
  | 'version'
  | 'malformed'
  | 'head-too-large'
  | 'too-slow'

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
  'peers-only': [403, 'this port is for peers, which ask for what is held here (GET or HEAD with only-if-cached)'],
  'no-mount': [404, 'no mount in the configuration matches its host and path'],
  internal: [500, 'the proxy failed'],
  version: [505, 'its HTTP version is none that HTTP/1 lines can carry'],
  malformed: [400, 'it is no HTTP/1.1 that can be understood'],
  'head-too-large': [431, 'its head is too large'],
  'too-slow': [408, 'it did not arrive in time'],
}

export function refusedReply(name: string, refusal: Refusal, about: string): OwnReply {
  const [status, why] = REFUSALS[refusal]
  const outcome = refusal === 'internal' ? 'failed' : 'refused'
  return ownReply(
    name,
    outcome,
    status,
    { fwd: 'request', detail: refusal },
    `${name} refuses this request: ${why}: ${about}`,
  )
}
