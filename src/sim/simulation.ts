import { Fields } from '../core/http/fields.ts'
import type { Action, Plan } from './faults.ts'
import { liedFrames } from './lies.ts'
import { SeededRandom } from './seeded-random.ts'
import { SimNetwork, type LinkFault } from './sim-network.ts'
import { ORIGIN_EPOCH_MS, SimOrigin } from './sim-origin.ts'
import type { KeptResponse } from './sim-store.ts'
import { REQUEST_FIELD, type ClientRequest, type SimulatedWorld, type SimulationWitness } from './simulation-witness.ts'
import { Transcript } from './transcript.ts'
import { VirtualClock } from './virtual-clock.ts'
import { VirtualProxy, type VirtualProxySeams } from './virtual-proxy.ts'
import { VirtualTime, WORLD, type Settle } from './virtual-time.ts'

type Do<K extends Action['kind']> = Extract<Action, { kind: K }>

export interface SimulationOptions {
  readonly settle: Settle
  readonly witness: SimulationWitness
  readonly transcript: Transcript
  readonly seams?: VirtualProxySeams
}

export const PEER_TIMEOUT_MS = 500
const CONVERGENCE_LIMIT_MS = 120_000
/** Clocks of machines differ. */
const WALL_SKEW_MS = 2_000

/** A cluster of proxies, its clients and its origin on virtual time, and everything that a plan does to them. */
export class Simulation implements SimulatedWorld {
  readonly plan: Plan
  readonly time: VirtualTime
  readonly network: SimNetwork<VirtualProxy>
  readonly origin: SimOrigin
  readonly transcript: Transcript
  readonly #options: SimulationOptions
  readonly #random: SeededRandom
  readonly #lives: (VirtualProxy | undefined)[] = []
  readonly #members = new Set<number>()
  readonly #lastIncarnations: number[]
  readonly #wallOffsets: number[]
  #starts = 0
  #requests = 0
  #faults = 0

  constructor(plan: Plan, options: SimulationOptions) {
    this.plan = plan
    this.#options = options
    this.transcript = options.transcript
    this.#random = new SeededRandom(plan.seed).fork(4)
    this.time = new VirtualTime(options.settle)
    const { documentCount, mode, proxyCount } = plan.setting
    this.network = new SimNetwork(mode, this.time, this.#random.fork(1), options.transcript)
    this.origin = new SimOrigin(this.time, this.#random.fork(2), documentCount, (answer) => {
      options.witness.originAnswered(answer)
    })
    this.#lastIncarnations = Array.from({ length: proxyCount }, () => 0)
    this.#wallOffsets = Array.from({ length: proxyCount }, () => {
      return ORIGIN_EPOCH_MS + Math.floor((this.#random.next() - 0.5) * WALL_SKEW_MS)
    })
  }

  /** Those that run now. */
  get proxies(): VirtualProxy[] {
    return this.#lives.filter((proxy) => proxy !== undefined)
  }

