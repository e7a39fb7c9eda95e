import { BinaryFuseFilter } from '../../src/core/filter/binary-fuse-filter.ts'
import { BlockedBloomFilter } from '../../src/core/filter/blocked-bloom-filter.ts'
import { BloomFilter } from '../../src/core/filter/bloom-filter.ts'
import { CountingBloomFilter } from '../../src/core/filter/counting-bloom-filter.ts'
import { decodeFilter } from '../../src/core/filter/filter-format.ts'
import { FILTER_KINDS } from '../../src/core/filter/filter-kinds.ts'
import { CuckooFilter } from '../../src/core/filter/cuckoo-filter.ts'
import { KeyHashList } from '../../src/core/filter/key-hash-list.ts'
import { KeyHasher } from '../../src/core/filter/key-hasher.ts'
import type { Filter, GrowingFilter } from '../../src/core/filter/membership-filter.ts'
import { RibbonFilter } from '../../src/core/filter/ribbon-filter.ts'
import { ScalableBloomFilter } from '../../src/core/filter/scalable-bloom-filter.ts'
import { XorFilter } from '../../src/core/filter/xor-filter.ts'

/** Keys are in hex. */
export interface FilterVectors {
  readonly members: readonly string[]
  readonly strangers: readonly string[]
  readonly filters: readonly FilterVector[]
}

/** A filter as bytes, and what it says of the members and then of the strangers: `1` may be in it, `0` is not. */
export interface FilterVector {
  readonly name: string
  /** Of SipHash, in hex; null for the others. */
  readonly secret: string | null
  /** Base64. */
  readonly filter: string
  /** What its head says: kind, hash scheme, cache-key rules, key id, then the four parameters. */
  readonly head: readonly number[]
  /** The members are in it, or nothing is. */
  readonly entries: number
  readonly answers: string
}

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')
// armon/bloomd#35, Callidon/bloom-filters#9
const ODD = [
  '',
  'http://www.example.com/a\nb',
  'http://www.example.com/\0',
  'h\u00c3\u00a9',
  'h\u00e9',
  '\xff\xfe\x80',
  'sixteen bytes ok',
  // The length that SipHash takes in is one byte.
  'y'.repeat(200),
  'x'.repeat(300),
].map(latin1)
const MEMBERS = [...ODD, ...Array.from({ length: 30 }, (_, n) => latin1(`http://www.example.com/${n}`))]
const STRANGERS = Array.from({ length: 100 }, (_, n) => latin1(`http://elsewhere.example/${n}`))
const SECRET = Uint8Array.from({ length: 16 }, (_, i) => 16 * i + 15 - i)

function vector(name: string, filter: Filter, hasher: KeyHasher): FilterVector {
  const keys = [...MEMBERS, ...STRANGERS]
  const bytes = filter.serialise()
  const { kindCode, hashing, parameters } = decodeFilter(bytes)
  return {
    name,
    secret: filter.hashing.hashScheme === 3 ? Buffer.from(SECRET).toString('hex') : null,
    filter: Buffer.from(bytes).toString('base64'),
    head: [kindCode, hashing.hashScheme, hashing.keyRules, hashing.keyId, ...parameters],
    entries: filter.entryCount,
    answers: keys.map((key) => (filter.mayContain(hasher.hashBytes(key)) ? '1' : '0')).join(''),
  }
}

function hashesOf(hasher: KeyHasher): KeyHashList {
  const list = new KeyHashList()
  for (const member of MEMBERS) list.push(hasher.hashBytes(member))
  return list
}

function filled<F extends GrowingFilter>(filter: F, hasher: KeyHasher): F {
  for (const member of MEMBERS) filter.add(hasher.hashBytes(member))
  return filter
}

