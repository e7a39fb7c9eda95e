import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto'
import { Agent, buildConnector } from 'undici'
import type { Peer } from '../../core/peers/peer.ts'
import { MalformedMessageError } from '../../core/protocol/malformed-message-error.ts'
import { fetchErrorCode } from '../../proxy/fetch-error-code.ts'
import type { PeerTls } from '../../proxy/peer-tls.ts'
import { FetchError, type Clock } from '../../proxy/ports.ts'
import { answerMac, MAC_FIELD, NONCE_BYTES, sameMac, signRequest } from './request-signature.ts'

export interface PeerClientOptions {
  /** Ours. */
  readonly name: string
  readonly key: KeyObject | undefined
  readonly tls: PeerTls | undefined
  readonly clock: Clock
}

export interface PeerRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: Uint8Array
  readonly fields?: Readonly<Record<string, string>>
  /** An answer's body of which nothing has come for so long is given up. */
  readonly idleMs: number
}

/** An answer's head; its body is to be read to its end or given up. */
export interface PeerAnswer {
  readonly status: number
  /** The field's one value; undefined when it is absent or repeated. */
  field(name: string): string | undefined
  readonly body: AsyncIterable<Uint8Array>
  /** Frees the connection without reading on. */
  cancel(): void
  /** Of the request's signature. */
  readonly nonce: string | undefined
}

/** Across a continent, with TLS, and a packet lost. */
const CONNECT_TIMEOUT_MS = 3_000
/** More of a refusal is not read, */
const MAX_REFUSAL_BYTES = 4096
/** and more of it not shown. */
const MAX_SAID_CHARS = 200

/** Asks peers under their prefix, signed and over TLS where that is configured. */
export class PeerClient {
  readonly #options: PeerClientOptions
  readonly #agent: Agent

  constructor(options: PeerClientOptions) {
    this.#options = options
    const connect = buildConnector({
      ...(options.tls && { ca: options.tls.ca, cert: options.tls.certificate, key: options.tls.key }),
      timeout: CONNECT_TIMEOUT_MS,
      minVersion: 'TLSv1.2',
      rejectUnauthorized: true,
      allowH2: false,
      // Whoever is there proves who it is each time.
      maxCachedSessions: 0,
    })
    // No bound on connections: each stream has one of its own for as long as it lasts.
    this.#agent = new Agent({ connect })
  }

