import { hostname } from 'node:os'
import { dirname, resolve } from 'node:path'
import { DEFAULT_EVICTION_KIND, evictionKinds } from './core/directory/eviction-kinds.ts'
import type { EvictionKind } from './core/directory/eviction-kinds.ts'
import type { Mount } from './core/http/mount-table.ts'
import { DEFAULT_LOOKUP_POLICY } from './core/peers/lookup-plan.ts'
import type { Peer } from './core/peers/peer.ts'
import { DEFAULT_UPDATE_OPTIONS, UPDATE_PROFILES } from './core/protocol/update-policy.ts'
import type { UpdateProfile } from './core/protocol/update-policy.ts'
import { parseAddressRange } from './config/address-range.ts'
import type { AddressRange } from './config/address-range.ts'
import { readAdmin } from './config/admin.ts'
import type { AdminConfig } from './config/admin.ts'
import { readCluster } from './config/cluster.ts'
import type { ClusterConfig } from './config/cluster.ts'
import { ConfigError } from './config/config-error.ts'
import { ConfigDocument } from './config/config-value.ts'
import type { ConfigFields, Environment } from './config/config-value.ts'
import { readDirUpdate } from './config/dir-update.ts'
import type { DirUpdateConfig } from './config/dir-update.ts'
import { readLookup } from './config/lookup.ts'
import type { LookupConfig } from './config/lookup.ts'
import { readMounts } from './config/mounts.ts'
import { readPeering } from './config/peering.ts'
import type { PeeringConfig } from './config/peering.ts'
import { readPeers } from './config/peers.ts'
import * as read from './config/scalar-readers.ts'
import { SHARING_MODES } from './core/peers/sharing-mode.ts'
import type { SharingMode } from './core/peers/sharing-mode.ts'
import { readSmallFile } from './config/small-file.ts'

/** All that a proxy is told at its start. Paths are absolute. Frozen, to the bottom. */
export interface Config {
  /** Unique in the cluster: what peers, logs and Cache-Status call this proxy. */
  readonly name: string
  readonly listen: { readonly host: string; readonly port: number }
  readonly access: {
    /** Who may use forward proxying and the peers' part of the interface. */
    readonly clients: readonly AddressRange[]
  }
  readonly forward: { readonly enabled: boolean; readonly connectPorts: readonly number[] }
  readonly mounts: readonly Mount[]
  readonly store: {
    readonly memoryBytes: number
    readonly maxObjectBytes: number
    readonly eviction: EvictionKind
  }
  readonly digest: {
    readonly profile: UpdateProfile
    readonly expectedEntries: number
    /** Share of the set bits whose entry is gone, from which on a new generation starts. */
    readonly pendingClearsShare: number
    readonly generationAgeMs: number
    readonly heartbeatMs: number
    /** Thrifty profile: messages, as a share of those that ICP would have sent. */
    readonly icpShare: number
  }
  /** Without ourselves. */
  readonly peers: readonly Peer[]
  /** Undefined: switched off. */
  readonly dirUpdate: DirUpdateConfig | undefined
  readonly lookup: LookupConfig
  readonly sharing: SharingMode
  readonly cluster: ClusterConfig
  /** Undefined: peers use the proxy port. */
  readonly peering: PeeringConfig | undefined
  readonly peerTimeoutMs: number
  readonly originTimeoutMs: number
  readonly admin: AdminConfig
  /** Undefined: switched off. `path` '-' is standard output. */
  readonly accessLog: { readonly path: string; readonly format: AccessLogFormat } | undefined
  readonly log: { readonly level: LogLevel }
  /** Where the last incarnation is kept; undefined: nowhere, and the clock alone makes it grow. */
  readonly stateDir: string | undefined
}

const ACCESS_LOG_FORMATS = ['squid', 'json'] as const
type AccessLogFormat = (typeof ACCESS_LOG_FORMATS)[number]
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
type LogLevel = (typeof LOG_LEVELS)[number]

const KiB = 2 ** 10
const MiB = 2 ** 20
const GiB = 2 ** 30
const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