/** Sizes, widths and seeds that few keys at a moderate rate do not lead to. */
function* extremes(): Generator<FilterVector> {
  const hashers = [KeyHasher.murmur3(1), KeyHasher.md5(16), KeyHasher.siphash(SECRET, 2 ** 32 - 1)]
  for (const hasher of hashers) {
    const { hashing } = hasher
    const scheme = `scheme ${hashing.hashScheme}`
    const geometry = { ...hashing, bitCount: 1001, probeCount: 16 }
    yield vector(`bloom, m = 1001, k = 16, ${scheme}`, filled(new BloomFilter(geometry), hasher), hasher)
    const blocks = new BlockedBloomFilter({ blockCount: 3, probeCount: 16 }, hashing)
    yield vector(`blocked-bloom, k = 16, ${scheme}`, filled(blocks, hasher), hasher)
    const list = hashesOf(hasher)
    for (const bits of [1, 11, 32]) {
      yield vector(`xor of ${bits} bits, ${scheme}`, XorFilter.build(list, 2 ** -bits, hashing), hasher)
      yield vector(`binary-fuse of ${bits} bits, ${scheme}`, BinaryFuseFilter.build(list, 2 ** -bits, hashing), hasher)
      yield vector(`ribbon of ${bits} bits, ${scheme}`, RibbonFilter.build(list, 2 ** -bits, hashing), hasher)
    }
    for (const fingerprintBits of [4, 13, 32]) {
      const cuckoo = new CuckooFilter({ bucketCount: 13, fingerprintBits }, hashing)
      yield vector(`cuckoo of ${fingerprintBits} bits, ${scheme}`, filled(cuckoo, hasher), hasher)
    }
  }
  const [hasher] = hashers
  const { hashing } = hasher!
  const { words } = hashesOf(hasher!)
  for (const seed of [1, 2 ** 32 - 1]) {
    const xor = XorFilter.attempt(words, { fingerprintBits: 8, blockLength: 40 }, seed, hashing)
    const fuse = { fingerprintBits: 8, segmentLength: 16, segmentCount: 6 }
    const ribbon = RibbonFilter.attempt(words, { resultBits: 7, slotCount: 192 }, seed, hashing)
    yield vector(`xor, seed ${seed}`, xor!, hasher!)
    yield vector(`binary-fuse, seed ${seed}`, BinaryFuseFilter.attempt(words, fuse, seed, hashing)!, hasher!)
    yield vector(`ribbon, seed ${seed}`, ribbon!, hasher!)
  }
}

export function filterVectors(): FilterVectors {
  const vectors: FilterVector[] = []
  const hashers = { murmur3: KeyHasher.murmur3(), md5: KeyHasher.md5(7, 1), siphash: KeyHasher.siphash(SECRET, 7) }
  for (const [scheme, hasher] of Object.entries(hashers)) {
    for (const kind of FILTER_KINDS) {
      if (scheme === 'md5' && kind.name === 'scalable-bloom') continue
      vectors.push(vector(`${kind.name}, ${scheme}`, kind.build(hashesOf(hasher), 0.1, hasher.hashing), hasher))
    }
    vectors.push(vector(`empty bloom, ${scheme}`, BloomFilter.withCapacity(10, 0.1, hasher.hashing), hasher))
  }
  for (const kind of FILTER_KINDS) {
    const { hashing } = hashers.murmur3
    vectors.push(vector(`empty ${kind.name}`, kind.build(new KeyHashList(), 0.1, hashing), hashers.murmur3))
    const exact = kind.build(hashesOf(hashers.murmur3), 0.001, hashing)
    vectors.push(vector(`${kind.name} at 0.1 %`, exact, hashers.murmur3))
  }
  // jasondavies/bloomfilter.js#9: sizes that fill no whole words or bytes.
  for (const hasher of [hashers.murmur3, hashers.md5]) {
    for (const [bitCount, probeCount] of [
      [1, 1],
      [31, 3],
      [32, 4],
      [33, 7],
      [100, 3],
      [1024, 7],
      [6001, 7],
    ] as const) {
      const geometry = { ...hasher.hashing, bitCount, probeCount }
      const bloom = filled(new BloomFilter(geometry), hasher)
      const counting = filled(new CountingBloomFilter(geometry), hasher)
      const size = `m = ${bitCount}, k = ${probeCount}, scheme ${geometry.hashScheme}`
      vectors.push(vector(`bloom, ${size}`, bloom, hasher), vector(`counting-bloom, ${size}`, counting, hasher))
    }
  }
  const grown = filled(new ScalableBloomFilter(5, 0.05, hashers.murmur3.hashing), hashers.murmur3)
  vectors.push(vector('scalable-bloom of four slices', grown, hashers.murmur3), ...extremes())
  const hex = (key: Buffer): string => key.toString('hex')
  return { members: MEMBERS.map(hex), strangers: STRANGERS.map(hex), filters: vectors }
}
