import { transportOf, type Peer } from '../../../src/core/peers/peer.ts'
import { transportKinds } from '../../../src/core/peers/transport-kinds.ts'
import type { PeerChange, ProxyControl } from '../../../src/proxy/proxy-control.ts'
import type { PeerAsked, ProxyEvent, RequestEnded } from '../../../src/proxy/proxy-event.ts'
import { ProxyMetrics } from '../../../src/proxy/proxy-metrics.ts'
import type {
  ClusterMember,
  ClusterView,
  EntryView,
  Explanation,
  OwnDigestView,
  PeerView,
  ProxyStatus,
  ReplicaView,
  Statistics,
} from '../../../src/proxy/views.ts'

const GEOMETRY = { hashScheme: 1, keyId: 0, keyRules: 1, bitCount: 65_536, probeCount: 4 }

/** The port behind which a whole proxy lies, as the administration API sees it. Its figures are counted from events. */
export class FakeProxy implements ProxyControl {
  readonly metrics = new ProxyMetrics()
  readonly held = new Map<string, EntryView[]>()
  readonly others: ClusterMember[] = []
  ready = { ready: true, reason: 'every replica is proved' }
  listeners = new Set<(event: ProxyEvent) => void>()
  sequence = 17
  generation = 3
  views: PeerView[] = [peerView('b', 'up'), peerView('c', 'connecting')]
  clusterSignal: AbortSignal | undefined

  emit(event: ProxyEvent): void {
    this.metrics.emit(event)
    for (const listener of this.listeners) listener(event)
  }

  readiness() {
    return this.ready
  }

  status(): ProxyStatus {
    return {
      name: 'a',
      version: '0.1.0',
      startedAt: '2026-12-01T00:00:00.000Z',
      uptimeMs: 61_000,
      incarnation: 1_764_547_200_000,
      proxyAddress: 'http://127.0.0.1:3128',
      store: {
        entries: 12,
        usedBytes: 4096,
        reservedBytes: 0,
        capacityBytes: 1_048_576,
        eviction: 'sieve',
        evictions: 1,
      },
      peers: { configured: this.views.length, consulted: 1 },
    }
  }

  statistics(): Statistics {
    return this.metrics.statistics()
  }

  peers(): readonly PeerView[] {
    return this.views
  }

  addPeer(peer: Peer): PeerChange {
    if (peer.name === 'a') return 'own-name'
    if (this.views.some((view) => view.name === peer.name)) return 'name-taken'
    if (this.views.length >= 3) return 'too-many-peers'
    if (peer.updates === '10.0.0.4:9') return 'transport-off'
    const transport = transportOf(peer)
    if (transportKinds[transport].takesUpdates !== (peer.updates !== undefined)) return 'updates-address'
    const { proved } = transportKinds[transport]
    this.views.push({ ...peerView(peer.name, 'connecting'), url: peer.url, transport, proved })
    return 'done'
  }

  changePeer(name: string, url: string): PeerChange {
    const index = this.views.findIndex((view) => view.name === name)
    if (index < 0) return 'unknown-peer'
    this.views[index] = { ...peerView(name, 'connecting'), url }
    return 'done'
  }

  removePeer(name: string): PeerChange {
    const before = this.views.length
    this.views = this.views.filter((view) => view.name !== name)
    return this.views.length < before ? 'done' : 'unknown-peer'
  }

  ownDigest(): OwnDigestView {
    return {
      name: `1764547200000.${this.generation}.${this.sequence}`,
      geometry: GEOMETRY,
      entries: 12,
      setBits: 48,
      fill: 48 / 65_536,
      bytes: 8192,
      expectedError: 2.9e-13,
      profile: 'balanced',
      pendingClears: 2,
      unpublishedChanges: 1,
      lastPublishReason: 'the oldest change was 1 s old',
      followers: 1,
      audits: 4,
      drift: { missing: 0, surplus: 1 },
      checksumFaults: 0,
      turnedAway: { certificate: 0, signature: 3, malformed: 0, share: 0, full: 0, slow: 1 },
    }
  }

  replicas() {
    return this.views.map((view) => ({
      peer: view.name,
      digest: view.digest,
      measuredError: view.guesses.measuredError,
    }))
  }

  publishNow(): string {
    this.sequence++
    return this.ownDigest().name
  }

  async newGeneration(): Promise<string> {
    this.generation++
    this.sequence = 0
    return this.ownDigest().name
  }

