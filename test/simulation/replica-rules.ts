import { compareNames, formatName, type DigestName } from '../../src/core/digest/digest-name.ts'
import { decodeDigestMessage } from '../../src/core/digest/digest-codec.ts'
import type { DigestMessage } from '../../src/core/digest/digest-message.ts'
import { BitArray } from '../../src/core/filter/bit-array.ts'
import type { StateHead } from '../../src/core/digest/state-head.ts'
import { isConsulted, type PeerState } from '../../src/core/peers/peer-table.ts'
import { MalformedMessageError } from '../../src/core/protocol/malformed-message-error.ts'
import { PEER_TIMEOUT_MS } from '../../src/sim/simulation.ts'
import type { VirtualProxy } from '../../src/sim/virtual-proxy.ts'
import { equalWords, type PublishedState, type PublishedStates } from './published-states.ts'
import type { Findings } from './rule-broken.ts'

const MAX_WAITING = 64
const MAX_FILL = 0.9
/** Positions between two looks at a replica that is being built. */
const LOOK_EVERY = 16

/** What is known of one replica from what has come, and not from itself. */
interface Watched {
  readonly state: PeerState
  readonly sinceMs: number
  /** Of the frames that came as they were sent. */
  highestIncarnation: number
  lastHeardMs: number
  /** The latest state of that life that was heard of, unless the publisher has said since that it is where we are. */
  latestHeard: DigestName | undefined
  /** Infinity: it is not known to have left. */
  leftAtMs: number
  /** The peer is set aside, visibly. */
  isRefused: boolean
  /** A frame that breaks its format has come in this step. */
  hasBadFrame: boolean
  lastName: DigestName | undefined
  checked: StateHead | undefined
  published: PublishedState | undefined
}

/** Rules 1, 2, 4, 8 and 9, for the replicas that a proxy keeps. */
export class ReplicaRules {
  readonly #findings: Findings
  readonly #states: PublishedStates
  readonly #heartbeatMs: number
  readonly #watched = new Map<VirtualProxy, Map<string, Watched>>()

  constructor(findings: Findings, states: PublishedStates, heartbeatMs: number) {
    this.#findings = findings
    this.#states = states
    this.#heartbeatMs = heartbeatMs
  }

  stopped(proxy: VirtualProxy): void {
    this.#watched.delete(proxy)
  }

  left(follower: VirtualProxy, peer: string): void {
    this.#watched.get(follower)?.delete(peer)
  }

  arrived(follower: VirtualProxy, from: string, frame: Uint8Array, isWhole: boolean, nowMs: number): void {
    const watched = this.#of(follower, from)
    if (watched === undefined) return
    watched.lastHeardMs = nowMs
    const message = messageOf(frame, follower.maxBitCount)
    if (message === undefined) watched.hasBadFrame = true
    if (message === undefined || message.kind === 'want') return
    const isGoodbye = message.kind === 'goodbye'
    // A digest that claims everything is refused, whatever it is called.
    if (!isGoodbye && message.state.setBitCount > MAX_FILL * message.state.geometry.bitCount) return
    const name = isGoodbye ? message.name : message.state.name
    const held = watched.state.digest.replica.name
    // Names are never damaged, so this is said even where the counts are.
    if (message.kind === 'heartbeat' && held !== undefined && compareNames(name, held) === 0) watched.latestHeard = name
    if (!isWhole) return
    const { latestHeard } = watched
    if (latestHeard === undefined || compareNames(name, latestHeard) > 0) watched.latestHeard = name
    // What comes late of a life that is over says nothing of the present one.
    if (name.incarnation < watched.highestIncarnation) return
    watched.highestIncarnation = name.incarnation
    watched.leftAtMs = isGoodbye ? nowMs : Infinity
  }

  refused(follower: VirtualProxy, peer: string): void {
    const watched = this.#of(follower, peer)
    if (watched !== undefined) watched.isRefused = true
  }

