import { afterEach, expect, test } from 'vitest'
import { decodeDigestMessage } from '../../src/core/digest/digest-codec.ts'
import { Replica } from '../../src/core/digest/replica.ts'
import { startBarePeer, SlidingKeys, type BarePeer } from '../bench/protocol/bare-peer.ts'

const COUNT = 64
const ENTRIES = 1_000

let peers: BarePeer[] = []
afterEach(async () => {
  await Promise.all(peers.map((peer) => peer.stop()))
  peers = []
})

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

/** How many replicas stand where their publishers do. */
function exactCount(): number {
  let count = 0
  for (const follower of peers) {
    for (const { digest, peer } of follower.protocol.peers.all()) {
      const publisher = peers.find(({ name }) => name === peer.name)!.protocol.publisher
      const { name } = publisher
      const held = digest.state
      if (held?.name.generation === name.generation && held.name.sequence === name.sequence) count++
    }
  }
  return count
}

test('64 proxies on loopback reach the same replicas everywhere within two seconds of the last change', async () => {
  peers = await Promise.all(Array.from({ length: COUNT }, (_, i) => startBarePeer(`p${i}`, ENTRIES, 'balanced')))
  const keys = peers.map((peer) => new SlidingKeys(peer.name, ENTRIES / 2, peer.protocol))
  for (const follower of peers) {
    for (const peer of peers) if (peer !== follower) follower.exchange.follow({ name: peer.name, url: peer.url })
  }
  while (exactCount() < COUNT * (COUNT - 1)) await pause(250)

  for (let round = 0; round < 100; round++) {
    for (const each of keys) each.slide(2)
    await pause(100)
  }
  const lastChangeMs = performance.now()
  for (const each of keys) each.slide(1)
  const isPublished = (): boolean =>
    peers.every(({ protocol }) => protocol.publisher.summary.openChangeCount === 0 && !protocol.publisher.hasWork)
  while (!isPublished() || exactCount() < COUNT * (COUNT - 1)) {
    expect(performance.now() - lastChangeMs).toBeLessThan(60_000)
    await pause(20)
  }
  const elapsedMs = performance.now() - lastChangeMs
  process.stderr.write(`all ${COUNT * (COUNT - 1)} replicas after ${Math.round(elapsedMs)} ms\n`)
  expect(elapsedMs).toBeLessThan(2_000)

  // Bit for bit, of a sample.
  for (const [i, { protocol }] of peers.entries()) {
    const { publisher } = protocol
    while (publisher.encodeSnapshot(10_000, performance.now())) continue
    const whole = new Replica({ maxBitCount: 2 ** 20 })
    whole.receive(decodeDigestMessage(publisher.keptSnapshot()!.frame, { maxBitCount: 2 ** 20 }))
    while (whole.work(100_000)) continue
    const follower = peers[(i + 7) % COUNT]!
    const held = follower.protocol.peers.named(`p${i}`)!.digest.replica
    const words = whole.bits!.bitCount / 32
    for (let w = 0; w < words; w++) expect(held.bits!.word(w)).toBe(whole.bits!.word(w))
  }
})
