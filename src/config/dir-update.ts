import { transportOf, type Peer } from '../core/peers/peer.ts'
import { transportKinds } from '../core/peers/transport-kinds.ts'
import type { ConfigFields } from './config-value.ts'
import { durationBetween, hostName, integerBetween, percentageBetween } from './scalar-readers.ts'

/** The paper's wire: a second digest, for peers whose transport is dir-update. */
export interface DirUpdateConfig {
  /** Of the UDP socket. */
  readonly listen: { readonly host: string; readonly port: number }
  /** Share of new documents from which on an update is sent. */
  readonly newDocumentShare: number
  /** No change waits longer than this. */
  readonly maxAgeMs: number
  /** Between two fetches of a peer's whole digest; three without a sign of the peer, and it is not consulted. */
  readonly refreshMs: number
}

const SECOND = 1_000
const HOUR = 3_600 * SECOND

/** Undefined: no peer needs it and the section is not there. */
export function readDirUpdate(
  root: ConfigFields,
  peers: readonly Peer[],
  defaults: DirUpdateConfig,
): DirUpdateConfig | undefined {
  const isWanted = peers.some((peer) => transportKinds[transportOf(peer)].takesUpdates)
  if (root.at('dirUpdate') === undefined && !isWanted) return undefined
  const fields = root.section('dirUpdate', ['listen', 'newDocuments', 'maxAge', 'refresh'])
  const listen = fields.section('listen', ['host', 'port'])
  return {
    listen: {
      host: listen.get('host', hostName, defaults.listen.host),
      port: listen.get('port', integerBetween(0, 65_535), defaults.listen.port),
    },
    newDocumentShare: fields.get('newDocuments', percentageBetween(0.1, 10), defaults.newDocumentShare),
    maxAgeMs: fields.get('maxAge', durationBetween(100, HOUR), defaults.maxAgeMs),
    refreshMs: fields.get('refresh', durationBetween(SECOND, 24 * HOUR), defaults.refreshMs),
  }
}
