import type { CacheKey } from '../../src/core/http/cache-key.ts'
import type { RequestHead } from '../../src/core/http/message-head.ts'
import type { Peer } from '../../src/core/peers/peer.ts'
import { DEFAULT_UPDATE_OPTIONS, UPDATE_PROFILES } from '../../src/core/protocol/update-policy.ts'
import type { ProxyEvent } from '../../src/proxy/proxy-event.ts'
import type { Reply } from '../../src/proxy/reply.ts'
import type { OriginAnswer } from '../../src/sim/sim-origin.ts'
import type { ClientRequest, SimulatedWorld, SimulationWitness } from '../../src/sim/simulation-witness.ts'
import type { VirtualProxy } from '../../src/sim/virtual-proxy.ts'
import { PublishedStates } from './published-states.ts'
import { ReplicaRules } from './replica-rules.ts'
import { RequestRules } from './request-rules.ts'
import { Findings } from './rule-broken.ts'

/** Between two looks at what a step cannot break by itself. */
const SLOW_CHECK_MS = 500
const CONVERGENCE_CHECK_MS = 25
/** Two pauses between attempts to reach a peer, and what a lost answer is waited for besides the heartbeats. */
const CONVERGED_AFTER_MS = 30_000

/** PROTOCOL's rules, held against a dull model of all that was published, said and asked, after every step. */
export class Invariants implements SimulationWitness {
  readonly #findings = new Findings()
  readonly #states = new PublishedStates(this.#findings)
  readonly #requests = new RequestRules(this.#findings)
  readonly #replicas: ReplicaRules
  readonly #heartbeatMs: number
  #world: SimulatedWorld | undefined
  #slowCheckAtMs = 0
  #convergenceCheckAtMs = 0

  constructor(heartbeatMs: number) {
    this.#heartbeatMs = heartbeatMs
    this.#replicas = new ReplicaRules(this.#findings, this.#states, heartbeatMs)
  }

  begins(world: SimulatedWorld): void {
    this.#world = world
    this.#requests.begins(world)
  }

  started(proxy: VirtualProxy): void {
    this.#states.started(proxy)
  }

  stopped(proxy: VirtualProxy): void {
    this.#requests.stopped(proxy)
    this.#replicas.stopped(proxy)
  }

  membersChanged(follower: VirtualProxy, peer: string, isMember: boolean): void {
    if (isMember) return
    this.#replicas.left(follower, peer)
    this.#requests.left(follower, peer)
  }

  published(proxy: VirtualProxy): void {
    this.#states.published(proxy)
  }

  arrived(proxy: VirtualProxy, from: string, frame: Uint8Array, isWhole: boolean): void {
    this.#replicas.arrived(proxy, from, frame, isWhole, this.#nowMs)
  }

  claimChanged(proxy: VirtualProxy, key: CacheKey, isClaimed: boolean): void {
    this.#states.claimChanged(proxy, key, isClaimed)
  }

  event(proxy: VirtualProxy, event: ProxyEvent): void {
    this.#requests.event(proxy, event)
    if (event.kind !== 'peer-changed') return
    if (event.state === 'refused') this.#replicas.refused(proxy, event.peer)
    if (event.state === 'connected') this.#replicas.connected(proxy, event.peer)
  }

  asked(proxy: VirtualProxy, peer: Peer, request: RequestHead): void {
    this.#replicas.asked(proxy, peer.name, this.#nowMs)
    this.#requests.asked(proxy, peer.name, request)
  }

  originAnswered(answer: OriginAnswer): void {
    this.#requests.originAnswered(answer)
  }

  requested(request: ClientRequest): void {
    this.#requests.requested(request)
  }

  replied(request: ClientRequest, reply: Reply<number>): void {
    this.#requests.replied(request, reply)
  }

  stepped(owner: number): void {
    const proxies = this.#world!.proxies
    for (const proxy of proxies) if (owner === proxy.index || owner < 0) this.#check(proxy)
    if (this.#nowMs >= this.#slowCheckAtMs) {
      this.#slowCheckAtMs = this.#nowMs + SLOW_CHECK_MS
      this.#requests.check()
      for (const proxy of proxies) this.#checkClaims(proxy)
    }
    this.#findings.tell()
  }

  hasConverged(sinceMs: number): boolean {
    if (this.#nowMs < this.#convergenceCheckAtMs) return false
    this.#convergenceCheckAtMs = this.#nowMs + CONVERGENCE_CHECK_MS
    const limitMs = 3 * this.#heartbeatMs + CONVERGED_AFTER_MS
    const isLate = this.#nowMs - sinceMs > limitMs
    const { plan, proxies } = this.#world!
    for (const follower of proxies) {
      for (const publisher of proxies) {
        if (publisher === follower) continue
        const lag = this.#replicas.lag(follower, publisher, this.#nowMs)
        if (lag === undefined) continue
        if (!isLate) return false
        const [a, b] = [follower, publisher].map(({ index }) => plan.setting.versions[index])
        const rule = a === 2 && b === 2 ? 2 : 15
        this.#findings.add(
          rule,
          `${limitMs} ms after the last fault ${follower.name} lags behind ${publisher.name}: ${lag}`,
        )
        this.#findings.tell()
      }
    }
    return true
  }

  ended(): void {
    const { proxies } = this.#world!
    for (const proxy of proxies) {
      this.#check(proxy)
      this.#requests.checkCounts(proxy)
      this.#checkClaims(proxy)
    }
    this.#findings.tell()
  }

  #check(proxy: VirtualProxy): void {
    this.#states.check(proxy)
    this.#replicas.check(proxy, this.#nowMs)
  }

  #checkClaims(proxy: VirtualProxy): void {
    const { profile } = this.#world!.plan.setting
    this.#states.checkClaims(proxy, UPDATE_PROFILES[profile](DEFAULT_UPDATE_OPTIONS).maxAgeMs, this.#nowMs)
  }

  get #nowMs(): number {
    return this.#world!.time.nowMs
  }
}
