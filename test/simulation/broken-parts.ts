import { decodeDigestMessage } from '../../src/core/digest/digest-codec.ts'
import type { DeltaMessage, DigestMessage } from '../../src/core/digest/digest-message.ts'
import { GapDecoder } from '../../src/core/digest/gap-code.ts'
import type { CacheKey } from '../../src/core/http/cache-key.ts'
import type { PeerState } from '../../src/core/peers/peer-table.ts'
import type { Received } from '../../src/core/protocol/followed-digest.ts'
import { MalformedMessageError } from '../../src/core/protocol/malformed-message-error.ts'
import { SummaryCacheProtocol, type ProtocolOptions } from '../../src/core/protocol/summary-cache-protocol.ts'
import type { VirtualProxySeams } from '../../src/sim/virtual-proxy.ts'

/** What a follower does with a frame, in the place of what it should. */
type Receive = (peer: PeerState, frame: Uint8Array, receive: () => Received | undefined) => Received | undefined

class BrokenFollower extends SummaryCacheProtocol {
  readonly #receive: Receive

  constructor(options: ProtocolOptions, nowMs: number, receive: Receive) {
    super(options, nowMs)
    this.#receive = receive
  }

  override receive(peerIndex: number, frame: Uint8Array, nowMs: number): Received | undefined {
    const take = (): Received | undefined => super.receive(peerIndex, frame, nowMs)
    const peer = this.peers.at(peerIndex)
    return peer === undefined ? take() : this.#receive(peer, frame, take)
  }
}

function follower(receive: Receive): VirtualProxySeams {
  return { protocol: (options, nowMs) => new BrokenFollower(options, nowMs, receive) }
}

function publisher(breakIt: (protocol: SummaryCacheProtocol) => void): VirtualProxySeams {
  return {
    protocol: (options, nowMs) => {
      const protocol = new SummaryCacheProtocol(options, nowMs)
      breakIt(protocol)
      return protocol
    },
  }
}

/** Raises the delta's bits, whether or not that leads to what it says. */
function raise({ digest }: PeerState, { setBits, state }: DeltaMessage): void {
  const bits = digest.replica.bits!
  if (state.geometry.bitCount !== bits.bitCount) return
  const positions = new Uint32Array(setBits.count)
  new GapDecoder(setBits.bytes, setBits.count, bits.bitCount).next(positions, positions.length)
  for (const position of positions) bits.set(position)
}

/** A delta of the generation that is held; undefined: another frame. */
function deltaOf(frame: Uint8Array, peer: PeerState): DeltaMessage | undefined {
  const { name } = peer.digest.replica
  const message = messageOf(frame, peer)
  if (message?.kind !== 'delta') return undefined
  const { incarnation, generation } = message.state.name
  return name?.incarnation === incarnation && name.generation === generation ? message : undefined
}

/** A delta is raised before it is proved. */
export const raisesUnproved = follower((peer, frame, receive) => {
  const delta = deltaOf(frame, peer)
  if (delta !== undefined) raise(peer, delta)
  return receive()
})

/** A delta that should wait is raised. */
export const raisesOverGaps = follower((peer, frame, receive) => {
  const delta = deltaOf(frame, peer)
  if (delta !== undefined && delta.fromSequence > peer.digest.replica.name!.sequence) raise(peer, delta)
  return receive()
})

/** A heartbeat takes a bit away. */
export const losesBits = follower((peer, _frame, receive) => {
  const received = receive()
  const { bits } = peer.digest.replica
  if (received?.kind !== 'heartbeat' || bits === undefined) return received
  for (let position = 0; position < bits.bitCount; position++) if (bits.clear(position)) break
  return received
})

/** A gap is seen and forgotten. */
export const asksForNothing = follower((peer, _frame, receive) => {
  Object.defineProperty(peer.digest.replica, 'lacks', { get: () => false, configurable: true })
  return receive()
})

/** Each delta goes out with one bit less than the one before. */
export const clearsWithinGenerations = publisher(({ publisher: publishing }) => {
  const publish = publishing.publish.bind(publishing)
  publishing.publish = (nowMs, reason) => {
    const { published } = publishing.summary
    if (publishing.summary.openChangeCount > 0) {
      for (let position = 0; position < published.bitCount; position++) if (published.clear(position)) break
    }
    return publish(nowMs, reason)
  }
})

/** The next state is built where the readers look. */
export const buildsInPlace = follower((peer, _frame, receive) => {
  const received = receive()
  const { buffers } = peer.digest.replica
  if (buffers !== undefined) {
    buffers.idle = () => buffers.active
    buffers.swap = () => undefined
  }
  return received
})

