import { Counter, Gauge, Registry } from '@prometheus-io/client'
import type { ProxyControl } from '../../proxy/proxy-control.ts'
import type { DigestView, OwnDigestView, PeerView, ProxyStatus, Statistics } from '../../proxy/views.ts'
import { PEER_STATES } from './schemas/peer-schemas.ts'

const PREFIX = 'summary_cache_'

/** A family's samples: one number, or the labels' values and a number each. */
type Samples = number | readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[]

/**
 * A proxy's figures in Prometheus' text format. The proxy counts; here its counts are only written down, so each
 * family is set anew at every scrape, and a peer that was removed leaves no series behind.
 */
export class PrometheusText {
  readonly #registry = new Registry()
  readonly #counters = new Map<string, Counter<string>>()
  readonly #gauges = new Map<string, Gauge<string>>()

  get contentType(): string {
    return this.#registry.contentType
  }

  async of(control: ProxyControl): Promise<string> {
    // All is read before the first wait, so that the families of one scrape belong together.
    this.#status(control.status())
    this.#statistics(control.statistics())
    this.#ownDigest(control.ownDigest())
    this.#peers(control.peers())
    return this.#registry.metrics()
  }

  #status(status: ProxyStatus): void {
    this.#gauge('info', 'Which proxy this is.', [[{ proxy: status.name, version: status.version }, 1]])
    this.#gauge('start_time_seconds', 'When it started, in seconds since 1970.', Date.parse(status.startedAt) / 1000)
    this.#gauge('store_entries', 'Stored responses.', status.store.entries)
    this.#gauge('store_used_bytes', 'Held by stored responses.', status.store.usedBytes)
    this.#gauge(
      'store_reserved_bytes',
      'Held for fillings and for readers of evicted responses.',
      status.store.reservedBytes,
    )
    this.#gauge('store_capacity_bytes', 'What the store may hold.', status.store.capacityBytes)
    this.#counter('store_evictions_total', 'Responses that the eviction policy gave up.', status.store.evictions)
    this.#gauge('peers_configured', 'Peers that this proxy knows.', status.peers.configured)
    this.#gauge('peers_consulted', 'Peers whose replica is asked at a local miss.', status.peers.consulted)
  }

  #statistics(statistics: Statistics): void {
    const { bodyBytes, hitRatio, interCache, icp, originRequests, peerRequests } = statistics
    this.#counter('requests_total', "Clients' requests that have ended.", each('outcome', statistics.byOutcome))
    this.#counter('client_bytes_total', 'Heads and bodies sent to clients.', statistics.bytesToClients)
    this.#counter('body_bytes_total', 'Of answers to clients, by where the body came from.', each('source', bodyBytes))
    this.#gauge('hit_ratio', "Shares of all clients' requests since the start.", each('kind', hitRatio))
    this.#counter('peer_requests_total', 'Only-if-cached questions from peers.', peerRequests.asked)
    this.#counter('peer_requests_served_total', 'Those answered from the store.', peerRequests.served)
    this.#counter('false_hits_total', 'Peers asked in vain, by cause.', each('cause', statistics.falseHits))
    this.#counter('failed_peer_requests_total', 'Peers asked without an answer.', statistics.peerFailures)
    this.#counter('origin_requests_total', 'Requests to origins.', each('outcome', originRequests))
    this.#counter(
      'datagrams_dropped_total',
      "Datagrams of the paper's wire that came to nothing, by cause.",
      each('cause', statistics.datagramsDropped),
    )
    this.#counter('inter_cache_messages_total', "By the paper's count, in full, and for finding alone.", [
      [{ count: 'paper' }, interCache.messagesPaper],
      [{ count: 'full' }, interCache.messagesFull],
      [{ count: 'finding' }, interCache.finding],
    ])
    this.#counter('inter_cache_bytes_total', 'Digest frames, and heads of requests to peers.', interCache.bytes)
    this.#counter('digest_frames_sent_total', 'Digest frames, one per peer.', each('frame', interCache.framesSent))
    this.#counter('digest_frame_bytes_sent_total', 'Bytes of these.', each('frame', interCache.frameBytesSent))
    this.#counter('icp_messages_total', 'What ICP would have sent for the same local misses.', [
      [{ count: 'paper' }, icp.messagesPaper],
      [{ count: 'full' }, icp.messagesFull],
    ])
    this.#counter('icp_bytes_total', 'Bytes of these queries and replies.', icp.bytes)
  }

  #ownDigest(digest: OwnDigestView): void {
    this.#gauge('digest_entries', 'Keys that our digest stands for.', digest.entries)
    this.#gauge('digest_fill_ratio', 'Set bits over all bits.', digest.fill)
    this.#gauge('digest_expected_error_ratio', 'Chance of a collision, from the fill.', digest.expectedError)
    this.#gauge('digest_size_bytes', 'Size of its bit array.', digest.bytes)
    this.#gauge('digest_pending_clears', 'Bits published whose keys have gone.', digest.pendingClears)
    this.#gauge('digest_unpublished_changes', 'Bits set since the last publish.', digest.unpublishedChanges)
    this.#gauge('digest_followers', 'Peers that follow it.', digest.followers)
    this.#counter('digest_audits_total', 'Comparisons of the summary with the directory.', digest.audits)
    this.#counter(
      'digest_drift_bits_total',
      'Bits that did not agree: 0 for ever.',
      each('kind', { missing: digest.drift.missing, surplus: digest.drift.surplus }),
    )
    this.#counter(
      'digest_checksum_faults_total',
      'Times that the published bits were not what their checksum said: 0 for ever.',
      digest.checksumFaults,
    )
    const turnedAway = each('cause', digest.turnedAway)
    this.#counter('peers_turned_away_total', 'Peers refused our digest or cut off, by cause.', turnedAway)
  }

  #peers(peers: readonly PeerView[]): void {
    const perPeer = (value: (peer: PeerView) => number) =>
      peers.map((peer) => [{ peer: peer.name }, value(peer)] as const)
    const replicas = peers.flatMap(({ name, digest }) => (digest === null ? [] : [{ peer: name, digest }]))
    const perReplica = (value: (digest: (typeof replicas)[number]['digest']) => number) =>
      replicas.map(({ peer, digest }) => [{ peer }, value(digest)] as const)

    const states = peers.flatMap((peer) =>
      PEER_STATES.map((state) => [{ peer: peer.name, state }, peer.state === state ? 1 : 0] as const),
    )
    this.#gauge('peer_state', '1 for the state that the peer is in.', states)
    this.#counter(
      'peer_digest_tests_total',
      "Times a peer's digest was tested.",
      perPeer((peer) => peer.guesses.tests),
    )
    this.#counter(
      'peer_digest_claims_total',
      'Times it claimed the key.',
      perPeer((peer) => peer.guesses.claims),
    )
    this.#counter(
      'peer_true_hits_total',
      'Times the peer had it.',
      perPeer((peer) => peer.guesses.trueHits),
    )
    const falseHits = peers.flatMap((peer) =>
      Object.entries(peer.guesses.falseHits).map(([cause, count]) => [{ peer: peer.name, cause }, count] as const),
    )
    this.#counter('peer_false_hits_total', 'Times the peer had it not, by cause.', falseHits)
    this.#counter(
      'peer_failures_total',
      'Asked without an answer.',
      perPeer((peer) => peer.guesses.failures),
    )
    this.#counter(
      'peer_probes_total',
      'Asked on a sample though its digest did not claim the key.',
      perPeer((peer) => peer.guesses.probes),
    )
    this.#counter(
      'peer_false_misses_total',
      'Times it had it all the same.',
      perPeer((peer) => peer.guesses.falseMisses),
    )
    this.#counter(
      'peer_false_miss_causes_total',
      'Why, of those whose replica has caught up meanwhile.',
      peers.flatMap(({ guesses, name }) =>
        Object.entries(guesses.falseMissCauses).map(([cause, misses]) => [{ peer: name, cause }, misses] as const),
      ),
    )
    this.#gauge(
      'peer_saved_seconds',
      "What asking it has saved against the origin's time; negative where it has cost more.",
      perPeer((peer) => peer.savedMs / 1000),
    )
    this.#counter(
      'peer_messages_total',
      "What it has cost, by the paper's count and in full.",
      peers.flatMap(({ account, name }) => [
        [{ peer: name, count: 'paper' }, account.messagesPaper] as const,
        [{ peer: name, count: 'full' }, account.messagesFull] as const,
      ]),
    )
    this.#counter(
      'peer_bytes_total',
      'Bytes of these: frames, and heads of questions and answers.',
      perPeer((peer) => peer.account.bytes),
    )
    this.#counter(
      'peer_frames_received_total',
      'Digest frames from it.',
      peers.flatMap(({ account, name }) =>
        Object.entries(account.framesReceived).map(([frame, frames]) => [{ peer: name, frame }, frames] as const),
      ),
    )
    this.#counter(
      'peer_frame_bytes_received_total',
      'Bytes of these.',
      peers.flatMap(({ account, name }) =>
        Object.entries(account.frameBytesReceived).map(([frame, bytes]) => [{ peer: name, frame }, bytes] as const),
      ),
    )
    this.#counter(
      'peer_heads_total',
      'Questions to it, probes that no request waited for, and the answers to both.',
      peers.flatMap(({ account, name }) => [
        [{ peer: name, kind: 'question' }, account.questions] as const,
        [{ peer: name, kind: 'probe' }, account.probes] as const,
        [{ peer: name, kind: 'answer' }, account.answers] as const,
      ]),
    )
    this.#counter(
      'peer_head_bytes_total',
      'Bytes of these.',
      perPeer((peer) => peer.account.headBytes),
    )
    this.#counter(
      'peer_icp_bytes_total',
      'Bytes of the queries and replies that ICP would have sent.',
      perPeer((peer) => peer.account.icp.bytes),
    )
    this.#counter(
      'peer_icp_messages_total',
      'What ICP would have sent to and from it for the same local misses.',
      peers.flatMap(({ account, name }) => [
        [{ peer: name, count: 'paper' }, account.icp.messagesPaper] as const,
        [{ peer: name, count: 'full' }, account.icp.messagesFull] as const,
      ]),
    )
    const measured = peers.flatMap(({ name, guesses }) =>
      guesses.measuredError === null ? [] : [[{ peer: name }, guesses.measuredError] as const],
    )
    this.#gauge('replica_measured_error_ratio', 'False hits by collision per test that should have said no.', measured)
    this.#gauge('replica_expected_error_ratio', 'The same, as expected from the fill.', perReplica(expectedError))
    this.#gauge(
      'replica_proved',
      '1 when proved and fresh.',
      perReplica((digest) => (digest.proved ? 1 : 0)),
    )
    this.#gauge(
      'replica_proved_ago_seconds',
      'Since it was last proved.',
      perReplica((digest) => digest.provedAgoMs / 1000),
    )
    this.#gauge(
      'replica_age_seconds',
      'How far behind it can be.',
      perReplica((digest) => digest.ageMs / 1000),
    )
    this.#gauge(
      'replica_entries',
      'Keys that it stands for.',
      perReplica((digest) => digest.entries),
    )
    this.#gauge(
      'replica_fill_ratio',
      'Set bits over all bits.',
      perReplica((digest) => digest.fill),
    )
  }

  #counter(name: string, help: string, samples: Samples): void {
    let counter = this.#counters.get(name)
    if (counter === undefined) {
      counter = new Counter({ name: PREFIX + name, help, labelNames: LABELS, registers: [this.#registry] })
      this.#counters.set(name, counter)
    }
    counter.reset()
    if (typeof samples === 'number') counter.inc(samples)
    else for (const [labels, value] of samples) counter.inc(labels, value)
  }

  #gauge(name: string, help: string, samples: Samples): void {
    let gauge = this.#gauges.get(name)
    if (gauge === undefined) {
      gauge = new Gauge({ name: PREFIX + name, help, labelNames: LABELS, registers: [this.#registry] })
      this.#gauges.set(name, gauge)
    }
    gauge.reset()
    if (typeof samples === 'number') gauge.set(samples)
    else for (const [labels, value] of samples) gauge.set(labels, value)
  }
}

/** Every label that some family has; each sample gives its own. */
const LABELS = ['proxy', 'version', 'outcome', 'source', 'kind', 'cause', 'count', 'frame', 'peer', 'state']

function each(label: string, values: Readonly<Record<string, number>>): Samples {
  return Object.entries(values).map(([key, value]) => [{ [label]: key }, value])
}

function expectedError(digest: DigestView): number {
  return digest.expectedError
}
