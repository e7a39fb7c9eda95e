import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import { createAdminServer } from './adapters/admin/admin-server.ts'
import { UndiciOrigin } from './adapters/fetch/undici-origin.ts'
import { UndiciPeerFetch } from './adapters/fetch/undici-peer-fetch.ts'
import { ClientAccess } from './adapters/http/client-access.ts'
import { PEER_PREFIX, ProxyServer } from './adapters/http/proxy-server.ts'
import { MemoryStore } from './adapters/store/memory-store.ts'
import { digestSecretOf } from './adapters/system/digest-secret.ts'
import { nextIncarnation } from './adapters/system/incarnation-file.ts'
import { readPeerTls } from './adapters/system/peer-certificates.ts'
import { SystemClock } from './adapters/system/system-clock.ts'
import { SystemRandom } from './adapters/system/system-random.ts'
import { AccessLog } from './adapters/telemetry/access-log.ts'
import { EventLog } from './adapters/telemetry/event-log.ts'
import { DigestHttp } from './adapters/transport/digest-http.ts'
import { refuseUnproved } from './adapters/transport/unproved-peers.ts'
import type { Config } from './config.ts'
import { maxFrameBytes } from './core/digest/digest-codec.ts'
import { claimFanOut } from './core/directory/claim-fan-out.ts'
import { CacheDirectory } from './core/directory/cache-directory.ts'
import { evictionKinds } from './core/directory/eviction-kinds.ts'
import { geometryFor } from './core/filter/filter-geometry.ts'
import { SIPHASH } from './core/filter/hash-schemes.ts'
import { cacheKey, secretKeys } from './core/http/cache-key.ts'
import { transportOf } from './core/peers/peer.ts'
import type { TransportName } from './core/peers/transport-kinds.ts'
import { MountTable } from './core/http/mount-table.ts'
import { DEFAULT_UPDATE_OPTIONS, UPDATE_PROFILES } from './core/protocol/update-policy.ts'
import { SummaryCacheProtocol } from './core/protocol/summary-cache-protocol.ts'
import { openDirUpdates } from './dir-updates.ts'
import { CacheProxy } from './proxy/cache-proxy.ts'
import { MAX_DESCRIPTION_BYTES, readClusterMember } from './proxy/cluster-member.ts'
import { DigestExchange } from './proxy/digest-exchange.ts'
import { EventFanOut } from './proxy/event-fan-out.ts'
import { Operator } from './proxy/operator.ts'
import type { PeerFollowing } from './proxy/ports.ts'
import { PeerAccounts } from './proxy/peer-accounts.ts'
import { PeerLookup } from './proxy/peer-lookup.ts'
import { PeerProbes } from './proxy/peer-probes.ts'
import { PROTOCOL_VERSIONS, type ProtocolVersion } from './proxy/ports.ts'
import { ProxyMetrics } from './proxy/proxy-metrics.ts'

/** A proxy that serves, until it is stopped. */
export interface RunningProxy {
  readonly operator: Operator
  readonly proxyAddress: AddressInfo
  readonly adminAddress: AddressInfo
  /** Of the paper's wire; undefined: it is switched off. */
  readonly updatesAddress: AddressInfo | undefined
  /** Where peers connect over TLS, when they do. */
  readonly peeringAddress: AddressInfo | undefined
  /** Requests whose replies are not finished. */
  requestsUnderWay(): number
  /** Opens the access log anew, after it was moved away. */
  reopenLogs(): void
  /** Says goodbye to the peers, lets replies under way end within `graceMs`, closes everything. */
  stop(graceMs: number): Promise<void>
}

/** A peer's digest may be 16 times as large as ours is configured to be: clusters are not all alike. */
const MAX_BIT_COUNT_FACTOR = 16
const LARGEST_BIT_COUNT = 2 ** 31
/** So that a client is still there when the origin has had all its time. */
const IDLE_BEYOND_ORIGIN_MS = 90_000