/** A filter that is too full stays as it is. */
export const neverGrows = publisher((protocol) => {
  protocol.rebuildFrom = () => undefined
})

/** Nothing is published before a minute has passed. */
export const publishesLate = publisher((protocol) => {
  const tick = protocol.tick.bind(protocol)
  protocol.tick = (nowMs) => (nowMs < 60_000 ? undefined : tick(nowMs))
})

/** Whatever a peer sends, it is followed on. */
export const setsNobodyAside = follower((_peer, _frame, receive) => {
  const received = receive()
  return received?.refused === undefined ? received : { ...received, refused: undefined }
})

/** What was proved once counts as proved for ever, and its publisher as there. */
export const believesOldProofs = follower((peer, _frame, receive) => {
  const { digest } = peer
  digest.isProved = () => digest.state !== undefined
  Object.defineProperty(peer, 'isConnected', { get: () => true, set() {}, configurable: true })
  return receive()
})

/** A peer that has begun anew is not heard. */
export const keepsOldIncarnations = follower((peer, frame, receive) => {
  const held = peer.digest.replica.name?.incarnation
  const message = messageOf(frame, peer)
  const said = message && ('name' in message ? message.name : 'state' in message ? message.state.name : undefined)
  if (held === undefined || said === undefined || said.incarnation <= held) return receive()
  return { kind: message!.kind, merge: 'stale', lacks: false, refused: undefined }
})

/** One question in three is not counted. */
export function miscounts(): VirtualProxySeams {
  let asked = 0
  return { counts: (event) => event.kind !== 'request-ended' || asked++ % 3 > 0 }
}

/** A peer's 504 is taken for an object. */
export const passesFalseHitsOn: VirtualProxySeams = {
  peerFetch: (fetch) => ({
    fetch: async (peer, request, signal, timeoutMs) => {
      const { head, ...rest } = await fetch.fetch(peer, request, signal, timeoutMs)
      return { ...rest, head: { ...head, fields: head.fields.set('Cache-Status', `${peer.name}; hit`) } }
    },
  }),
}

/** A peer is asked as if by a client: it may ask others, and those us. */
export const sendsPeersOn: VirtualProxySeams = {
  peerFetch: (fetch) => ({
    fetch: (peer, request, signal, timeoutMs) => {
      const fields = request.fields.without(new Set(['cache-control']))
      return fetch.fetch(peer, { ...request, fields }, signal, timeoutMs)
    },
  }),
}

/** Ten times as long as the origin allows. */
export const servesStale: VirtualProxySeams = {
  store: (store) => {
    const reserve = store.reserve.bind(store)
    store.reserve = (key, stored, bodyBytes) => {
      const { facts } = stored
      return reserve(key, { ...stored, facts: { ...facts, lifetimeMs: 10 * facts.lifetimeMs } }, bodyBytes)
    }
    return store
  },
}

/** Every life has the first one's number. */
export const startsAsBefore: VirtualProxySeams = {
  protocol: (options, nowMs) => new SummaryCacheProtocol({ ...options, incarnation: 1_700_000_000_000 }, nowMs),
}

/** What has gone stale is claimed on. */
export const neverExpires: VirtualProxySeams = { expire: () => () => undefined }

/** Each fourth eviction is kept from the summary. */
export function forgetsEvictions(): VirtualProxySeams {
  let evicted = 0
  return {
    claims: (listener) => ({
      claimed: (key: CacheKey, holder) => listener.claimed(key, holder),
      unclaimed: (key: CacheKey, holder) => {
        if (evicted++ % 4 > 0) listener.unclaimed(key, holder)
      },
      moved: (key: CacheKey, from, to) => listener.moved(key, from, to),
    }),
  }
}

/** Every peer is taken for one of our own version. */
export const speaksOneVersion: VirtualProxySeams = {
  transport: (transport) => ({
    broadcast: (frame) => transport.broadcast(frame),
    follow: (peer, want, handler) => {
      return transport.follow(peer, want, {
        opened: () => handler.opened(2),
        frame: (bytes) => handler.frame(bytes),
        closed: (reason) => handler.closed(reason),
      })
    },
    ask: (peer, want, signal) => transport.ask(peer, want, signal),
    readSnapshot: (peer, partial, signal) => transport.readSnapshot(peer, partial, signal),
  }),
}

function messageOf(frame: Uint8Array, { digest }: PeerState): DigestMessage | undefined {
  const { geometry } = digest.state ?? {}
  if (geometry === undefined) return undefined
  try {
    return decodeDigestMessage(frame, { maxBitCount: 2 ** 31, hashing: geometry })
  } catch (error) {
    if (!(error instanceof MalformedMessageError)) throw error
    return undefined
  }
}
