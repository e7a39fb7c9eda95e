import { STATUS_CODES } from 'node:http'
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { Fields } from '../../core/http/fields.ts'
import { fetchErrorCode } from '../../proxy/fetch-error-code.ts'
import { FetchError, type FetchedResponse, type LiveBody } from '../../proxy/ports.ts'

export interface Exchange {
  /** Where to connect: `http://host:port`. */
  readonly connectTo: string
  /** Whom the other end of a TLS connection must be, where that is not `host`: connections are kept by it. */
  readonly verifiedName?: string
  /** Request target as written in the request line. */
  readonly target: string
  readonly host: string
  readonly method: string
  readonly fields: Fields
  readonly body: LiveBody | undefined
}

/** One request and its response's head through undici; the body follows as it is read. @throws {FetchError} */
export async function exchange(
  dispatcher: Dispatcher,
  request: Exchange,
  signal: AbortSignal,
): Promise<FetchedResponse<LiveBody>> {
  try {
    return await attempt(dispatcher, request, signal)
  } catch (error) {
    // RFC 9112 §9.3.1: the origin may close an idle connection just as a request is written to it. A safe request
    // without a body is sent once more.
    const retry = error instanceof FetchError && error.code === 'connection_terminated' && !signal.aborted
    if (!retry || request.body !== undefined || (request.method !== 'GET' && request.method !== 'HEAD')) throw error
    return await attempt(dispatcher, request, signal)
  }
}

async function attempt(
  dispatcher: Dispatcher,
  request: Exchange,
  signal: AbortSignal,
): Promise<FetchedResponse<LiveBody>> {
  const headers = ['Host', request.host, ...request.fields.without(UNSENT).raw]
  const requestHeadBytes = headBytes(request.method.length + request.target.length + 11, headers)
  let answer: Dispatcher.ResponseData
  try {
    // Its type does not know `servername`.
    const name = request.verifiedName === undefined ? {} : { servername: request.verifiedName }
    answer = await dispatcher.request({
      ...name,
      origin: request.connectTo,
      path: request.target,
      method: request.method,
      headers,
      body: request.body === undefined ? null : asReadable(request.body),
      signal,
      responseHeaders: 'raw',
    })
  } catch (error) {
    throw fetchError(error, request, requestHeadBytes)
  }
  const raw = answer.headers as unknown as string[]
  const fields = new Fields(raw)
  const reason = STATUS_CODES[answer.statusCode] ?? ''
  const body = answer.body
  // A body that is cancelled reports it as an error to whoever listens; reading it is where errors matter.
  body.on('error', () => undefined)
  const empty = request.method === 'HEAD' || answer.statusCode === 204 || answer.statusCode === 304
  if (empty) await body.dump()
  return {
    head: { status: answer.statusCode, reason, fields },
    body: empty ? undefined : body,
    bodyBytes: contentLength(fields),
    requestHeadBytes,
    responseHeadBytes: headBytes(13 + reason.length, raw),
    cancel: () => {
      body.destroy()
    },
  }
}

/** undici sets the framing itself and refuses these; `Host` is the target's, not the client's. */
const UNSENT: ReadonlySet<string> = new Set([
  'host',
  'expect',
  'transfer-encoding',
  'connection',
  'upgrade',
  'keep-alive',
])

function asReadable(body: LiveBody): Readable {
  if (body instanceof Readable) return body
  return body instanceof Uint8Array ? Readable.from([body]) : Readable.from(body, { objectMode: false })
}

/** Start line (with its spaces and line break) and fields as HTTP/1.1 writes them, and the empty line. */
function headBytes(startLineBytes: number, raw: readonly string[]): number {
  let bytes = startLineBytes + 2
  for (let i = 0; i < raw.length; i += 2) bytes += raw[i]!.length + raw[i + 1]!.length + 4
  return bytes
}

function contentLength(fields: Fields): number | undefined {
  const value = fields.get('content-length')
  return value !== undefined && /^\d{1,15}$/.test(value) ? Number(value) : undefined
}

function fetchError(error: unknown, request: Exchange, requestHeadBytes: number): FetchError {
  const { code = '', message } = error as NodeJS.ErrnoException
  const kind = fetchErrorCode(error)
  const sent =
    kind === 'dns_error' || kind === 'connection_refused' || kind === 'connection_timeout' ? 0 : requestHeadBytes
  return new FetchError(kind, `${new URL(request.connectTo).host}: ${message || code}`, sent, { cause: error })
}
