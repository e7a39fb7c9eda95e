import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BloomFilter } from '../../src/core/filter/bloom-filter.ts'
import { decodeFilter } from '../../src/core/filter/filter-format.ts'
import { geometryFor } from '../../src/core/filter/filter-geometry.ts'
import { cacheKey } from '../../src/core/http/cache-key.ts'
import { TRANSPORT_NAMES, type TransportName } from '../../src/core/peers/transport-kinds.ts'
import { SummaryCacheProtocol } from '../../src/core/protocol/summary-cache-protocol.ts'
import { UPDATE_PROFILES } from '../../src/core/protocol/update-policy.ts'
import { bitsOf } from '../core/digest/test-publisher.ts'
import { answered } from '../core/protocol/driving.ts'
import { HandClock, PaperEnd, REFRESH_MS } from '../proxy/paper-wire.ts'

// What the proxy relies on, whatever carries the digests: a wire that loses, repeats, reorders and alters messages, and
// strangers on it, do no harm that lasts. Every transport is run through it.

/** A publisher and a follower, and between them a wire that the test has in its hands. */
interface Rig {
  claim(url: string): void
  unclaim(url: string): void
  /** What is unpublished goes onto the wire, as messages. */
  publish(): Promise<readonly Uint8Array[]>
  /** A message reaches the follower as the publisher's. */
  deliver(message: Uint8Array): Promise<void>
  /** The same from somebody whom the follower does not know. */
  deliverFromStranger(message: Uint8Array): Promise<void>
  /** The wire is well again: the follower has what it asks for. */
  mend(): Promise<void>
  claims(url: string): boolean
  /** Whether the follower's replica equals, bit for bit, what was published. */
  isExact(): boolean
  /** From this byte on the wire may alter a message: what is before it, it carries as it is. */
  readonly alterableFrom: number
}

const rigs: Readonly<Record<TransportName, () => Promise<Rig>>> = { http: httpRig, 'dir-update': dirUpdateRig }

const urls = (count: number) => Array.from({ length: count }, (_, n) => `http://origin.example/${n}`)

describe.each(TRANSPORT_NAMES)('transport %s', (name) => {
  const start = rigs[name]

  test('what is published is claimed, and nothing before', async () => {
    const rig = await start()
    const [one, other] = urls(2)
    rig.claim(one!)
    const messages = await rig.publish()
    expect(rig.claims(one!)).toBe(false)
    for (const message of messages) await rig.deliver(message)
    expect([rig.claims(one!), rig.claims(other!)]).toEqual([true, false])
    expect(rig.isExact()).toBe(true)
  })

  test('a lost message is mended', async () => {
    const rig = await start()
    const [lost, seen] = urls(2)
    rig.claim(lost!)
    await rig.publish()
    rig.claim(seen!)
    for (const message of await rig.publish()) await rig.deliver(message)
    await rig.mend()
    expect([rig.claims(lost!), rig.claims(seen!), rig.isExact()]).toEqual([true, true, true])
  })

  test('a repeated message changes nothing', async () => {
    const rig = await start()
    for (const url of urls(50)) rig.claim(url)
    const messages = await rig.publish()
    for (const message of [...messages, ...messages]) await rig.deliver(message)
    expect(rig.isExact()).toBe(true)
  })

  test('messages out of order do no harm that lasts', async () => {
    const rig = await start()
    const messages: Uint8Array[] = []
    for (const url of urls(6)) {
      rig.claim(url)
      messages.push(...(await rig.publish()))
      rig.unclaim(url)
      messages.push(...(await rig.publish()))
    }
    for (const message of messages.toReversed()) await rig.deliver(message)
    await rig.mend()
    expect(rig.isExact()).toBe(true)
  })

  test('arbitrary bytes, and messages that were altered, do no harm that lasts', async () => {
    const rig = await start()
    for (const url of urls(20)) rig.claim(url)
    const messages = await rig.publish()
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 80 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        async (noise, at, flip) => {
          await rig.deliver(noise)
          const altered = messages[at % messages.length]!.slice()
          altered[rig.alterableFrom + (at % (altered.length - rig.alterableFrom))]! ^= flip
          await rig.deliver(altered)
        },
      ),
      { numRuns: 50 },
    )
    await rig.mend()
    expect(rig.isExact()).toBe(true)
  })

  test('a stranger says nothing that is heard', async () => {
    const rig = await start()
    rig.claim('http://origin.example/0')
    for (const message of await rig.publish()) await rig.deliverFromStranger(message)
    expect(rig.claims('http://origin.example/0')).toBe(false)
  })

  test('whatever happens on the wire, once it is well again the replica is exact', async () => {
    const event = fc.record({
      what: fc.constantFrom('change', 'change', 'change', 'publish', 'deliver', 'deliver', 'lose', 'alter', 'mend'),
      n: fc.nat(30),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
        const rig = await start()
        const held = new Set<string>()
        const flying: Uint8Array[] = []
        for (const { what, n } of events) {
          const url = `http://origin.example/${n}`
          if (what === 'change' && held.delete(url)) rig.unclaim(url)
          else if (what === 'change') {
            held.add(url)
            rig.claim(url)
          } else if (what === 'publish') flying.push(...(await rig.publish()))
          else if (what === 'mend') await rig.mend()
          else if (flying.length > 0) {
            const at = n % flying.length
            const message = what === 'lose' ? flying.splice(at, 1)[0]! : flying[at]!
            if (what === 'alter')
              await rig.deliver(message.map((byte, i) => (i === rig.alterableFrom + n ? byte ^ 0x10 : byte)))
            else if (what === 'deliver') await rig.deliver(message)
          }
        }
        await rig.publish()
        await rig.mend()
        expect(rig.isExact()).toBe(true)
        expect([...held].every((url) => rig.claims(url))).toBe(true)
      }),
      { numRuns: 25 },
    )
  })
})