const DEFAULTS = {
  // Reached from this machine alone until somebody decides otherwise; the port is the one that Squid uses.
  listen: { host: '127.0.0.1', port: 3128 },
  // Squid's localnet: loopback, and what is not routed on the Internet (RFC 1918, RFC 3927, RFC 4193, RFC 4291).
  clients: '127.0.0.0/8 ::1 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 169.254.0.0/16 fc00::/7 fe80::/10'.split(' '),
  // Only TLS: a tunnel to port 25 is how open proxies send mail.
  forward: { enabled: true, connectPorts: [443] },
  // As Squid's cache_mem. A sixteenth of it for one object still lets sixteen of the largest be held at once.
  store: { memoryBytes: 256 * MiB, maxObjectBytes: 16 * MiB, eviction: DEFAULT_EVICTION_KIND },
  digest: {
    // A second behind at most, and 32 changes to a message: PROTOCOL rule 6.
    profile: 'balanced',
    // What the default memory holds at some 2.7 kB each. The digest has 16 bits for each, and grows when it must.
    expectedEntries: 100_000,
    // PROTOCOL rule 3: each pending clear is a false hit waiting; 24 h also frees counters that stuck.
    pendingClearsShare: 0.03,
    generationAgeMs: 24 * HOUR,
    // PROTOCOL rule 9: a peer that fell silent is left out after three of these.
    heartbeatMs: 5 * SECOND,
    icpShare: DEFAULT_UPDATE_OPTIONS.icpShare,
  },
  dirUpdate: {
    // ICP's port: the paper's prototype sends its updates from there.
    listen: { host: '127.0.0.1', port: 3130 },
    newDocumentShare: DEFAULT_UPDATE_OPTIONS.newDocumentShare,
    // Summary Cache, section 5.1: a threshold of 1 % means some five minutes and more; a minute loses less.
    maxAgeMs: MINUTE,
    // What a lost datagram can cost; Squid asks for a peer's digest no more often either.
    refreshMs: 5 * MINUTE,
  },
  lookup: {
    ...DEFAULT_LOOKUP_POLICY,
    // One miss in a thousand: within a day a rate of one in a thousand shows, and it costs no one a thousandth.
    probeShare: 0.001,
    switchesOff: true,
  },
  // A copy where it is asked for is what a slow link between sites is for.
  sharing: 'copy',
  // Longer than any sibling on the same continent takes, and short enough to go to the origin within a second.
  peerTimeoutMs: 500,
  // As long as people wait for a page; a busy registry can take most of it.
  originTimeoutMs: 30 * SECOND,
  // Beside ICP's 3130 and apart from the origin's usual 8080; without a token, so for this machine alone.
  admin: { host: '127.0.0.1', port: 8128, token: undefined },
  // Standard output in Squid's format: what containers collect, and what log analysers read.
  accessLog: { path: '-', format: 'squid' },
  log: { level: 'info' },
} as const

// A configuration is a page or two; what is larger is another file.
const MAX_FILE_BYTES = MiB

/**
 * Reads a configuration file; without a path, every default.
 *
 * @throws {ConfigError} with all that is wrong, the file being unreadable as well
 */
export function loadConfig(path: string | undefined, env: Environment): Config {
  if (path === undefined) return parseConfig('', '(defaults)', env)
  const file = readSmallFile(path, MAX_FILE_BYTES)
  if (file.kind === 'text') return parseConfig(file.text, path, env)
  const remedy = 'give the path of a readable configuration file'
  throw new ConfigError([{ file: path, line: 1, column: 1, keyPath: '(file)', problem: file.problem, remedy }])
}

/**
 * @param fileName for messages; relative paths in the text start from its folder
 * @param env for `${NAME}` and `${NAME:-default}`
 * @throws {ConfigError} with all that is wrong
 */
export function parseConfig(text: string, fileName: string, env: Environment): Config {
  const document = new ConfigDocument(text, fileName, env)
  const config = readConfig(document, (path) => resolve(dirname(fileName), path))
  document.throwProblems()
  return deepFrozen(config)
}

function readConfig(document: ConfigDocument, resolvePath: (path: string) => string): Config {
  const root = document
    .root()
    .fields([
      'name',
      'listen',
      'access',
      'forward',
      'mounts',
      'store',
      'digest',
      'peers',
      'dirUpdate',
      'lookup',
      'sharing',
      'cluster',
      'peering',
      'peerTimeout',
      'originTimeout',
      'admin',
      'accessLog',
      'log',
      'stateDir',
    ])
  const peering = readPeering(root, resolvePath)
  const name = root.get('name', read.proxyName, '') || defaultName(document)
  // A broken peering has been reported where it is.
  const peers = readPeers(root, name, root.at('peering') !== undefined)
  return {
    name,
    listen: readListen(root),
    access: readAccess(root),
    forward: readForward(root),
    mounts: readMounts(root),
    store: readStore(root),
    digest: readDigest(root),
    peers,
    dirUpdate: readDirUpdate(root, peers, DEFAULTS.dirUpdate),
    lookup: readLookup(root, DEFAULTS.lookup),
    sharing: root.get('sharing', read.oneOf(SHARING_MODES), DEFAULTS.sharing),
    cluster: readCluster(root, resolvePath),
    peering,
    // Above 800 ms the first failure of a peer would cost a request more than a second (PROTOCOL rule 9).
    peerTimeoutMs: root.get('peerTimeout', read.durationBetween(10, 800), DEFAULTS.peerTimeoutMs),
    originTimeoutMs: root.get('originTimeout', read.durationBetween(100, 10 * MINUTE), DEFAULTS.originTimeoutMs),
    admin: readAdmin(root, DEFAULTS.admin, resolvePath),
    accessLog: readAccessLog(root, resolvePath),
    log: { level: root.section('log', ['level']).get('level', read.oneOf(LOG_LEVELS), DEFAULTS.log.level) },
    stateDir: resolved(root.optional('stateDir', read.path), resolvePath),
  }
}

