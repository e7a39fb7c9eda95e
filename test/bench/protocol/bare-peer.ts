import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SystemClock } from '../../../src/adapters/system/system-clock.ts'
import { SystemRandom } from '../../../src/adapters/system/system-random.ts'
import { DigestHttp } from '../../../src/adapters/transport/digest-http.ts'
import { maxFrameBytes } from '../../../src/core/digest/digest-codec.ts'
import type { ClaimSource } from '../../../src/core/filter/claim-source.ts'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import type { KeyHash } from '../../../src/core/filter/key-hash.ts'
import { cacheKey } from '../../../src/core/http/cache-key.ts'
import type { UpdateProfile } from '../../../src/core/protocol/update-policy.ts'
import { DEFAULT_UPDATE_OPTIONS, UPDATE_PROFILES } from '../../../src/core/protocol/update-policy.ts'
import { SummaryCacheProtocol } from '../../../src/core/protocol/summary-cache-protocol.ts'
import { DigestExchange } from '../../../src/proxy/digest-exchange.ts'
import { EventFanOut } from '../../../src/proxy/event-fan-out.ts'
import { PROTOCOL_VERSIONS } from '../../../src/proxy/ports.ts'

const PREFIX = '/.well-known/summary-cache/'
const HEARTBEAT_MS = 5_000

/** The keys of a directory without responses: numbers from `oldest` to `newest`, as many at all times. */
export class SlidingKeys implements ClaimSource {
  readonly #of: string
  readonly #count: number
  readonly #claim: (key: KeyHash, slot: number) => void
  readonly #unclaim: (key: KeyHash, slot: number) => void
  #next = 0

  constructor(of: string, count: number, protocol: SummaryCacheProtocol) {
    this.#of = of
    this.#count = count
    this.#claim = (key, slot) => protocol.claimed(key, slot)
    this.#unclaim = (key, slot) => protocol.unclaimed(key, slot)
    protocol.rebuildFrom(this)
    for (let i = 0; i < count; i++) this.#claim(this.key(this.#next++), i)
  }

  get slotCount(): number {
    return this.#count
  }

  get newest(): number {
    return this.#next - 1
  }

  key(number: number): KeyHash {
    return cacheKey(`http://${this.#of}.example/${number}`)
  }

  forEachClaim(fromSlot: number, toSlot: number, visit: (key: KeyHash) => void): void {
    for (let slot = fromSlot; slot < toSlot; slot++) visit(this.key(this.#numberIn(slot)))
  }

  /** So many inserted, and as many of the oldest evicted. */
  slide(count: number): void {
    for (let i = 0; i < count; i++) {
      const slot = this.#next % this.#count
      this.#unclaim(this.key(this.#next - this.#count), slot)
      this.#claim(this.key(this.#next++), slot)
    }
  }

  #numberIn(slot: number): number {
    const newest = this.#next - 1
    return newest - ((newest - slot) % this.#count)
  }
}

/** A proxy's part in the digest protocol, without its cache: real frames over real sockets. */
export interface BarePeer {
  readonly name: string
  readonly url: string
  readonly protocol: SummaryCacheProtocol
  readonly exchange: DigestExchange
  readonly events: EventFanOut
  stop(): Promise<void>
}

/** @param objects answers what is asked of its store */
export async function startBarePeer(
  name: string,
  expectedEntries: number,
  profile: UpdateProfile,
  objects?: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<BarePeer> {
  const clock = new SystemClock()
  const events = new EventFanOut()
  const geometry = geometryFor(expectedEntries)
  const limits = { maxBitCount: 16 * geometry.bitCount }
  const protocol = new SummaryCacheProtocol(
    {
      ...limits,
      incarnation: clock.wallMs(),
      geometry,
      policy: UPDATE_PROFILES[profile](DEFAULT_UPDATE_OPTIONS),
      pendingClearShare: 0.03,
      generationAgeMs: 86_400_000,
      heartbeatMs: HEARTBEAT_MS,
    },
    clock.monotonicMs(),
  )
  const transport = new DigestHttp({
    name,
    heartbeatMs: HEARTBEAT_MS,
    maxFrameBytes: maxFrameBytes(limits),
    prefix: PREFIX,
    clock,
    events,
    versions: PROTOCOL_VERSIONS,
  })
  const exchange = new DigestExchange({
    protocol,
    transport,
    clock,
    random: new SystemRandom(),
    events,
    maxFrameBytes: maxFrameBytes(limits),
    expire: () => undefined,
  })
  const routes = transport.routes(exchange, () => '{}')
  const server = createServer((request, response) => {
    if (objects !== undefined && request.url?.startsWith('/') === false) objects(request, response)
    else void routes(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  exchange.start()
  return {
    name,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    protocol,
    exchange,
    events,
    async stop() {
      exchange.stop()
      await transport.close()
      server.close()
      server.closeAllConnections()
    },
  }
}
