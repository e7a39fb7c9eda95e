import type { IncomingMessage, ServerResponse } from 'node:http'
import type { KeyObject } from 'node:crypto'
import type { Peer } from '../../core/peers/peer.ts'
import type { PartialSnapshot } from '../../proxy/partial-snapshot.ts'
import type { PeerTls } from '../../proxy/peer-tls.ts'
import type {
  Clock,
  DigestSource,
  DigestStream,
  DigestStreamHandler,
  DigestTransport,
  EventSink,
  ProtocolVersion,
} from '../../proxy/ports.ts'
import { DigestClient } from './digest-client.ts'
import { FollowerTable } from './follower-table.ts'
import { PeerClient, sharedKey } from './peer-client.ts'
import { PeerRoutes } from './peer-routes.ts'

export interface DigestHttpOptions {
  /** Ours: a peer that asks for another's digest has been misled by a reused address. */
  readonly name: string
  /** A stream on which nothing has come for three of these is given up. */
  readonly heartbeatMs: number
  readonly maxFrameBytes: number
  /** The path under which the routes live, ending in `/`. */
  readonly prefix: string
  readonly clock: Clock
  readonly events: EventSink
  /** Those spoken, on both sides; both, unless a test plays an older proxy. */
  readonly versions?: readonly ProtocolVersion[]
  /** The cluster's secret; undefined: nothing is signed. */
  readonly key?: string | undefined
  /** For peers at `https:` addresses. */
  readonly tls?: PeerTls | undefined
}

/**
 * Digest frames over HTTP (docs/protocol.md). A peer follows our digest by one request whose response lasts and carries
 * frames; what it lacks in between, and snapshots, it fetches.
 */
export class DigestHttp implements DigestTransport {
  readonly #options: DigestHttpOptions
  readonly #versions: readonly ProtocolVersion[]
  readonly #key: KeyObject | undefined
  readonly #client: PeerClient
  readonly #following: DigestClient
  readonly #followers: FollowerTable
  readonly #routes: PeerRoutes[] = []

  constructor(options: DigestHttpOptions) {
    this.#options = options
    const { clock, events, heartbeatMs, maxFrameBytes, name, prefix, tls } = options
    this.#versions = options.versions ?? [1, 2]
    this.#key = options.key === undefined ? undefined : sharedKey(options.key)
    this.#client = new PeerClient({ name, key: this.#key, tls, clock })
    this.#following = new DigestClient({
      client: this.#client,
      key: this.#key,
      versions: this.#versions,
      prefix,
      heartbeatMs,
      maxFrameBytes,
    })
    this.#followers = new FollowerTable(({ asker }, unreadBytes) => {
      const reason = `it left ${unreadBytes} bytes of our digest's stream unread`
      events.emit({ kind: 'peer-turned-away', peer: asker, cause: 'slow', reason })
    })
  }

  get followerCount(): number {
    return this.#followers.size
  }

  broadcast(frame: Uint8Array): number {
    return this.#followers.broadcast(frame)
  }

  follow(peer: Peer, want: Uint8Array, handler: DigestStreamHandler): DigestStream {
    const stop = new AbortController()
    void this.#following.follow(peer, want, handler, stop.signal).then((reason) => handler.closed(reason))
    return { close: () => stop.abort() }
  }

  ask(peer: Peer, want: Uint8Array, signal: AbortSignal): Promise<readonly Uint8Array[]> {
    return this.#following.ask(peer, want, signal)
  }

  readSnapshot(peer: Peer, partial: PartialSnapshot, signal: AbortSignal): Promise<void> {
    return this.#following.readSnapshot(peer, partial, signal)
  }

  /**
   * What a peer says of itself.
   * @throws {FetchError}
   */
  describe(peer: Peer, maxBytes: number, signal: AbortSignal): Promise<string> {
    return this.#following.describe(peer, maxBytes, signal)
  }

  /**
   * The peers' routes.
   * @param describe a JSON document about this proxy, for the cluster view of the others
   */
  routes(
    source: DigestSource,
    describe: () => string,
  ): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
    const { clock, events, name, prefix } = this.#options
    const routes = new PeerRoutes(
      { name, prefix, versions: this.#versions, key: this.#key, clock, events, followers: this.#followers },
      source,
      describe,
    )
    this.#routes.push(routes)
    return (request, response) => routes.serve(request, response)
  }

  /** Ends every stream and request; those of our digest after what has been broadcast. */
  async close(): Promise<void> {
    for (const routes of this.#routes) routes.close()
    this.#followers.end()
    await this.#client.close()
  }
}
