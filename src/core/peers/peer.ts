import { DEFAULT_TRANSPORT, type TransportName } from './transport-kinds.ts'

/** One of the other proxies of the cluster, as configured: a sibling (RFC 2187), asked only for what it holds. */
export interface Peer {
  /** Unique in this proxy; shown in logs, the API and `Cache-Status`. */
  readonly name: string
  /** Where its proxy port is: `http://host:port`. */
  readonly url: string
  /** How its digest reaches us; over HTTP when not said. */
  readonly transport?: TransportName
  /** Where its updates come from and ours go to, `host:port`; for transports that take updates. */
  readonly updates?: string
}

export function transportOf(peer: Peer): TransportName {
  return peer.transport ?? DEFAULT_TRANSPORT
}
