import type { RequestHead } from '../../src/core/http/message-head.ts'
import { DEFAULT_LOOKUP_POLICY } from '../../src/core/peers/lookup-plan.ts'
import type { ProxyEvent } from '../../src/proxy/proxy-event.ts'
import type { Reply } from '../../src/proxy/reply.ts'
import { ORIGIN_TIMEOUT_MS, type OriginAnswer } from '../../src/sim/sim-origin.ts'
import { REQUEST_FIELD, type ClientRequest, type SimulatedWorld } from '../../src/sim/simulation-witness.ts'
import type { VirtualProxy } from '../../src/sim/virtual-proxy.ts'
import type { Findings } from './rule-broken.ts'

// All that peers may add and the origin, once behind another's fetch of the same and once for itself; bodies on their way
// besides.
const LONGEST_MS = 2 * (DEFAULT_LOOKUP_POLICY.addedDelayMs + ORIGIN_TIMEOUT_MS) + 1_000
/** Age is told in whole seconds, so each proxy that a copy has gone through may have lost one; the last is for Date. */
const SECONDS_LOST = 2_000
const MAX_AGE = /\bmax-age=(\d+)/
const MAX_STALE = /\bmax-stale=(\d+)/

/** What the origin has said of one URL in one language: when each body was sent or confirmed. */
type Sent = Map<number, number[]>

interface Counts {
  requests: number
  questions: number
  answered: number
  readonly outcomes: Map<string, number>
  readonly byPeer: Map<string, PeerCounts>
}

interface PeerCounts {
  questions: number
  answers: number
  /** Asked before the peer was followed anew: nobody counts how they end. */
  forgotten: number
}

/** Rules 10 and 11: what clients get, what it takes, and whether the counts are of that. */
export class RequestRules {
  readonly #findings: Findings
  readonly #sent = new Map<string, Sent>()
  readonly #pending = new Set<ClientRequest>()
  readonly #tries = new Map<string, number>()
  readonly #counts = new Map<VirtualProxy, Counts>()
  #world: SimulatedWorld | undefined

  constructor(findings: Findings) {
    this.#findings = findings
  }

  begins(world: SimulatedWorld): void {
    this.#world = world
  }

