import { BloomFilter } from '../../src/core/filter/bloom-filter.ts'
import { CountingBloomFilter } from '../../src/core/filter/counting-bloom-filter.ts'
import { FILTER_KINDS } from '../../src/core/filter/filter-kinds.ts'
import { KeyHashList } from '../../src/core/filter/key-hash-list.ts'
import { KeyHasher } from '../../src/core/filter/key-hasher.ts'
import type { Filter } from '../../src/core/filter/membership-filter.ts'
import { ScalableBloomFilter } from '../../src/core/filter/scalable-bloom-filter.ts'

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
  'x'.repeat(300),
].map(latin1)
const MEMBERS = [...ODD, ...Array.from({ length: 34 }, (_, n) => latin1(`http://www.example.com/${n}`))]
const STRANGERS = Array.from({ length: 80 }, (_, n) => latin1(`http://elsewhere.example/${n}`))
const SECRET = Uint8Array.from({ length: 16 }, (_, i) => 16 * i + 15 - i)

function vector(name: string, filter: Filter, hasher: KeyHasher): FilterVector {
  const keys = [...MEMBERS, ...STRANGERS]
  return {
    name,
    secret: filter.hashing.hashScheme === 3 ? Buffer.from(SECRET).toString('hex') : null,
    filter: Buffer.from(filter.serialise()).toString('base64'),
    entries: filter.entryCount,
    answers: keys.map((key) => (filter.mayContain(hasher.hashBytes(key)) ? '1' : '0')).join(''),
  }
}

export function filterVectors(): FilterVectors {
  const vectors: FilterVector[] = []
  const hashers = { murmur3: KeyHasher.murmur3(), md5: KeyHasher.md5(7, 1), siphash: KeyHasher.siphash(SECRET, 7) }
  for (const [scheme, hasher] of Object.entries(hashers)) {
    for (const kind of FILTER_KINDS) {
      if (scheme === 'md5' && kind.name === 'scalable-bloom') continue
      const list = new KeyHashList()
      for (const member of MEMBERS) list.push(hasher.hashBytes(member))
      vectors.push(vector(`${kind.name}, ${scheme}`, kind.build(list, 0.1, hasher.hashing), hasher))
    }
    vectors.push(vector(`empty bloom, ${scheme}`, BloomFilter.withCapacity(10, 0.1, hasher.hashing), hasher))
  }
  for (const kind of FILTER_KINDS) {
    const { hashing } = hashers.murmur3
    vectors.push(vector(`empty ${kind.name}`, kind.build(new KeyHashList(), 0.1, hashing), hashers.murmur3))
    const list = new KeyHashList()
    for (const member of MEMBERS) list.push(hashers.murmur3.hashBytes(member))
    vectors.push(vector(`${kind.name} at 0.1 %`, kind.build(list, 0.001, hashing), hashers.murmur3))
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
      const [bloom, counting] = [new BloomFilter(geometry), new CountingBloomFilter(geometry)]
      for (const member of MEMBERS) {
        bloom.add(hasher.hashBytes(member))
        counting.add(hasher.hashBytes(member))
      }
      const size = `m = ${bitCount}, k = ${probeCount}, scheme ${geometry.hashScheme}`
      vectors.push(vector(`bloom, ${size}`, bloom, hasher), vector(`counting-bloom, ${size}`, counting, hasher))
    }
  }
  const grown = new ScalableBloomFilter(5, 0.05, hashers.murmur3.hashing)
  for (const member of MEMBERS) grown.add(hashers.murmur3.hashBytes(member))
  vectors.push(vector('scalable-bloom of four slices', grown, hashers.murmur3))
  const hex = (key: Buffer): string => key.toString('hex')
  return { members: MEMBERS.map(hex), strangers: STRANGERS.map(hex), filters: vectors }
}
