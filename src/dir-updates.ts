import { DirUpdateUdp } from './adapters/transport/dir-update-udp.ts'
import { PaperDigestHttp } from './adapters/transport/paper-digest-http.ts'
import type { DirUpdateConfig } from './config/dir-update.ts'
import type { PeerTable } from './core/peers/peer-table.ts'
import { MAX_UPDATE_BIT_COUNT } from './core/protocol/dir-update-message.ts'
import { DirUpdatePublisher } from './core/protocol/dir-update-publisher.ts'
import { paperGeometryFor } from './core/protocol/paper-hashing.ts'
import { DEFAULT_UPDATE_OPTIONS, UPDATE_PROFILES } from './core/protocol/update-policy.ts'
import { DirUpdateExchange } from './proxy/dir-update-exchange.ts'
import type { Clock, EventSink, Random } from './proxy/ports.ts'

export interface DirUpdateParts {
  readonly config: DirUpdateConfig
  readonly expectedEntries: number
  readonly maxBitCount: number
  readonly incarnation: number
  /** Of the peers' routes, ending in `/`. */
  readonly prefix: string
  readonly timeoutMs: number
  readonly peers: PeerTable
  readonly clock: Clock
  readonly random: Random
  readonly events: EventSink
}

/** The paper's wire of one proxy, joined and listening. */
export interface RunningDirUpdates {
  readonly publisher: DirUpdatePublisher
  readonly exchange: DirUpdateExchange
  readonly digests: PaperDigestHttp
  readonly socket: DirUpdateUdp
  stop(): Promise<void>
}

/** Of a filter as bytes, beside its body. */
const FILTER_FRAME_BYTES = 44
// Consecutive incarnations are milliseconds apart; times this they are spread over all 32 bits.
const NUMBER_SPREAD = 0x9e3779b1

/** @throws {UpdatesListenError} */
export async function openDirUpdates(parts: DirUpdateParts): Promise<RunningDirUpdates> {
  const { clock, config, events, expectedEntries, incarnation, peers, prefix, random, timeoutMs } = parts
  const { newDocumentShare, refreshMs } = config
  const maxBitCount = Math.min(parts.maxBitCount, MAX_UPDATE_BIT_COUNT)
  const publisher = new DirUpdatePublisher(
    {
      geometry: paperGeometryFor(expectedEntries),
      policy: UPDATE_PROFILES.paper({ ...DEFAULT_UPDATE_OPTIONS, newDocumentShare }),
      maxAgeMs: config.maxAgeMs,
      heartbeatMs: refreshMs,
      firstNumber: Math.imul(incarnation % 2 ** 32, NUMBER_SPREAD),
    },
    clock.monotonicMs(),
  )
  const socket = await DirUpdateUdp.listen(config.listen.host, config.listen.port, { clock })
  const digests = new PaperDigestHttp({ prefix, timeoutMs, maxBytes: FILTER_FRAME_BYTES + maxBitCount / 8 })
  const exchange = new DirUpdateExchange({
    peers,
    publisher,
    datagrams: socket,
    digests,
    clock,
    random,
    events,
    maxBitCount,
    refreshMs,
  })
  return {
    publisher,
    exchange,
    digests,
    socket,
    stop: async () => {
      exchange.stop()
      await Promise.all([socket.close(), digests.close()])
    },
  }
}
