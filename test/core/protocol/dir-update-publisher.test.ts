import { describe, expect, test } from 'vitest'
import { claimFanOut } from '../../../src/core/directory/claim-fan-out.ts'
import { BloomFilter } from '../../../src/core/filter/bloom-filter.ts'
import { decodeFilter } from '../../../src/core/filter/filter-format.ts'
import { cacheKey } from '../../../src/core/http/cache-key.ts'
import { BIT_CLEAR, decodeDirUpdate } from '../../../src/core/protocol/dir-update-message.ts'
import { DirUpdatePublisher } from '../../../src/core/protocol/dir-update-publisher.ts'
import { paperGeometryFor, PaperHasher } from '../../../src/core/protocol/paper-hashing.ts'
import { DEFAULT_UPDATE_OPTIONS, UPDATE_PROFILES } from '../../../src/core/protocol/update-policy.ts'

const MAX_AGE_MS = 60_000
const HEARTBEAT_MS = 300_000

function publisher(expectedEntries = 10_000, firstNumber = 0): DirUpdatePublisher {
  return new DirUpdatePublisher(
    {
      geometry: paperGeometryFor(expectedEntries),
      policy: UPDATE_PROFILES.paper(DEFAULT_UPDATE_OPTIONS),
      maxAgeMs: MAX_AGE_MS,
      heartbeatMs: HEARTBEAT_MS,
      firstNumber,
    },
    0,
  )
}

const key = (n: number) => cacheKey(`http://origin.example/${n}`)

function claim(to: DirUpdatePublisher, from: number, until: number): void {
  for (let n = from; n < until; n++) to.claimed(key(n))
}

describe('when an update is sent', () => {
  test('Summary Cache: when 1 % of the documents are new, and a packet’s worth of them at least', () => {
    const paper = publisher()
    paper.tick(0, 32)
    claim(paper, 0, 89)
    expect(paper.tick(1, 32)).toEqual([])
    claim(paper, 89, 90)
    expect(paper.tick(2, 32)).toHaveLength(1)
    // Of 10,090 documents 1 % are 101.
    claim(paper, 90, 10_000)
    while (paper.tick(3, 32).length > 0) continue
    claim(paper, 10_000, 10_100)
    expect(paper.tick(4, 32)).toEqual([])
    claim(paper, 10_100, 10_102)
    expect(paper.tick(5, 32)).toHaveLength(1)
  })

  test('a change waits no longer than its greatest age, a removal as well', () => {
    const paper = publisher()
    claim(paper, 0, 1)
    paper.tick(MAX_AGE_MS - 1, 32)
    expect(paper.unsentCount).toBe(4)
    expect(paper.tick(MAX_AGE_MS, 32)).toHaveLength(1)
    paper.unclaimed(key(0))
    expect(paper.tick(2 * MAX_AGE_MS - 1, 32)).toEqual([])
    const [update] = paper.tick(2 * MAX_AGE_MS, 32)
    expect(decodeDirUpdate(update!).records.every((record) => record >= BIT_CLEAR)).toBe(true)
  })

  test('one that has nothing to tell says so at its start, and when it has been silent for its interval', () => {
    const paper = publisher()
    const [first] = paper.tick(0, 32)
    expect(decodeDirUpdate(first!)).toMatchObject({ requestNumber: 0, records: new Uint32Array(0) })
    expect(paper.tick(HEARTBEAT_MS - 1, 32)).toEqual([])
    expect(decodeDirUpdate(paper.tick(HEARTBEAT_MS, 32)[0]!)).toMatchObject({ requestNumber: 1 })
    paper.greet()
    expect(decodeDirUpdate(paper.tick(HEARTBEAT_MS + 1, 32)[0]!)).toMatchObject({ requestNumber: 2 })
  })
})

describe('what an update says', () => {
  test('the present value of each bit, and nothing of what came and went in between', () => {
    const paper = publisher()
    claim(paper, 0, 10)
    for (let n = 1; n < 10; n++) paper.unclaimed(key(n))
    paper.publish()
    const { records, functionCount, functionBits, bitCount } = decodeDirUpdate(paper.tick(1, 32)[0]!)
    expect([functionCount, functionBits, bitCount]).toEqual([4, 32, 262_144])
    const filter = new BloomFilter(paperGeometryFor(10_000))
    filter.add(new PaperHasher().hash('http://origin.example/0', 4))
    expect(records.toSorted()).toEqual(Uint32Array.from(setPositions(filter)).toSorted())
  })

  test('of what came and went a thousand times, the end alone', () => {
    const paper = publisher()
    claim(paper, 0, 1)
    for (let i = 0; i < 1_000; i++) {
      claim(paper, 1, 3)
      paper.unclaimed(key(1))
      paper.unclaimed(key(2))
    }
    claim(paper, 2, 3)
    const filter = new BloomFilter(paperGeometryFor(10_000))
    for (const n of [0, 2]) filter.add(new PaperHasher().hash(`http://origin.example/${n}`, 4))
    expect(paper.unsentCount).toBe(filter.setBitCount)
    paper.publish()
    const { records } = decodeDirUpdate(paper.tick(1, 32)[0]!)
    expect(records).toEqual(Uint32Array.from(setPositions(filter)))
  })

  test('more than a packet holds goes in several, so many to a tick, each numbered', () => {
    const paper = publisher(10_000, 0xffff_fffe)
    claim(paper, 0, 500)
    paper.publish()
    const first = paper.tick(1, 2)
    const rest = paper.tick(2, 32)
    expect([...first, ...rest].map((bytes) => decodeDirUpdate(bytes).requestNumber)).toEqual([
      0xffff_fffe, 0xffff_ffff, 0, 1, 2, 3,
    ])
    expect([...first, ...rest].every((bytes) => bytes.length <= 1_472)).toBe(true)
    expect(paper.unsentCount).toBe(0)
  })
})

describe('the snapshot', () => {
  test('is a Bloom filter of the URLs, and names the datagram after which it was made', () => {
    const paper = publisher()
    claim(paper, 0, 200)
    paper.publish()
    while (paper.tick(1, 1).length > 0) continue
    const { filter, requestNumber } = paper.snapshot()
    expect(requestNumber).toBe(2)
    const loaded = BloomFilter.load(decodeFilter(filter))
    expect(loaded.entryCount).toBe(200)
    const hasher = new PaperHasher()
    for (let n = 0; n < 200; n++) expect(loaded.mayContain(hasher.hash(`http://origin.example/${n}`, 4))).toBe(true)
    // Not published yet: it comes with the next update.
    claim(paper, 200, 201)
    expect(paper.snapshot().filter).toBe(filter)
  })

  test('is well formed when all have gone', () => {
    const paper = publisher()
    claim(paper, 0, 2)
    paper.publish()
    paper.unclaimed(key(0))
    paper.unclaimed(key(1))
    paper.publish()
    expect(BloomFilter.load(decodeFilter(paper.snapshot().filter)).setBitCount).toBe(0)
  })
})

test('every listener hears of a claim and of its end', () => {
  const [one, other] = [publisher(), publisher()]
  const both = claimFanOut([one, other])
  both.claimed(key(0), 3)
  expect([one.unsentCount, other.unsentCount]).toEqual([4, 4])
  both.moved(key(0), 3, 4)
  expect([one.unsentCount, other.unsentCount]).toEqual([4, 4])
  both.unclaimed(key(0), 4)
  expect([one.unsentCount, other.unsentCount]).toEqual([0, 0])
})

function setPositions(filter: BloomFilter): number[] {
  const positions: number[] = []
  filter.bits.pushSet({ push: (position) => positions.push(position) })
  return positions
}
