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

/** A hash that is read from where it lies, so that going through many makes no garbage. */
class HashInSlot implements KeyHash {
  h0 = 0
  h1 = 0
  h2 = 0
  h3 = 0

  read(hashes: Int32Array, slot: number): this {
    this.h0 = hashes[4 * slot]!
    this.h1 = hashes[4 * slot + 1]!
    this.h2 = hashes[4 * slot + 2]!
    this.h3 = hashes[4 * slot + 3]!
    return this
  }
}

/** The keys of a directory without responses: as many at all times, the oldest of which makes room for the next. */
export class SlidingKeys implements ClaimSource {
  readonly slotCount: number
  readonly #of: string
  readonly #protocol: SummaryCacheProtocol
  readonly #hashes: Int32Array
  readonly #hash = new HashInSlot()
  #next = 0

  constructor(of: string, count: number, protocol: SummaryCacheProtocol) {
    this.slotCount = count
    this.#of = of
    this.#protocol = protocol
    this.#hashes = new Int32Array(4 * count)
    protocol.rebuildFrom(this)
    for (let i = 0; i < count; i++) this.#insert(i)
  }

  /** Its number. */
  get newest(): number {
    return this.#next - 1
  }

  key(number: number): KeyHash {
    return cacheKey(`http://${this.#of}.example/${number}`)
  }

  forEachClaim(fromSlot: number, toSlot: number, visit: (key: KeyHash) => void): void {
    for (let slot = fromSlot; slot < toSlot; slot++) visit(this.#hash.read(this.#hashes, slot))
  }

  /** So many inserted, and as many of the oldest evicted. */
  slide(count: number): void {
    for (let i = 0; i < count; i++) {
      const slot = this.#next % this.slotCount
      this.#protocol.unclaimed(this.#hash.read(this.#hashes, slot), slot)
      this.#insert(slot)
    }
  }

  #insert(slot: number): void {
    const { h0, h1, h2, h3 } = this.key(this.#next++)
    this.#hashes.set([h0, h1, h2, h3], 4 * slot)
    this.#protocol.claimed(this.#hash.read(this.#hashes, slot), slot)
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
