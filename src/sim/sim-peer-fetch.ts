import type { RequestHead } from '../core/http/message-head.ts'
import type { Peer } from '../core/peers/peer.ts'
import type { FetchedResponse, PeerFetch } from '../proxy/ports.ts'
import type { Reply } from '../proxy/reply.ts'
import type { Host, SimNetwork } from './sim-network.ts'

/** A proxy as its peers reach it for objects. */
export interface AnsweringHost extends Host {
  /** @param gone aborted when the asker waits no longer */
  answer(request: RequestHead, asker: string, gone: AbortSignal): Promise<Reply<number>>
}

/** Questions to peers over the simulated network. */
export class SimPeerFetch<H extends AnsweringHost> implements PeerFetch<number> {
  readonly #network: SimNetwork<H>
  readonly #host: H
  readonly #timeoutMs: number

  constructor(network: SimNetwork<H>, host: H, timeoutMs: number) {
    this.#network = network
    this.#host = host
    this.#timeoutMs = timeoutMs
  }

  async fetch(
    peer: Peer,
    request: RequestHead,
    signal: AbortSignal,
    timeoutMs: number,
  ): Promise<FetchedResponse<number>> {
    const longestMs = Math.min(timeoutMs, this.#timeoutMs)
    const reply = await this.#network.call(this.#host, peer.name, longestMs, signal, (at, gone) =>
      at.answer(request, this.#host.name, gone),
    )
    const { body } = reply
    return {
      head: reply.head,
      body: typeof body === 'string' ? undefined : body,
      bodyBytes: reply.bodyBytes,
      requestHeadBytes: headBytes(request.fields.raw),
      responseHeadBytes: headBytes(reply.head.fields.raw),
      cancel: () => undefined,
    }
  }
}

/** Of the lines of the fields alone. */
function headBytes(raw: readonly string[]): number {
  return raw.reduce((bytes, text) => bytes + text.length + 2, 0)
}