  originAnswered({ body, document, language }: OriginAnswer): void {
    const name = `${document.url} ${language}`
    const sent = this.#sent.get(name) ?? new Map<number, number[]>()
    this.#sent.set(name, sent)
    const times = sent.get(body)
    if (times === undefined) sent.set(body, [this.#nowMs])
    else times.push(this.#nowMs)
  }

  requested(request: ClientRequest): void {
    this.#pending.add(request)
  }

  replied(request: ClientRequest, reply: Reply<number>): void {
    this.#pending.delete(request)
    this.#countsOf(request.proxy).requests++
    const { method, url } = request.head
    const { status } = reply.head
    const who = `${request.proxy.name} answers ${method} ${url} with`
    const { outcome } = reply
    if (outcome === 'failed') {
      // Another's fetch of the same may have begun before, and failed.
      const { lastFailureMs } = this.#world!.origin
      const mayFail = this.#nowMs >= request.goneMs || lastFailureMs >= request.startMs - LONGEST_MS
      return this.#findings.expect(mayFail, 11, () => `${who} ${status} though the origin is well`)
    }
    this.#findings.expect(status === 200, 11, () => `${who} ${status}, ${outcome}`)
    if (method === 'GET') this.#checkBody(request, reply, who)
  }

  /** A question is about to go to a peer. */
  asked(proxy: VirtualProxy, peer: string, { fields, method }: RequestHead): void {
    const isFromStore = /\bonly-if-cached\b/.test(fields.get('cache-control') ?? '')
    this.#findings.expect(isFromStore, 11, () => `${proxy.name} sends ${peer} to the origin`)
    const hops = fields.get('via')?.split(',').length ?? 0
    this.#findings.expect(hops === 1, 11, () => `a question to ${peer} has come through ${hops} proxies`)
    // What clients ask by HEAD goes past the store: a probe, which nobody waits for.
    if (method === 'HEAD') return
    const counts = this.#countsOf(proxy)
    counts.questions++
    peerCounts(counts, peer).questions++
    const id = fields.get(REQUEST_FIELD) ?? ''
    const tries = (this.#tries.get(id) ?? 0) + 1
    this.#tries.set(id, tries)
    const { lookup, proxyCount } = this.#world!.plan.setting
    const mostTries = lookup.ask === 'all' ? proxyCount - 1 : lookup.tries
    this.#findings.expect(tries <= mostTries, 11, () => `request ${id} is asked of ${tries} peers`)
  }

  event(proxy: VirtualProxy, event: ProxyEvent): void {
    const counts = this.#countsOf(proxy)
    if (event.kind === 'peer-asked') {
      counts.answered++
      const ofPeer = peerCounts(counts, event.peer)
      // Another had it first: no guess of the digest's has turned out either way.
      if (event.outcome === 'cancelled') ofPeer.questions--
      else ofPeer.answers++
    } else if (event.kind === 'request-ended' && !event.fromPeer) {
      counts.outcomes.set(event.outcome, (counts.outcomes.get(event.outcome) ?? 0) + 1)
    }
  }

  /** It counts from nothing again when it is followed anew. */
  left(follower: VirtualProxy, peer: string): void {
    const counts = peerCounts(this.#countsOf(follower), peer)
    counts.forgotten += counts.questions - counts.answers
    counts.questions = 0
    counts.answers = 0
  }

  stopped(proxy: VirtualProxy): void {
    for (const request of this.#pending) if (request.proxy === proxy) this.#pending.delete(request)
    this.checkCounts(proxy)
    this.#counts.delete(proxy)
  }

  /** Now and then. */
  check(): void {
    for (const { id, proxy, startMs } of this.#pending) {
      const forMs = this.#nowMs - startMs
      this.#findings.expect(forMs <= LONGEST_MS, 11, () => `request ${id} waits at ${proxy.name} for ${forMs} ms`)
    }
  }

  checkCounts(proxy: VirtualProxy): void {
    const counts = this.#countsOf(proxy)
    const expectEqual = (what: string, is: number, should: number): void => {
      this.#findings.expect(is === should, 10, () => `${proxy.name} counts ${is} ${what}, and there were ${should}`)
    }
    const told = proxy.metrics.statistics()
    expectEqual('requests', told.requests, counts.requests)
    for (const [outcome, count] of Object.entries(told.byOutcome)) {
      expectEqual(`requests as ${outcome}`, count, counts.outcomes.get(outcome) ?? 0)
    }
    const { framesSent } = told.interCache
    const frames = Object.values(framesSent).reduce((sum, count) => sum + count, 0)
    expectEqual('frames sent', frames - framesSent.want, proxy.transport.sentFrames)
    this.#findings.expect(counts.answered <= counts.questions, 10, () => {
      return `${proxy.name} has ${counts.answered} answers to ${counts.questions} questions`
    })
    for (const { guesses, peer } of proxy.protocol.peers.all()) {
      const falseHits = Object.values(guesses.falseHits).reduce((sum, count) => sum + count, 0)
      const ended = guesses.trueHits + falseHits + guesses.failures
      const { answers, forgotten } = peerCounts(counts, peer.name)
      const isRight = ended <= answers && answers <= ended + forgotten
      this.#findings.expect(isRight, 10, () => `${proxy.name} counts ${ended} answers of ${peer.name}, not ${answers}`)
      this.#findings.expect(guesses.claims <= guesses.tests, 10, () => {
        return `${proxy.name} has ${guesses.claims} claims of ${peer.name} in ${guesses.tests} tests`
      })
    }
  }

  #checkBody(request: ClientRequest, { body }: Reply<number>, who: string): void {
    const { head, startMs } = request
    const document = this.#world!.origin.documents.find(({ url }) => url === head.url)!
    const { lifetimeMs, varies } = document.kind
    const language = varies ? head.fields.get('accept-language')! : ''
    const sentAt = this.#sent.get(`${head.url} ${language}`)?.get(Number(body))
    if (sentAt === undefined) {
      return this.#findings.add(11, `${who} body ${String(body)}, which the origin never sent for it`)
    }
    const demand = head.fields.get('cache-control') ?? ''
    const lastMs = sentAt.at(-1)!
    // What has come for this very request may be as old as it likes.
    if (lastMs >= startMs) return
    const isShareable = lifetimeMs !== undefined && demand !== 'no-cache'
    if (!isShareable) return this.#findings.add(11, `${who} body ${String(body)} of an earlier request`)
    const ageMs = this.#nowMs - lastMs
    const { proxyCount } = this.#world!.plan.setting
    const staleMs = Number(MAX_STALE.exec(demand)?.[1] ?? 0) * 1_000
    const demandedMs = Number(MAX_AGE.exec(demand)?.[1] ?? Infinity) * 1_000
    const allowedMs = Math.min(lifetimeMs + staleMs, demandedMs) + proxyCount * SECONDS_LOST
    this.#findings.expect(ageMs <= allowedMs, 11, () => {
      return `${who} body ${String(body)}, sent ${ageMs} ms ago where ${allowedMs} are allowed`
    })
  }

  get #nowMs(): number {
    return this.#world!.time.nowMs
  }

  #countsOf(proxy: VirtualProxy): Counts {
    let counts = this.#counts.get(proxy)
    if (counts === undefined) {
      counts = { requests: 0, questions: 0, answered: 0, outcomes: new Map(), byPeer: new Map() }
      this.#counts.set(proxy, counts)
    }
    return counts
  }
}

function peerCounts({ byPeer }: Counts, peer: string): PeerCounts {
  let counts = byPeer.get(peer)
  if (counts === undefined) byPeer.set(peer, (counts = { questions: 0, answers: 0, forgotten: 0 }))
  return counts
}