  lookup(url: string): readonly EntryView[] | undefined {
    return isAbsolute(url) ? (this.held.get(url) ?? []) : undefined
  }

  purge(url: string): number | undefined {
    const entries = this.lookup(url)
    this.held.delete(url)
    return entries?.length
  }

  explain(url: string): Explanation | undefined {
    const entries = this.lookup(url)
    if (entries === undefined) return undefined
    return {
      url,
      key: '00112233445566778899aabbccddeeff',
      probes: [1, 77, 4096, 65_535],
      directory: { held: entries.length > 0, verdict: entries.length > 0 ? 'serve' : 'absent', entries },
      lookup: { ask: 'best', tries: 2, addedDelayMs: 100, originMs: null },
      peers: [
        { name: 'b', claims: true, consulted: true, choice: 'asked', reason: 'not asked yet, and so first' },
        { name: 'c', claims: false, consulted: false, choice: 'not-consulted', reason: 'nothing proved yet' },
      ],
      plan: entries.length > 0 ? ['serve from store'] : ['ask peer b', `fetch from origin ${new URL(url).origin}`],
    }
  }

  async cluster(signal: AbortSignal): Promise<ClusterView> {
    this.clusterSignal = signal
    const own = {
      name: 'a',
      url: 'http://127.0.0.1:3128',
      reachable: true,
      reason: '',
      statistics: this.statistics(),
      peers: this.views,
    }
    return { proxies: [own, ...this.others] }
  }

  subscribe(listener: (event: ProxyEvent) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
}

export function peerView(name: string, state: PeerView['state']): PeerView {
  return {
    name,
    url: `http://${name}.example.net:3128`,
    transport: 'http',
    proved: true,
    state,
    reason: state === 'up' ? 'proved' : 'nothing proved yet',
    guesses: {
      tests: 120,
      claims: 24,
      trueHits: 20,
      falseHits: { collision: 2, 'pending-clear': 1, freshness: 1, variant: 0, unknown: 0 },
      failures: 0,
      remoteStaleHits: 1,
      probes: 7,
      falseMisses: 2,
      falseMissCauses: { freshness: 1, unknown: 0 },
      measuredError: state === 'up' ? 0.0208 : null,
    },
    savedMs: 640,
    account: {
      messagesPaper: 30,
      messagesFull: 71,
      bytes: 9_220,
      framesReceived: { want: 0, snapshot: 1, delta: 5, turnover: 0, heartbeat: 12, goodbye: 0 },
      frameBytesReceived: { want: 0, snapshot: 4_000, delta: 500, turnover: 0, heartbeat: 620, goodbye: 0 },
      questions: 24,
      probes: 3,
      answers: 26,
      headBytes: 4_100,
      icp: { messagesPaper: 120, messagesFull: 240, bytes: 16_800 },
    },
    digest: state === 'up' ? replicaView() : null,
  }
}

function replicaView(): ReplicaView {
  return {
    name: '1764547100000.0.5',
    geometry: GEOMETRY,
    entries: 4096,
    setBits: 14_500,
    fill: 0.2212,
    bytes: 8192,
    expectedError: 0.0024,
    proved: true,
    provedAgoMs: 420,
    ageMs: 640,
  }
}

export function entryView(url: string): EntryView {
  return {
    url,
    variant: '',
    status: 200,
    contentType: 'text/html',
    bodyBytes: 1234,
    ageMs: 1500,
    freshForMs: null,
    claimed: true,
  }
}

export function requestEnded(fields: Partial<RequestEnded> = {}): RequestEnded {
  return {
    kind: 'request-ended',
    wallMs: Date.UTC(2026, 11, 1, 12, 0, 0, 469),
    elapsedMs: 28,
    client: '127.0.0.1',
    fromPeer: false,
    method: 'GET',
    url: 'http://www.example.com/obj/1',
    status: 200,
    outcome: 'local-hit',
    bytesToClient: 493,
    bodyBytes: 200,
    contentType: 'text/plain',
    server: undefined,
    aborted: false,
    ...fields,
  }
}

export function peerAsked(fields: Partial<PeerAsked> = {}): PeerAsked {
  return {
    kind: 'peer-asked',
    peer: 'b',
    outcome: 'hit',
    cause: undefined,
    requestBytes: 150,
    replyBytes: 250,
    elapsedMs: 3,
    ...fields,
  }
}

function isAbsolute(url: string): boolean {
  return /^https?:$/.test(URL.parse(url)?.protocol ?? '')
}
