import { Agent, type Dispatcher } from 'undici'
import { FrameReader } from '../../core/digest/frame-reader.ts'
import type { Peer } from '../../core/peers/peer.ts'
import { MalformedMessageError } from '../../core/protocol/malformed-message-error.ts'
import type { PartialSnapshot } from '../../proxy/partial-snapshot.ts'
import {
  FetchError,
  type DigestStream,
  type DigestStreamHandler,
  type DigestTransport,
  type ProtocolVersion,
} from '../../proxy/ports.ts'
import { ASKER_FIELD, DigestRoutes, FRAMES_TYPE } from './digest-routes.ts'

export interface DigestHttpOptions {
  /** Ours. */
  readonly name: string
  /** A stream on which nothing has come for three of these is given up. */
  readonly heartbeatMs: number
  readonly maxFrameBytes: number
  /** The path under which the routes live, ending in `/`. */
  readonly prefix: string
  /** Of the protocol, to be spoken. */
  readonly versions: readonly ProtocolVersion[]
}

const CONNECT_TIMEOUT_MS = 1_000
const DESCRIBE_TIMEOUT_MS = 1_000

/** Digest frames over HTTP, on the proxy port (docs/protocol.md, "Over HTTP"). */
export class DigestHttp implements DigestTransport {
  readonly routes: DigestRoutes
  readonly #options: DigestHttpOptions
  readonly #versions: readonly ProtocolVersion[]
  readonly #agent: Agent

  constructor(options: DigestHttpOptions) {
    this.#options = options
    this.#versions = options.versions.toSorted((a, b) => b - a)
    this.routes = new DigestRoutes({ ...options, versions: this.#versions })
    this.#agent = new Agent({
      bodyTimeout: 3 * options.heartbeatMs,
      headersTimeout: 3 * options.heartbeatMs,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      pipelining: 0,
    })
  }

  broadcast(frame: Uint8Array): number {
    return this.routes.broadcast(frame)
  }

  follow(peer: Peer, want: Uint8Array, handler: DigestStreamHandler): DigestStream {
    const stop = new AbortController()
    void this.#follow(peer, want, handler, stop.signal)
    return { close: () => stop.abort() }
  }

