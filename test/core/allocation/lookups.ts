// Run by allocation.test.ts in a process of its own, which traces its garbage collections: does a lookup allocate?
import { ReplicaTable } from '../../../src/core/digest/replica-table.ts'
import { Replica } from '../../../src/core/digest/replica.ts'
import { FILTER_KINDS } from '../../../src/core/filter/filter-kinds.ts'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import { KeyHashList } from '../../../src/core/filter/key-hash-list.ts'
import { KeyHasher } from '../../../src/core/filter/key-hasher.ts'
import { Summary } from '../../../src/core/filter/summary.ts'
import { TestPublisher, decoded, finish, limits } from '../digest/test-publisher.ts'

const LOOKUPS = 300_000
const KEYS = 1000
const encoder = new TextEncoder()
const bytes = new Uint8Array(64 * KEYS)
for (let i = 0; i < KEYS; i++) encoder.encodeInto(`http://www.example.com/${i}`.padEnd(40, '.'), bytes.subarray(64 * i))
const view = new DataView(bytes.buffer)

/** What a tenth of a second of allocating would have collected: the lookups are made twice, the second time counted. */
function measure(name: string, lookUp: (at: number) => boolean | number): void {
  let found = 0
  for (let i = 0; i < LOOKUPS; i++) found += Number(lookUp(64 * (i % KEYS)))
  process.stdout.write(`begin ${name}\n`)
  for (let i = 0; i < LOOKUPS; i++) found += Number(lookUp(64 * (i % KEYS)))
  process.stdout.write(`end ${name} ${found}\n`)
}

function clusterOf(peers: number, slicedFrom: number): ReplicaTable {
  const table = new ReplicaTable({ slicedFrom })
  for (let peer = 0; peer < peers; peer++) {
    const replica = new Replica({ ...limits, makeBuffers: (state) => table.buffersFor(peer, state) })
    table.set(peer, replica)
    // The last one's digest is larger, and folded onto the others' matrix where there is one.
    const publisher = new TestPublisher(geometryFor(peer === peers - 1 ? 200 : 100))
    publisher.add(`http://www.example.com/${peer}`.padEnd(40, '.')).delta()
    replica.receive(decoded(publisher.snapshot()))
    finish(replica)
  }
  return table
}

const hashers = {
  MurmurHash3: KeyHasher.murmur3(),
  MD5: KeyHasher.md5(7),
  SipHash: KeyHasher.siphash(new Uint8Array(16), 1),
}
for (const [name, hasher] of Object.entries(hashers)) {
  measure(`hash by ${name}`, (at) => hasher.hash(view, at, at + 40).h0 & 1)
}
const hasher = hashers.MurmurHash3
const keys = new KeyHashList()
for (let i = 0; i < KEYS / 2; i++) keys.push(hasher.hash(view, 64 * i, 64 * i + 40))
for (const kind of FILTER_KINDS) {
  const filter = kind.build(keys, 0.01, hasher.hashing)
  measure(kind.name, (at) => filter.mayContain(hasher.hash(view, at, at + 40)))
}
const summary = new Summary(geometryFor(KEYS))
measure('summary', (at) => summary.mayContain(hasher.hash(view, at, at + 40)))
measure('published summary', (at) => summary.publishedMayContain(hasher.hash(view, at, at + 40)))
const out = new Uint32Array(20)
const alone = clusterOf(20, 99)
measure('peers one by one', (at) => alone.candidates(hasher.hash(view, at, at + 40), out))
const sliced = clusterOf(20, 4)
measure('peers in a matrix, one folded', (at) => sliced.candidates(hasher.hash(view, at, at + 40), out))
