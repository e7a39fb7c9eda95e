import assert from 'node:assert'
import type { ClaimListener } from '../../core/directory/cache-directory.ts'
import type { CacheKey } from '../../core/http/cache-key.ts'
import type { FalseHitCause } from '../../core/peers/guess-counts.ts'
import type { PeerState } from '../../core/peers/peer-table.ts'
import type { Publication } from '../../core/protocol/digest-publisher.ts'
import { SummaryCacheProtocol } from '../../core/protocol/summary-cache-protocol.ts'
import { DEFAULT_UPDATE_OPTIONS, UPDATE_PROFILES, type UpdatePolicy } from '../../core/protocol/update-policy.ts'
import type { DigestFrameKind } from '../../proxy/proxy-event.ts'
import { proxyName, type SimProxy } from '../sim-proxy.ts'
import type { SchemeKind, SchemeSettings, SharingScheme } from './sharing-scheme.ts'

/** Frames are prefixed by their length, as on the live wire. */
const PREFIX_BYTES = 4
// The live proxy's defaults.
const PENDING_CLEAR_SHARE = 0.03
const GENERATION_AGE_MS = 86_400_000

/** One proxy's protocol, and when it has something to say. */
interface Member {
  readonly index: number
  readonly protocol: SummaryCacheProtocol
  /** By proxy; undefined for itself. */
  readonly peers: (PeerState | undefined)[]
  tickMs: number
  frameMs: number
  /** Of the oldest unpublished change. */
  changeMs: number
  generationMs: number
}

/** Digests: the live proxy's protocol, one for each proxy, over frames that arrive at once. */
export class SummaryCache implements SharingScheme {
  readonly #members: readonly Member[]
  readonly #policy: UpdatePolicy
  readonly #heartbeatMs: number
  readonly #startMs: number
  #proxies: readonly SimProxy[] = []