  async ask(peer: Peer, want: Uint8Array, signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const path = `v2/want/${encodeURIComponent(peer.name)}`
    return this.#exchange(signal, async () => {
      const answer = await this.#request(peer, 'POST', path, {}, want, signal)
      await refuseUnless(200, peer, answer)
      const reader = new FrameReader(this.#options.maxFrameBytes)
      const frames: Uint8Array[] = []
      let size = 0
      for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
        size += chunk.length
        if (size > 2 * this.#options.maxFrameBytes) throw new MalformedMessageError('want', size, 'a longer answer')
        frames.push(...reader.push(chunk))
      }
      if (!reader.atFrameEdge) throw new MalformedMessageError('want', size, 'an answer that ends within a frame')
      return frames
    })
  }

  async readSnapshot(peer: Peer, partial: PartialSnapshot, signal: AbortSignal): Promise<void> {
    const path = `v2/digest/${encodeURIComponent(peer.name)}`
    const { receivedBytes, tag } = partial
    const resumes = tag !== undefined && receivedBytes > 0
    const fields = resumes ? { range: `bytes=${receivedBytes}-`, 'if-range': `"${tag}"` } : {}
    await this.#exchange(signal, async () => {
      const answer = await this.#request(peer, 'GET', path, fields, undefined, signal)
      if (resumes && answer.statusCode === 206) {
        const goesOn =
          answer.headers['content-range'] === `bytes ${receivedBytes}-${partial.totalBytes - 1}/${partial.totalBytes}`
        if (!goesOn || tagOf(answer) !== tag) throw await unfit(answer, 'it goes on with another range')
      } else {
        await refuseUnless(200, peer, answer)
        const newTag = tagOf(answer)
        const totalBytes = Number(answer.headers['content-length'])
        if (newTag === undefined || !Number.isSafeInteger(totalBytes))
          throw await unfit(answer, 'a digest without tag or length')
        if (!partial.begin(newTag, totalBytes)) throw await unfit(answer, `a digest of ${totalBytes} bytes`)
      }
      for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
        if (!partial.push(chunk))
          throw new MalformedMessageError('digest', partial.receivedBytes, 'more than announced')
      }
      if (!partial.isWhole) throw new FetchError('connection_terminated', `${peer.url}: its digest broke off`, 0)
    })
  }

  /** What a peer says of itself. @throws when it cannot be had */
  async describe(peer: Peer, maxBytes: number, signal: AbortSignal): Promise<string> {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(DESCRIBE_TIMEOUT_MS)])
    for (const version of this.#versions) {
      const answer = await this.#request(peer, 'GET', `v${version}/status`, {}, undefined, bounded)
      if (answer.statusCode === 404) {
        await answer.body.dump()
        continue
      }
      const chunks: Uint8Array[] = []
      let size = 0
      for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
        size += chunk.length
        if (size > maxBytes) throw new Error(`more than ${maxBytes} bytes`)
        chunks.push(chunk)
      }
      if (answer.statusCode !== 200) throw new Error(`it answered ${answer.statusCode}`)
      return Buffer.concat(chunks).toString()
    }
    throw new Error('it answered 404')
  }

  /** Ends every stream, after what has been broadcast. */
  async close(): Promise<void> {
    this.routes.close()
    await this.#agent.destroy()
  }

  async #follow(peer: Peer, want: Uint8Array, handler: DigestStreamHandler, signal: AbortSignal): Promise<void> {
    handler.closed(await this.#read(peer, want, handler, signal))
  }

  /** Resolves with why the stream ended. */
  async #read(peer: Peer, want: Uint8Array, handler: DigestStreamHandler, signal: AbortSignal): Promise<string> {
    const reader = new FrameReader(this.#options.maxFrameBytes)
    try {
      for (const version of this.#versions) {
        const path = `v${version}/follow/${encodeURIComponent(peer.name)}`
        const answer = await this.#request(peer, 'POST', path, {}, want, signal)
        if (answer.statusCode !== 200) {
          await answer.body.dump()
          // It speaks an older version.
          if (answer.statusCode === 404 && version !== this.#versions.at(-1)) continue
          return refusalOf(peer, answer.statusCode)
        }
        handler.opened(version)
        for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
          for (const frame of reader.push(chunk)) handler.frame(frame)
        }
        return 'the stream ended'
      }
      return refusalOf(peer, 404)
    } catch (error) {
      if (signal.aborted) return 'closed'
      if (error instanceof MalformedMessageError) return error.message
      return (error as Error).message || String((error as NodeJS.ErrnoException).code)
    }
  }

  /** @throws {FetchError} for whatever goes wrong in `act` */
  async #exchange<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
    try {
      return await act()
    } catch (error) {
      if (error instanceof FetchError) throw error
      const code = signal.aborted
        ? 'cancelled'
        : error instanceof MalformedMessageError
          ? 'http_protocol_error'
          : 'connection_terminated'
      throw new FetchError(code, (error as Error).message, 0, { cause: error })
    }
  }

  #request(
    peer: Peer,
    method: 'GET' | 'POST',
    path: string,
    fields: Readonly<Record<string, string>>,
    body: Uint8Array | undefined,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    return this.#agent.request({
      origin: peer.url,
      path: this.#options.prefix + path,
      method,
      headers: {
        [ASKER_FIELD]: this.#options.name,
        ...(body === undefined ? {} : { 'content-type': FRAMES_TYPE }),
        ...fields,
      },
      ...(body === undefined ? {} : { body }),
      signal,
    })
  }
}

function tagOf(answer: Dispatcher.ResponseData): string | undefined {
  const { etag } = answer.headers
  return typeof etag === 'string' ? /^"([\d.]{1,60})"$/.exec(etag)?.[1] : undefined
}

async function unfit(answer: Dispatcher.ResponseData, problem: string): Promise<FetchError> {
  await answer.body.dump()
  return new FetchError('http_protocol_error', problem, 0)
}

async function refuseUnless(status: number, peer: Peer, answer: Dispatcher.ResponseData): Promise<void> {
  if (answer.statusCode === status) return
  await answer.body.dump()
  throw new FetchError('http_protocol_error', refusalOf(peer, answer.statusCode), 0)
}

function refusalOf({ name, url }: Peer, status: number): string {
  if (status === 421) return `${url} is not ${name}: another proxy has its address, or is called otherwise`
  if (status === 403) return `${url} refuses us its digest: are we among its access.clients?`
  if (status === 429) return `${url} says that we have asked for too much`
  return `${url} answered ${status} to the request for its digest: is it a summary-cache proxy?`
}