  connected(follower: VirtualProxy, peer: string): void {
    const watched = this.#of(follower, peer)
    if (watched !== undefined) watched.isRefused = false
  }

  /** A question is about to go to a peer. */
  asked(follower: VirtualProxy, peer: string, nowMs: number): void {
    const watched = this.#of(follower, peer)
    if (watched === undefined) return this.#findings.add(9, `${follower.name} asks ${peer}, which it does not follow`)
    // The second to be asked was consulted before the first one was waited for; it may have left and come back since.
    if (watched.sinceMs > nowMs - PEER_TIMEOUT_MS) return
    this.#checkConsulted(follower, watched, nowMs - PEER_TIMEOUT_MS)
  }

  /** After a step of the proxy. */
  check(follower: VirtualProxy, nowMs: number): void {
    for (const { peer } of follower.protocol.peers.all()) {
      const watched = this.#of(follower, peer.name)!
      this.#checkState(follower, watched)
      this.#checkBounds(follower, watched)
      if (isConsulted(watched.state, nowMs)) this.#checkConsulted(follower, watched, nowMs)
    }
  }

  /** Does the follower hold what its peer published last? Undefined: yes, else why not. */
  lag(follower: VirtualProxy, publisher: VirtualProxy, nowMs: number): string | undefined {
    const state = follower.protocol.peers.named(publisher.name)
    if (state === undefined) return 'it does not follow it'
    const { replica } = state.digest
    const held = replica.name === undefined ? 'nothing' : formatName(replica.name)
    const { name } = publisher.protocol.publisher
    if (replica.name === undefined || compareNames(replica.name, name) !== 0) return `it holds ${held}`
    if (!state.isConnected) return 'its stream is broken'
    if (!state.digest.isProved(nowMs)) return `${held} is not proved`
    return replica.lacks ? `it believes that something follows ${held}` : undefined
  }