  constructor({ digest, proxyCount, startMs }: SchemeSettings) {
    this.#policy = UPDATE_PROFILES[digest.profile](DEFAULT_UPDATE_OPTIONS)
    this.#heartbeatMs = digest.heartbeatMs
    this.#startMs = startMs
    this.#members = Array.from({ length: proxyCount }, (_, index) => {
      const protocol = new SummaryCacheProtocol(
        {
          incarnation: 1,
          geometry: digest.geometry,
          policy: this.#policy,
          pendingClearShare: PENDING_CLEAR_SHARE,
          generationAgeMs: GENERATION_AGE_MS,
          heartbeatMs: digest.heartbeatMs,
          maxBitCount: digest.geometry.bitCount,
        },
        startMs,
      )
      const peers = Array.from({ length: proxyCount }, (_unused, peer) => {
        if (peer === index) return undefined
        const state = protocol.peers.add({ name: proxyName(peer), url: `http://${proxyName(peer)}:3128` })
        assert(state !== undefined, 'more proxies than a peer table holds')
        return state
      })
      return { index, protocol, peers, tickMs: startMs, frameMs: startMs, changeMs: Infinity, generationMs: startMs }
    })
  }

  /** By proxy. */
  get protocols(): readonly SummaryCacheProtocol[] {
    return this.#members.map(({ protocol }) => protocol)
  }

  claims(proxy: number): ClaimListener {
    return this.#members[proxy]!.protocol
  }

  start(proxies: readonly SimProxy[]): void {
    this.#proxies = proxies
    for (const follower of this.#members) {
      for (const publisher of this.#members) {
        if (publisher !== follower) this.#catchUp(follower, publisher, this.#startMs)
      }
    }
  }

  advance(nowMs: number): void {
    for (const member of this.#members) this.#runUntil(member, nowMs)
  }

  candidates(asker: number, key: CacheKey, nowMs: number): readonly number[] {
    const { peers, protocol } = this.#members[asker]!
    protocol.localMiss()
    return protocol.peers.candidates(key, nowMs).map((index) => peers.findIndex((peer) => peer?.index === index))
  }

  falseHitCause(holder: number, key: CacheKey): FalseHitCause {
    const cause = this.#members[holder]!.protocol.publisher.summary.claimCause(key)
    // Bits that it has cleared since count as pending, as they do where a live peer's answer is read.
    return cause === 'collision' ? 'collision' : 'pending-clear'
  }

  /**
   * Nothing changes between two requests, so that only a few moments have to be gone to: where a change gets too old,
   * where a generation does, and the last heartbeat. Those before it say the same and are only counted, so that a night's
   * silence costs no more than a minute's.
   */
  #runUntil(member: Member, nowMs: number): void {
    const { maxAgeMs } = this.#policy
    const { summary } = member.protocol.publisher
    // Whatever changed since the last tick did so with the request at that time.
    const requestMs = member.tickMs
    if (summary.openChangeCount > 0) member.changeMs = Math.min(member.changeMs, requestMs)
    this.#tickBefore(member, member.changeMs + maxAgeMs, nowMs)
    if (summary.pendingClearCount > 0) this.#tickBefore(member, requestMs + maxAgeMs, nowMs)
    while (member.generationMs + GENERATION_AGE_MS < nowMs) {
      this.#tickBefore(member, member.generationMs + GENERATION_AGE_MS, nowMs)
    }
    this.#heartbeatsUntil(member, nowMs)
    this.#tick(member, nowMs)
  }

  #tickBefore(member: Member, atMs: number, endMs: number): void {
    if (atMs >= endMs || atMs <= member.tickMs) return
    this.#heartbeatsUntil(member, atMs)
    this.#tick(member, atMs)
  }

  #heartbeatsUntil(member: Member, endMs: number): void {
    const count = Math.ceil((endMs - member.frameMs) / this.#heartbeatMs) - 1
    if (count < 1) return
    const lastMs = member.frameMs + count * this.#heartbeatMs
    if (count > 1) {
      const { publisher } = member.protocol
      const frameBytes = publisher.heartbeat(lastMs).length
      this.#sent(member, 'heartbeat', frameBytes, (count - 1) * (this.#members.length - 1))
    }
    this.#tick(member, lastMs)
  }

  #tick(member: Member, nowMs: number): void {
    member.tickMs = nowMs
    const { publisher } = member.protocol
    let due = member.protocol.tick(nowMs)
    while (due === undefined && publisher.hasWork) due = publisher.work(Infinity, nowMs)
    if (due !== undefined) this.#publish(member, due, nowMs)
  }

  #publish(member: Member, { frame, kind, reason }: Publication, nowMs: number): void {
    member.frameMs = nowMs
    if (reason !== 'idle') member.changeMs = Infinity
    if (reason !== 'idle' && member.protocol.publisher.name.sequence === 0) member.generationMs = nowMs
    this.#sent(member, kind, frame.length, this.#members.length - 1)
    for (const follower of this.#members) {
      if (follower === member) continue
      this.#deliver(frame, member, follower, nowMs)
      if (follower.peers[member.index]!.digest.replica.lacks) this.#catchUp(follower, member, nowMs)
    }
  }

  #catchUp(follower: Member, publisher: Member, nowMs: number): void {
    const want = follower.peers[publisher.index]!.digest.want()
    this.#sent(follower, 'want', want.length, 1)
    const answer = publisher.protocol.answer(want, true)
    let more = true
    while (more) more = answer.work(Infinity, nowMs)
    for (const { frame, kind } of answer.frames(nowMs)) {
      this.#sent(publisher, kind, frame.length, 1)
      this.#deliver(frame, publisher, follower, nowMs)
    }
  }

  #deliver(frame: Uint8Array, publisher: Member, follower: Member, nowMs: number): void {
    const { digest, index } = follower.peers[publisher.index]!
    follower.protocol.receive(index, frame, nowMs)
    let more = true
    while (more) more = digest.work(nowMs)
  }

  #sent(member: Member, frame: DigestFrameKind, frameBytes: number, count: number): void {
    if (count > 0) {
      this.#proxies[member.index]!.emit({ kind: 'digest-sent', frame, count, bytes: frameBytes + PREFIX_BYTES })
    }
  }
}

/** Each proxy keeps the others' digests and asks only those that may hold the document. */
export const summaryCache: SchemeKind = {
  create: (settings) => new SummaryCache(settings),
  shares: true,
  messages: ({ interCache }) => interCache,
}
