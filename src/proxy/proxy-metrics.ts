import { MessagesAccount } from './messages-account.ts'
import type { EventSink } from './ports.ts'
import type { DatagramDrop, Outcome, ProxyEvent, RequestEnded, TurnedAwayCause } from './proxy-event.ts'
import type { Statistics } from './views.ts'

/** Folds a proxy's events into its statistics: the live proxy's `/v1/statistics` and the simulator's report alike. */
export class ProxyMetrics implements EventSink {
  readonly #messages = new MessagesAccount()
  readonly #byOutcome: Record<Outcome, number> = {
    'local-hit': 0,
    'validated-hit': 0,
    'remote-hit': 0,
    miss: 0,
    pass: 0,
    tunnel: 0,
    unheld: 0,
    refused: 0,
    failed: 0,
  }
  readonly #peerRequests = { asked: 0, served: 0 }
  readonly #bodyBytes = { local: 0, remote: 0, origin: 0 }
  readonly #originRequests = { fetched: 0, validated: 0, failed: 0 }
  readonly #datagramsDropped: Record<DatagramDrop, number> = {
    'unknown-sender': 0,
    'over-rate': 0,
    malformed: 0,
    unsent: 0,
  }
  readonly #turnedAway: Record<TurnedAwayCause, number> = {
    certificate: 0,
    signature: 0,
    malformed: 0,
    share: 0,
    full: 0,
    slow: 0,
  }
  #requests = 0
  #bytesToClients = 0

  emit(event: ProxyEvent): void {
    switch (event.kind) {
      case 'request-ended':
        return this.#requestEnded(event)
      case 'peer-asked':
        return this.#messages.asked(event)
      case 'peer-probed':
        return this.#messages.probed(event)
      case 'local-miss':
        return this.#messages.missed(event)
      case 'origin-asked':
        this.#originRequests[event.outcome]++
        return
      case 'digest-sent':
        return this.#messages.sent(event)
      case 'datagrams-dropped':
        this.#datagramsDropped[event.cause] += event.count
        return
      case 'peer-turned-away':
        this.#turnedAway[event.cause]++
        return
      case 'digest-received': // counted where it was sent
      case 'peer-changed':
      case 'digest-turned':
        return
    }
  }

  /** A copy of its own: later events don't change it. */
  statistics(): Statistics {
    const local = this.#byOutcome['local-hit'] + this.#byOutcome['validated-hit']
    const remote = this.#byOutcome['remote-hit']
    return {
      requests: this.#requests,
      byOutcome: { ...this.#byOutcome },
      peerRequests: { ...this.#peerRequests },
      bytesToClients: this.#bytesToClients,
      bodyBytes: { ...this.#bodyBytes },
      hitRatio: { local: share(local, this.#requests), remote: share(remote, this.#requests) },
      falseHits: this.#messages.falseHits(),
      peerFailures: this.#messages.peerFailures(),
      originRequests: { ...this.#originRequests },
      datagramsDropped: { ...this.#datagramsDropped },
      interCache: this.#messages.interCache(),
      icp: this.#messages.icp(),
    }
  }

  /** How often peers did not get what they asked of our digest. A copy of its own. */
  turnedAway(): Readonly<Record<TurnedAwayCause, number>> {
    return { ...this.#turnedAway }
  }

  #requestEnded(request: RequestEnded): void {
    if (request.fromPeer) {
      this.#peerRequests.asked++
      if (request.outcome === 'local-hit' || request.outcome === 'validated-hit') this.#peerRequests.served++
      return
    }
    this.#requests++
    this.#byOutcome[request.outcome]++
    this.#bytesToClients += request.bytesToClient
    switch (request.outcome) {
      case 'local-hit':
      case 'validated-hit':
        this.#bodyBytes.local += request.bodyBytes
        return
      case 'remote-hit':
        this.#bodyBytes.remote += request.bodyBytes
        return
      case 'miss':
      case 'pass':
        this.#bodyBytes.origin += request.bodyBytes
        return
      case 'tunnel': // not HTTP that we could tell a body in
      case 'unheld':
      case 'refused':
      case 'failed':
        return
    }
  }
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole
}