  #checkState(follower: VirtualProxy, watched: Watched): void {
    const { peer, digest } = watched.state
    const { state } = digest
    const who = `${follower.name}'s replica of ${peer.name}`
    if (state === undefined) {
      watched.checked = undefined
      watched.lastName = undefined
      return
    }
    const name = formatName(state.name)
    if (state !== watched.checked) {
      watched.checked = state
      watched.published = this.#states.find(peer.name, state.name)
      const { lastName } = watched
      const isForward = lastName === undefined || compareNames(state.name, lastName) >= 0
      this.#findings.expect(isForward, 2, () => `${who} goes back from ${formatName(lastName!)} to ${name}`)
      watched.lastName = state.name
      this.#checkClaims(who, watched)
    }
    const isYoung = watched.isRefused || state.name.incarnation >= watched.highestIncarnation
    this.#findings.expect(isYoung, 9, () => `${who} is ${name}, of a life that is over`)
    const { latestHeard, published } = watched
    const isBehind = latestHeard !== undefined && compareNames(state.name, latestHeard) < 0
    const isAfterMore = !isBehind || watched.isRefused || digest.replica.lacks || digest.replica.hasWork
    this.#findings.expect(
      isAfterMore,
      2,
      () => `${who} is ${name} and asks for nothing, ${formatName(latestHeard!)} being there`,
    )
    if (published === undefined) return this.#findings.add(1, `${who} is ${name}, which was never published`)
    const isSameGeometry =
      state.geometry.bitCount === published.bitCount && state.geometry.probeCount === published.probeCount
    this.#findings.expect(isSameGeometry, 1, () => `${who} has another geometry than ${name} had`)
    this.#findings.expect(this.#isExact(watched, published), 1, () => `${who} is not bit for bit ${name}`)
  }

  #isExact({ state: { digest } }: Watched, { words }: PublishedState): boolean {
    const bits = digest.replica.bits!
    if (bits instanceof BitArray) return equalWords(bits.words, words)
    return words.every((word, i) => word === bits.word(i))
  }

  #isOnTheWay(watched: Watched, published: PublishedState): boolean {
    if (this.#isExact(watched, published)) return true
    const latest = this.#states.latestOf(watched.state.peer.name, published.name)
    const bits = watched.state.digest.replica.bits!
    return published.words.every((word, i) => {
      const seen = bits.word(i)
      return (word & ~seen) === 0 && (seen & ~latest.words[i]!) === 0
    })
  }

  #checkClaims(who: string, { published, state: { digest } }: Watched): void {
    for (const key of published?.claimed ?? []) {
      const { replica } = digest
      this.#findings.expect(replica.mayContain(key), 2, () => `${who} does not claim ${key.url}, which was claimed`)
    }
  }

  #checkBounds(follower: VirtualProxy, watched: Watched): void {
    const { digest, peer } = watched.state
    const { waiting } = digest.replica
    const who = `${follower.name}, of ${peer.name},`
    this.#findings.expect(waiting.count <= MAX_WAITING, 8, () => `${who} lets ${waiting.count} changes wait`)
    this.#findings.expect(waiting.bytes <= follower.maxFrameBytes, 8, () => `${who} lets ${waiting.bytes} bytes wait`)
    if (!watched.hasBadFrame) return
    watched.hasBadFrame = false
    this.#findings.expect(watched.isRefused, 8, () => `${who} takes a frame that is none and sets nobody aside`)
  }

  #checkConsulted(follower: VirtualProxy, watched: Watched, nowMs: number): void {
    const { peer } = watched.state
    const who = `${follower.name} consults ${peer.name}`
    const silentMs = nowMs - watched.lastHeardMs
    this.#findings.expect(silentMs <= 3 * this.#heartbeatMs, 9, () => `${who}, silent for ${Math.round(silentMs)} ms`)
    this.#findings.expect(nowMs < watched.leftAtMs, 9, () => `${who}, which has said goodbye`)
  }

  #of(follower: VirtualProxy, peer: string): Watched | undefined {
    const state = follower.protocol.peers.named(peer)
    if (state === undefined) return undefined
    let byPeer = this.#watched.get(follower)
    if (byPeer === undefined) this.#watched.set(follower, (byPeer = new Map()))
    const known = byPeer.get(peer)
    if (known?.state === state) return known
    const watched: Watched = {
      state,
      sinceMs: follower.clock.monotonicMs(),
      highestIncarnation: 0,
      lastHeardMs: -Infinity,
      latestHeard: undefined,
      leftAtMs: Infinity,
      isRefused: false,
      hasBadFrame: false,
      lastName: undefined,
      checked: undefined,
      published: undefined,
    }
    byPeer.set(peer, watched)
    this.#lookInto(follower, watched)
    return watched
  }

  /** Rule 4: a reader looks at the replica again and again while it is being built, and finds a state that was published. */
  #lookInto(follower: VirtualProxy, watched: Watched): void {
    const { replica } = watched.state.digest
    const work = replica.work.bind(replica)
    replica.work = (maxPositions) => {
      for (let left = maxPositions; ; left -= LOOK_EVERY) {
        const more = work(Math.min(left, LOOK_EVERY))
        const { state } = replica
        if (state !== undefined) {
          const published = this.#states.find(watched.state.peer.name, state.name)
          // A delta's bits rise one by one: every look finds all of the old state's, and none but the new one's.
          const isWhole = published !== undefined && this.#isOnTheWay(watched, published)
          this.#findings.expect(isWhole, 4, () => {
            return `a reader of ${follower.name}'s replica of ${watched.state.peer.name} sees a mixture, ${formatName(state.name)}`
          })
        }
        if (!more || left <= LOOK_EVERY) return more
      }
    }
  }
}

/** What a follower would take the frame for; undefined: it breaks its format. */
function messageOf(frame: Uint8Array, maxBitCount: number): DigestMessage | undefined {
  try {
    return decodeDigestMessage(frame, { maxBitCount })
  } catch (error) {
    if (!(error instanceof MalformedMessageError)) throw error
    return undefined
  }
}