  /** Requests of clients so far, and things done to the cluster. */
  get counts(): { readonly requests: number; readonly faults: number } {
    return { requests: this.#requests, faults: this.#faults }
  }

  /** Runs it all. @throws what the witness throws */
  async run(): Promise<void> {
    const { witness } = this.#options
    const { actions, setting } = this.plan
    const { durationMs, proxyCount } = setting
    witness.begins(this)
    for (let index = 0; index < proxyCount; index++) this.#members.add(index)
    for (let index = 0; index < proxyCount; index++) {
      // Not all in one moment: those that start first find nobody there.
      this.time.at(index, WORLD, () => this.#start(index, []))
    }
    for (const action of actions) this.time.at(action.atMs, WORLD, () => this.#act(action))
    await this.time.run(durationMs, (owner) => {
      witness.stepped(owner)
      return true
    })
    this.#say(WORLD, 'all faults are over')
    await this.time.run(durationMs + CONVERGENCE_LIMIT_MS, (owner) => {
      witness.stepped(owner)
      return !witness.hasConverged(durationMs)
    })
    witness.ended()
  }

  #act(action: Action): void {
    if (action.kind !== 'request') this.#faults++
    switch (action.kind) {
      case 'request':
        return this.#request(action)
      case 'link':
        return this.#linkFault(action)
      case 'partition':
        return this.#partition(action)
      case 'restart':
        return this.#restart(action)
      case 'leave':
        return this.#leave(action)
      case 'clock-step':
        return this.#stepClock(action)
      case 'change': {
        const document = this.origin.documents[action.document]!
        document.version++
        return this.#say(WORLD, 'origin changes', document.url)
      }
      case 'origin-trouble':
        return this.#troubleOrigin(action)
      case 'purge': {
        const { url } = this.origin.documents[action.document]!
        this.#say(action.proxy, 'is told to purge', url)
        this.#lives[action.proxy]?.purge(url)
        return
      }
      case 'publish':
        this.#say(action.proxy, 'is told to publish')
        return this.#lives[action.proxy]?.exchange.publish()
      case 'new-generation':
        this.#say(action.proxy, 'is told to begin a new generation')
        void this.#lives[action.proxy]?.exchange.newGeneration()
        return
      case 'lie':
        return this.#lie(action)
    }
  }

  #start(index: number, kept: readonly KeptResponse[]): void {
    const { seams = {}, witness } = this.#options
    const { setting } = this.plan
    const clock = new VirtualClock(this.time, index, this.#wallOffsets[index]!)
    const incarnation = Math.max(clock.wallMs(), this.#lastIncarnations[index]! + 1)
    this.#lastIncarnations[index] = incarnation
    const name = nameOf(index)
    this.#say(index, 'starts', `incarnation ${incarnation}, ${kept.length} responses kept`)
    const proxy = new VirtualProxy({
      index,
      name,
      incarnation,
      version: setting.versions[index]!,
      settings: { ...setting, peerTimeoutMs: PEER_TIMEOUT_MS },
      network: this.network,
      clock,
      random: this.#random.fork(100 + this.#starts++),
      origin: this.origin.portOf(clock),
      bodyBytes: (body) => this.origin.bodyBytes(body),
      kept,
      witness,
      seams,
    })
    this.#lives[index] = proxy
    this.network.enter(proxy)
    witness.started(proxy)
    const peers = [...this.#members].filter((other) => other !== index).map(nameOf)
    for (const peer of peers) witness.membersChanged(proxy, peer, true)
    proxy.start(peers)
  }

  #stop(index: number, isClean: boolean): VirtualProxy | undefined {
    const proxy = this.#lives[index]
    if (proxy === undefined) return undefined
    this.#say(index, isClean ? 'stops' : 'is killed')
    proxy.stop(isClean)
    this.#lives[index] = undefined
    this.#options.witness.stopped(proxy)
    return proxy
  }

  #restart({ downMs, isClean, keepsStore, proxy: index }: Do<'restart'>): void {
    const stopped = this.#stop(index, isClean)
    if (stopped === undefined) return
    const kept = keepsStore ? stopped.store.kept() : []
    this.#later(downMs, () => this.#start(index, kept))
  }

  #leave({ forMs, proxy: index }: Do<'leave'>): void {
    // Two are left, at least.
    if (this.#lives[index] === undefined || this.#members.size < 3) return
    const { witness } = this.#options
    const name = nameOf(index)
    this.#say(index, 'leaves the cluster')
    this.#members.delete(index)
    this.#stop(index, true)
    for (const other of this.proxies) {
      witness.membersChanged(other, name, false)
      other.exchange.leave(name)
    }
    this.#later(forMs, () => {
      this.#members.add(index)
      for (const other of this.proxies) {
        witness.membersChanged(other, name, true)
        other.exchange.follow({ name, url: `http://${name}` })
      }
      this.#start(index, [])
    })
  }

