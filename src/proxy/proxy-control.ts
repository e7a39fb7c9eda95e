import type { Peer } from '../core/peers/peer.ts'
import type { ProxyEvent } from './proxy-event.ts'
import type {
  ClusterView,
  EntryView,
  Explanation,
  HeldDigestView,
  OwnDigestView,
  PeerView,
  ProxyStatus,
  Statistics,
} from './views.ts'

/** Why a peer could not be added, changed or removed. */
export type PeerChange =
  | 'done'
  | 'unknown-peer'
  | 'name-taken'
  | 'too-many-peers'
  | 'own-name'
  | 'transport-off'
  | 'updates-address'

/** All that an operator can ask of a running proxy or tell it to do. */
export interface ProxyControl {
  /** Ready: listening, and every configured peer's replica is proved or its peer known to be unreachable. */
  readiness(): { readonly ready: boolean; readonly reason: string }
  status(): ProxyStatus
  statistics(): Statistics
  peers(): readonly PeerView[]
  addPeer(peer: Peer): PeerChange
  /** Another address for a peer of this name, and for its updates where those are given: its replica starts anew. */
  changePeer(name: string, url: string, updates?: string): PeerChange
  removePeer(name: string): PeerChange
  ownDigest(): OwnDigestView
  replicas(): readonly HeldDigestView[]
  /** Publishes what is unpublished now. Returns the name of the state published last. */
  publishNow(): string
  /** Starts a new generation, from the directory. Resolves with its first name once it is published. */
  newGeneration(): Promise<string>
  /** Undefined: not an absolute http or https URL. */
  lookup(url: string): readonly EntryView[] | undefined
  /** How many stored responses went; undefined: not an absolute http or https URL. */
  purge(url: string): number | undefined
  explain(url: string): Explanation | undefined
  /** Ours and each peer's figures, fetched from the peers now. */
  cluster(signal: AbortSignal): Promise<ClusterView>
  /** Every event from now on, until the returned function is called. */
  subscribe(listener: (event: ProxyEvent) => void): () => void
}
