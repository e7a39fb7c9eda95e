import type { RequestHead } from '../core/http/message-head.ts'
import type { Reply } from '../proxy/reply.ts'
import type { Plan } from './faults.ts'
import type { OriginAnswer, SimOrigin } from './sim-origin.ts'
import type { ProxyWitness, VirtualProxy } from './virtual-proxy.ts'
import type { VirtualTime } from './virtual-time.ts'

/** By which a client's request is known, wherever it goes. */
export const REQUEST_FIELD = 'Request-Number'

/** What can be looked at. */
export interface SimulatedWorld {
  readonly plan: Plan
  readonly time: VirtualTime
  readonly origin: SimOrigin
  /** Those that run now. */
  readonly proxies: readonly VirtualProxy[]
}

/** A client's request, while it is under way and after. */
export interface ClientRequest {
  readonly id: number
  readonly proxy: VirtualProxy
  readonly head: RequestHead
  readonly startMs: number
  /** When the client goes away; Infinity: it waits. */
  readonly goneMs: number
}

/** Who looks at all of it. What it finds wrong it throws in `stepped` or `ended`, or tells to nobody. */
export interface SimulationWitness extends ProxyWitness {
  /** Before anything happens. */
  begins(world: SimulatedWorld): void
  started(proxy: VirtualProxy): void
  stopped(proxy: VirtualProxy): void
  /** `follower` is to follow the peer of that name from now on, or no longer. */
  membersChanged(follower: VirtualProxy, peer: string, isMember: boolean): void
  originAnswered(answer: OriginAnswer): void
  requested(request: ClientRequest): void
  replied(request: ClientRequest, reply: Reply<number>): void
  /** Everything that a timer of `owner` has set going has come to rest. */
  stepped(owner: number): void
  /** All faults are over since `sinceMs`. False: it is to go on. */
  hasConverged(sinceMs: number): boolean
  ended(): void
}