export function packageVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

/**
 * Builds a proxy from its parts and starts it.
 * @param versions of the protocol between peers that it speaks
 * @throws what the system says when an address cannot be listened on or a file not be written
 */
export async function startProxy(
  config: Config,
  logger: Logger,
  versions: readonly ProtocolVersion[] = PROTOCOL_VERSIONS,
): Promise<RunningProxy> {
  const { cluster, peering } = config
  const tls = peering && readPeerTls(peering.tls)
  const clock = new SystemClock()
  const events = new EventFanOut()
  const metrics = new ProxyMetrics()
  const accounts = new PeerAccounts()
  const eventLog = new EventLog(logger)
  const accessLog = config.accessLog && new AccessLog({ ...config.accessLog, logger })
  events.subscribe((event) => metrics.emit(event))
  events.subscribe((event) => accounts.emit(event))
  events.subscribe((event) => eventLog.emit(event))
  if (accessLog) events.subscribe((event) => accessLog.emit(event))

  const { digest } = config
  const secret = cluster.key === undefined ? undefined : digestSecretOf(cluster.key)
  const keyOf = secret === undefined ? cacheKey : secretKeys(secret.secret, secret.keyId)
  const geometry = {
    ...geometryFor(digest.expectedEntries),
    ...(secret && { hashScheme: SIPHASH, keyId: secret.keyId }),
  }
  const maxBitCount = Math.min(geometry.bitCount * MAX_BIT_COUNT_FACTOR, LARGEST_BIT_COUNT)
  const random = new SystemRandom()
  const incarnation = nextIncarnation(config.stateDir, clock.wallMs())
  const protocol = new SummaryCacheProtocol(
    {
      incarnation,
      geometry,
      policy: UPDATE_PROFILES[digest.profile]({ ...DEFAULT_UPDATE_OPTIONS, icpShare: digest.icpShare }),
      pendingClearShare: digest.pendingClearsShare,
      generationAgeMs: digest.generationAgeMs,
      heartbeatMs: digest.heartbeatMs,
      maxBitCount,
    },
    clock.monotonicMs(),
  )
  const updates =
    config.dirUpdate &&
    (await openDirUpdates({
      config: config.dirUpdate,
      expectedEntries: digest.expectedEntries,
      maxBitCount,
      incarnation,
      prefix: PEER_PREFIX,
      timeoutMs: config.peerTimeoutMs,
      peers: protocol.peers,
      clock,
      random,
      events,
    }))
  const directory = new CacheDirectory(
    evictionKinds[config.store.eviction](),
    updates ? claimFanOut([protocol, updates.publisher]) : protocol,
    { capacityBytes: config.store.memoryBytes },
  )
  protocol.rebuildFrom(directory)
  const store = new MemoryStore(directory, clock, { maxObjectBytes: config.store.maxObjectBytes })

  const transport = new DigestHttp({
    name: config.name,
    heartbeatMs: digest.heartbeatMs,
    maxFrameBytes: maxFrameBytes({ maxBitCount }),
    prefix: PEER_PREFIX,
    versions,
    clock,
    events,
    key: cluster.key,
    tls,
  })
  const exchange = new DigestExchange({
    protocol,
    transport,
    clock,
    random,
    events,
    maxFrameBytes: maxFrameBytes({ maxBitCount }),
    expire: (nowMs) => directory.expire(nowMs),
  })
  const origin = new UndiciOrigin({ timeoutMs: config.originTimeoutMs })
  const peerFetch = new UndiciPeerFetch({ timeoutMs: config.peerTimeoutMs, tls })
  const { lookup: policy } = config
  const lookup = new PeerLookup({
    protocol,
    fetcher: peerFetch,
    clock,
    events,
    policy,
    switchesOff: policy.switchesOff,
  })
  const probes = new PeerProbes({
    protocol,
    lookup,
    fetcher: peerFetch,
    clock,
    random,
    events,
    share: policy.probeShare,
  })
  const proxy = new CacheProxy({
    name: config.name,
    keyOf,
    store,
    origin,
    peers: lookup,
    probes,
    sharing: config.sharing,
    protocol,
    clock,
    events,
  })
  let describe = (): string => ''
  const frames = transport.routes(exchange, () => describe())
  const peerRoutes = updates ? updates.digests.before(frames, () => updates.exchange.snapshot()) : frames
  const serverOptions = {
    name: config.name,
    proxy,
    mounts: new MountTable(config.mounts),
    access: new ClientAccess(config.access.clients),
    forward: config.forward,
    clock,
    events,
    idleMs: config.originTimeoutMs + IDLE_BEYOND_ORIGIN_MS,
    reportFault: (error: unknown) => logger.error({ err: error }, 'a fault of the proxy; one request has failed by it'),
  }
  // Without a key nothing on the proxy port could tell a peer from any other client.
  const isProvedByTlsOnly = tls !== undefined && cluster.key === undefined
  const server = new ProxyServer({ ...serverOptions, peerRoutes: isProvedByTlsOnly ? refuseUnproved : peerRoutes })
  const peerServer = tls && new ProxyServer({ ...serverOptions, peerRoutes, peersOnly: tls })
  const servers = peerServer === undefined ? [server] : [server, peerServer]
  const closeServers = async (graceMs: number): Promise<void> => {
    await Promise.all(servers.map((each) => each.close(graceMs)))
  }

  const following: Readonly<Record<TransportName, PeerFollowing | undefined>> = {
    http: exchange,
    'dir-update': updates?.exchange,
  }
  let proxyAddress: AddressInfo
  let peeringAddress: AddressInfo | undefined
  try {
    proxyAddress = await server.listen(config.listen.host, config.listen.port)
    peeringAddress = peering && (await peerServer?.listen(peering.listen.host, peering.listen.port))
  } catch (error) {
    await closeServers(0)
    await updates?.stop()
    throw error
  }
  const operator = new Operator({
    name: config.name,
    version: packageVersion(),
    proxyAddress: `${config.listen.host}:${proxyAddress.port}`,
    profile: digest.profile,
    lookup: policy,
    originMs: () => lookup.originMs,
    accounts,
    keyOf,
    eviction: config.store.eviction,
    protocol,
    exchange,
    following,
    publishUpdates: () => updates?.exchange.publish(),
    directory,
    purge: (key) => proxy.purge(key),
    metrics,
    events,
    clock,
    followerCount: () => transport.followerCount,
    describePeer: async (peer, signal) =>
      readClusterMember(await transport.describe(peer, MAX_DESCRIPTION_BYTES, signal), operator.describe()),
  })
  describe = () => JSON.stringify(operator.describe())
  const admin = await createAdminServer({ control: operator, token: config.admin.token, logger })
  try {
    await admin.listen({ host: config.admin.host, port: config.admin.port })
  } catch (error) {
    await closeServers(0)
    await updates?.stop()
    throw error
  }
  const adminAddress = admin.server.address() as AddressInfo

  exchange.start()
  updates?.exchange.start()
  for (const peer of config.peers) following[transportOf(peer)]?.follow(peer)

  return {
    operator,
    proxyAddress,
    adminAddress,
    updatesAddress: updates?.socket.address,
    peeringAddress,
    requestsUnderWay: () => servers.reduce((sum, each) => sum + each.requestsUnderWay, 0),
    reopenLogs: () => accessLog?.reopen(),
    stop: async (graceMs) => {
      operator.leaving()
      probes.stop()
      exchange.stop()
      await updates?.stop()
      await transport.close()
      await closeServers(graceMs)
      await admin.close()
      await Promise.all([origin.close(), peerFetch.close()])
      await accessLog?.close()
    },
  }
}
