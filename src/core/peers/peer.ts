/** One of the other proxies of the cluster, as configured: a sibling (RFC 2187), asked only for what it holds. */
export interface Peer {
  /** Unique in this proxy; shown in logs, the API and `Cache-Status`. */
  readonly name: string
  /** Where its proxy port is: `http://host:port`. */
  readonly url: string
}