  #stepClock({ byMs, proxy: index }: Do<'clock-step'>): void {
    this.#say(index, 'sees its wall clock step', `by ${byMs / 1000} s`)
    this.#wallOffsets[index]! += byMs
    this.#lives[index]?.clock.stepWall(byMs)
  }

  #linkFault({ fault, forMs, from, to }: Do<'link'>): void {
    this.#say(from, 'is badly heard', `by ${nameOf(to)}: ${faultText(fault)}`)
    const takeOff = this.network.impose(from, to, fault)
    this.#later(forMs, () => {
      this.#say(from, 'is well heard again', `by ${nameOf(to)}`)
      takeOff()
    })
  }

  #partition({ forMs, side }: Do<'partition'>): void {
    this.#say(WORLD, 'parts', side.map(nameOf).join(' '))
    const takeOff: (() => void)[] = []
    for (let index = 0; index < this.plan.setting.proxyCount; index++) {
      if (side.includes(index)) continue
      for (const other of side) {
        takeOff.push(this.network.impose(index, other, { isCut: true }))
        takeOff.push(this.network.impose(other, index, { isCut: true }))
      }
    }
    this.#later(forMs, () => {
      this.#say(WORLD, 'joins again', side.map(nameOf).join(' '))
      for (const off of takeOff) off()
    })
  }

  #troubleOrigin({ forMs, what }: Do<'origin-trouble'>): void {
    const field = what === 'failing' ? 'isFailing' : 'isSlow'
    this.#say(WORLD, `origin is ${what}`)
    this.origin[field] = true
    this.#later(forMs, () => {
      this.#say(WORLD, `origin is not ${what} any more`)
      this.origin[field] = false
    })
  }

  #lie({ forMs, lie, proxy: index }: Do<'lie'>): void {
    const proxy = this.#lives[index]
    if (proxy === undefined) return
    this.#say(index, 'lies', lie)
    const { publisher } = proxy.protocol
    proxy.transport.lying = () => liedFrames(lie, publisher)
    this.#later(forMs, () => {
      this.#say(index, 'lies no more')
      proxy.transport.lying = undefined
    })
  }

  #request({ demand, document, language, method, patienceMs, proxy: index }: Do<'request'>): void {
    const proxy = this.#lives[index]
    if (proxy === undefined) return
    const { url } = this.origin.documents[document]!
    const id = this.#requests++
    const raw = ['Host', 'origin.example', 'Accept-Language', language, REQUEST_FIELD, String(id)]
    if (demand !== '') raw.push('Cache-Control', demand)
    const gone = new AbortController()
    const { nowMs } = this.time
    const request: ClientRequest = {
      id,
      proxy,
      head: { method, url, fields: new Fields(raw) },
      startMs: nowMs,
      goneMs: nowMs + (patienceMs ?? Infinity),
    }
    if (patienceMs !== undefined) this.time.after(patienceMs, index, () => gone.abort())
    void this.#serve(request, gone.signal)
  }

  async #serve(request: ClientRequest, gone: AbortSignal): Promise<void> {
    const { witness } = this.#options
    const { head, id, proxy } = request
    const { fields, method, url } = head
    const asks = [method, new URL(url).pathname, fields.get('accept-language'), fields.get('cache-control')]
      .join(' ')
      .trimEnd()
    this.transcript.note(this.time.nowMs, `-> ${proxy.name}`, asks, id)
    witness.requested(request)
    const reply = await proxy.answer(head, 'client', gone)
    const { outcome, server } = reply
    this.transcript.note(this.time.nowMs, `<- ${proxy.name}`, outcome, id, () => {
      return `${asks}: ${reply.head.status}, body ${String(reply.body)}${server ? ` of ${server}` : ''}`
    })
    witness.replied(request, reply)
  }

  /** At the end of all faults at the latest. */
  #later(ms: number, act: () => void): void {
    this.time.at(Math.min(this.time.nowMs + ms, this.plan.setting.durationMs), WORLD, act)
  }

  #say(index: number, what: string, text = ''): void {
    this.transcript.note(this.time.nowMs, index === WORLD ? '' : nameOf(index), what, index, () => text)
  }
}

function nameOf(index: number): string {
  return index < 26 ? String.fromCharCode(97 + index) : `p${index}`
}

function faultText(fault: LinkFault): string {
  return Object.entries(fault)
    .map(([what, value]) => `${what} ${String(value)}`)
    .join(', ')
}