/** Of a frame: magic, version, type, flags, and the name (docs/protocol.md). */
const NAMED_HEADER_BYTES = 22

async function httpRig(): Promise<Rig> {
  const geometry = geometryFor(200)
  const protocol = (incarnation: number) =>
    new SummaryCacheProtocol(
      {
        incarnation,
        geometry,
        policy: UPDATE_PROFILES.fresh(),
        pendingClearShare: 0.03,
        generationAgeMs: 86_400_000,
        heartbeatMs: 5_000,
        maxBitCount: 16 * geometry.bitCount,
      },
      0,
    )
  const [publisher, follower] = [protocol(1), protocol(2)]
  const { digest } = follower.peers.add({ name: 'a', url: 'http://a' })!
  const { replica } = digest
  const built = () => {
    while (digest.work(0)) continue
  }
  const mend = async () => {
    for (const { frame } of answered(publisher, digest.want(), 0)) follower.receive(0, frame, 0)
    built()
  }
  await mend()
  return {
    claim: (url) => publisher.claimed(cacheKey(url), 0),
    unclaim: (url) => publisher.unclaimed(cacheKey(url), 0),
    publish: async () => {
      const due = publisher.publisher.publish(0, 'command')
      return due === undefined ? [] : [due.frame]
    },
    deliver: async (message) => {
      follower.receive(0, message, 0)
      built()
    },
    deliverFromStranger: async (message) => {
      follower.receive(1, message, 0)
    },
    mend,
    claims: (url) => replica.mayContain(cacheKey(url)),
    isExact: () => bitsOf(replica)!.equals(publisher.publisher.summary.published),
    // TCP alters nothing; a publisher that says another name than its own speaks of another state.
    alterableFrom: NAMED_HEADER_BYTES,
  }
}

async function dirUpdateRig(): Promise<Rig> {
  const clock = new HandClock()
  const [publisher, follower] = [new PaperEnd(clock, 1_000), new PaperEnd(clock)]
  publisher.exchange.follow({ name: 'b', url: 'http://b', transport: 'dir-update', updates: 'b:3130' })
  follower.follow('a', publisher)
  await clock.advance(100)
  for (const greeting of publisher.takeSent()) follower.datagrams.arrive('a', greeting)
  const replica = follower.peers.at(0)!.paper!
  return {
    claim: (url) => publisher.publisher.claimed(cacheKey(url)),
    unclaim: (url) => publisher.publisher.unclaimed(cacheKey(url)),
    publish: async () => {
      publisher.exchange.publish()
      await clock.advance(50)
      return publisher.takeSent()
    },
    deliver: async (message) => follower.datagrams.arrive('a', message),
    deliverFromStranger: async (message) => follower.datagrams.arrive('nobody', message),
    mend: () => clock.advance(REFRESH_MS + 100),
    claims: (url) => follower.peers.isClaimed(follower.peers.at(0)!, cacheKey(url)),
    isExact: () => {
      const { filter } = publisher.publisher.snapshot()
      return replica.bits!.equals(BloomFilter.load(decodeFilter(filter)).bits)
    },
    alterableFrom: 0,
  }
}