/** The machine's name, which a cluster has made unique already. */
function defaultName(document: ConfigDocument): string {
  const name = hostname()
  if (!read.isProxyName(name)) {
    document.report(0, 'name', `the host name ${JSON.stringify(name)} cannot be a proxy's name`, 'set name')
  }
  return name
}

function readListen(root: ConfigFields): Config['listen'] {
  const listen = root.section('listen', ['host', 'port'])
  return {
    host: listen.get('host', read.hostName, DEFAULTS.listen.host),
    port: listen.get('port', read.integerBetween(0, 65_535), DEFAULTS.listen.port),
  }
}

function readAccess(root: ConfigFields): Config['access'] {
  const clients = root.section('access', ['clients']).at('clients')
  if (clients === undefined) return { clients: DEFAULTS.clients.map((range) => parseAddressRange(range)!) }
  return { clients: clients.items(1024, 'address ranges').flatMap((item) => read.addressRange(item) ?? []) }
}

function readForward(root: ConfigFields): Config['forward'] {
  const forward = root.section('forward', ['enabled', 'connectPorts'])
  const ports = forward.at('connectPorts')?.items(64, 'ports')
  return {
    enabled: forward.get('enabled', read.trueOrFalse, DEFAULTS.forward.enabled),
    connectPorts: ports?.flatMap((item) => read.integerBetween(1, 65_535)(item) ?? []) ?? DEFAULTS.forward.connectPorts,
  }
}

function readStore(root: ConfigFields): Config['store'] {
  const store = root.section('store', ['memory', 'maxObject', 'eviction'])
  const memoryBytes = store.get('memory', read.byteSizeBetween(MiB, 64 * GiB), DEFAULTS.store.memoryBytes)
  return {
    memoryBytes,
    maxObjectBytes: store.get(
      'maxObject',
      read.byteSizeBetween(KiB, memoryBytes),
      Math.min(DEFAULTS.store.maxObjectBytes, memoryBytes),
    ),
    eviction: store.get('eviction', read.oneOf(namesOf(evictionKinds)), DEFAULTS.store.eviction),
  }
}

function readDigest(root: ConfigFields): Config['digest'] {
  const digest = root.section('digest', [
    'profile',
    'expectedEntries',
    'pendingClears',
    'generationAge',
    'heartbeat',
    'icpShare',
  ])
  return {
    profile: digest.get('profile', read.oneOf(namesOf(UPDATE_PROFILES)), DEFAULTS.digest.profile),
    // At 16 bits per entry: from the smallest filter there is to the largest, of 2^31 bits.
    expectedEntries: digest.get('expectedEntries', read.integerBetween(16, 2 ** 27), DEFAULTS.digest.expectedEntries),
    pendingClearsShare: digest.get(
      'pendingClears',
      read.percentageBetween(0.1, 50),
      DEFAULTS.digest.pendingClearsShare,
    ),
    generationAgeMs: digest.get(
      'generationAge',
      read.durationBetween(MINUTE, 20 * 24 * HOUR),
      DEFAULTS.digest.generationAgeMs,
    ),
    heartbeatMs: digest.get('heartbeat', read.durationBetween(100, MINUTE), DEFAULTS.digest.heartbeatMs),
    icpShare: digest.get('icpShare', read.percentageBetween(0.1, 100), DEFAULTS.digest.icpShare),
  }
}

function readAccessLog(root: ConfigFields, resolvePath: (path: string) => string): Config['accessLog'] {
  const value = root.at('accessLog')
  if (value?.isText) return read.oneOf(['off'])(value) === 'off' ? undefined : DEFAULTS.accessLog
  const accessLog = root.section('accessLog', ['path', 'format'])
  const path = accessLog.get('path', read.path, DEFAULTS.accessLog.path)
  return {
    path: path === '-' ? path : resolvePath(path),
    format: accessLog.get('format', read.oneOf(ACCESS_LOG_FORMATS), DEFAULTS.accessLog.format),
  }
}

function resolved(path: string | undefined, resolvePath: (path: string) => string): string | undefined {
  return path === undefined ? undefined : resolvePath(path)
}

function namesOf<T extends string>(kinds: Readonly<Record<T, unknown>>): readonly T[] {
  return Object.keys(kinds).filter((name): name is T => name in kinds)
}

function deepFrozen<T extends object>(value: T): T {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null && !Object.isFrozen(part)) deepFrozen(part)
  }
  return Object.freeze(value)
}