  /** @throws what the HTTP client says; `failure` knows it */
  async request(peer: Peer, request: PeerRequest, signal: AbortSignal): Promise<PeerAnswer> {
    const { clock, key, name } = this.#options
    const body = request.body ?? new Uint8Array(0)
    const { method, path } = request
    const nonce = key && randomBytes(NONCE_BYTES).toString('hex')
    const signature =
      key &&
      nonce &&
      signRequest(
        key,
        { method, path, publisher: peer.name, body },
        { asker: name, timeMs: Math.round(clock.wallMs()), nonce },
      )
    const answer = await this.#agent.request({
      origin: peer.url,
      path,
      method,
      headers: {
        'summary-cache-proxy': name,
        ...(signature !== undefined && { authorization: signature }),
        ...request.fields,
      },
      body: method === 'GET' ? null : body,
      // Until the head has come, the caller's deadline counts.
      headersTimeout: 0,
      bodyTimeout: request.idleMs,
      signal,
    })
    // A body that is given up reports it as an error to whoever listens; reading it is where errors matter.
    answer.body.on('error', () => undefined)
    return {
      status: answer.statusCode,
      field: (field) => single(answer.headers[field]),
      body: answer.body as AsyncIterable<Uint8Array>,
      cancel: () => {
        answer.body.destroy()
      },
      nonce,
    }
  }

  /** The whole body, which must not be longer, and between proxies that share a key must be theirs. */
  async readBody(answer: PeerAnswer, maxBytes: number): Promise<Uint8Array> {
    const body = await readBounded(answer, maxBytes)
    if (!this.isSigned(answer, body)) {
      throw new FetchError('http_protocol_error', `its answer ${NOT_SIGNED}`, 0)
    }
    return body
  }

  /** Whether an answer with this whole body is what the peer has said; always so where no key is shared. */
  isSigned(answer: PeerAnswer, body: Uint8Array): boolean {
    const { key } = this.#options
    const { nonce, status } = answer
    if (key === undefined || nonce === undefined) return true
    return sameMac(answer.field(MAC_FIELD) ?? '', answerMac(key, nonce, status, body))
  }

  /** Why an answer other than the wanted one was given, in words for an operator. Reads its body. */
  async refusal(peer: Peer, answer: PeerAnswer): Promise<Refusal> {
    const { status } = answer
    const body = await readBounded(answer, MAX_REFUSAL_BYTES)
    const isBelieved = this.isSigned(answer, body)
    const said = Buffer.from(body)
      .toString()
      .split('\n', 1)[0]!
      .slice(0, MAX_SAID_CHARS)
      .replaceAll(/[^ -~]/g, '?')
    const text = this.#refusalText(peer, status, said, answer.field('retry-after'))
    // Where no signature is expected from a refusal, its text says why.
    const unsigned = isBelieved || status === 401 || status === 403 ? '' : ` (an answer that ${NOT_SIGNED})`
    return { status, isBelieved, text: text + unsigned }
  }

  #refusalText({ name, url }: Peer, status: number, said: string, retryAfter: string | undefined): string {
    switch (status) {
      case 401:
        return this.#options.key === undefined
          ? `${url} wants requests signed with the key of its cluster, and we have no cluster.key`
          : `${url} refuses our request: ${said}`
      case 403:
        return `${url} refuses us its digest: are we among its access.clients? It says: ${said}`
      case 404:
        return `${url} answered 404 to the request for its digest: is it a summary-cache proxy of our version?`
      case 421:
        return `${url} is not ${name}: another proxy has its address, or is called otherwise`
      case 429:
        return `${url} has given us our share for now and lets us ask again in ${seconds(retryAfter)}: ${said}`
      default:
        return `${url} answered ${status}: ${said}`
    }
  }

  /** What an error of a request means. `outer`: the caller's own signal. */
  failure(peer: Peer, error: unknown, outer: AbortSignal): FetchError {
    const { url } = peer
    if (outer.aborted) return new FetchError('cancelled', 'closed', 0, { cause: error })
    if (error instanceof FetchError) {
      return error.message.startsWith(url) ? error : new FetchError(error.code, `${url}: ${error.message}`, 0)
    }
    if (error instanceof MalformedMessageError) {
      return new FetchError('http_protocol_error', error.message, 0, { cause: error })
    }
    const { code = '', message } = error as NodeJS.ErrnoException
    const kind = fetchErrorCode(error)
    return new FetchError(kind, `${url}: ${message || code}${tlsHint(url, kind)}`, 0, { cause: error })
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }
}

export interface Refusal {
  readonly status: number
  /** False: anybody between may have said so. */
  readonly isBelieved: boolean
  readonly text: string
}

const NOT_SIGNED = "is not signed with our cluster's key"

export function sharedKey(text: string): KeyObject {
  return createSecretKey(text, 'utf8')
}

/**
 * TLS 1.3 tells who connects that it is accepted before its certificate is looked at: a connection that is then just
 * closed is how a refusal shows.
 */
function tlsHint(url: string, code: string): string {
  if (!url.startsWith('https:')) return ''
  if (code === 'tls_error') return ' (TLS: its certificate or ours is not accepted)'
  return code === 'connection_terminated' ? ' (closed behind the TLS handshake: it may not accept our certificate)' : ''
}

async function readBounded(answer: PeerAnswer, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of answer.body) {
      size += chunk.length
      if (size > maxBytes) throw new FetchError('http_protocol_error', `its answer has more than ${maxBytes} bytes`, 0)
      chunks.push(chunk)
    }
  } finally {
    answer.cancel()
  }
  return Buffer.concat(chunks, size)
}

function single(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function seconds(retryAfter: string | undefined): string {
  return retryAfter !== undefined && /^\d{1,6}$/.test(retryAfter) ? `${retryAfter} s` : 'a while'
}
