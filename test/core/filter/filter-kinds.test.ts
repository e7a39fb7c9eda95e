import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  MalformedFilterError,
  decodeFilter,
  encodeFilter,
  type FilterRecord,
} from '../../../src/core/filter/filter-format.ts'
import { loadFilter } from '../../../src/core/filter/filter-kinds.ts'
import { KeyHasher } from '../../../src/core/filter/key-hasher.ts'
import type { FilterVectors } from '../../python/filter-vectors.ts'
import { MOST, built, entries, hasher, hashing, joined, p, scalableRecord, sized, slice } from './filter-records.ts'

const DO_NOT_FOLLOW = 'slices that do not follow from its parameters'

// Each checksum is right, and each body as long as the head says.
describe.each<[string, FilterRecord, [string, (record: FilterRecord) => Partial<FilterRecord>, string][]]>([
  [
    'counting-bloom',
    built('counting-bloom'),
    [
      ['no counters', sized(0, 0, 3, 0, 0), 'bit count 0 out of range'],
      ['a wrong number of counters that are not 0', p(2, 1), 'counters are not 0, where its head says 1'],
      ['fewer entries than its counters tell', entries(7), 'for 7 entries'],
      ['more entries than its counters tell', entries(MOST), `for ${MOST} entries`],
      ['a fourth parameter', p(3, 1), 'a fourth parameter'],
    ],
  ],
  [
    'blocked-bloom',
    built('blocked-bloom'),
    [
      ['no blocks', sized(0, 0, 3, 0, 0), 'block count 0 out of range'],
      ['too many blocks', p(0, 2 ** 22 + 1), 'block count 4194305 out of range'],
      ['no probes', p(1, 0), 'probe count 0 out of range'],
      ['too many probes', p(1, 17), 'probe count 17 out of range'],
      ['set bits of no entries', entries(0), 'set bits of 0 entries'],
      ['set bits that are none', p(2, 0), '0 set bits of 30 entries'],
      ['more set bits than its entries can set', p(2, MOST), `${MOST} set bits of 30 entries`],
      ['a wrong number of set bits', p(2, 31), 'set bits, where its head says 31'],
      ['a fourth parameter', p(3, 1), 'a fourth parameter'],
    ],
  ],
  [
    'scalable-bloom',
    scalableRecord(),
    [
      ['no slices', sized(0, 0, 5, 0x3d4ccccd, 0), '0 slices'],
      ['too many slices', p(0, 33), '33 slices'],
      ['more slices than there are', p(0, 4), 'slice 3 ends too early'],
      ['fewer slices than there are', p(0, 2), 'bytes behind the last slice'],
      ['a first slice for no keys', p(1, 0), 'a first slice for 0 keys'],
      ['a first slice for too many keys', p(1, 2 ** 31 + 1), 'a first slice for 2147483649 keys'],
      ['a first slice for other keys', p(1, 6), DO_NOT_FOLLOW],
      ['a first slice larger than its bytes', p(1, 2 ** 26), DO_NOT_FOLLOW],
      ['a rate of 0', p(2, 0), 'a false hit rate of 0'],
      ['a rate of 1', p(2, 0x3f800000), 'a false hit rate of 1'],
      ['a rate below 0', p(2, 0xbd4ccccd), 'a false hit rate of -0.05'],
      ['a rate that is no number', p(2, 0x7fc00000), 'a false hit rate of NaN'],
      ['a rate that leads to no slice', p(2, 1), DO_NOT_FOLLOW],
      ['a fourth parameter', p(3, 1), 'a fourth parameter'],
      ['MD5', () => ({ hashing: { ...hashing, hashScheme: 2 } }), 'a scalable Bloom filter has no MD5 form'],
      ['other entries than its slices have', entries(31), '30 entries in slices, where its head says 31'],
      ['a slice of another kind', slice(1, () => built('counting-bloom')), 'slice 1 is no Bloom filter'],
      ['a slice hashed in another way', slice(2, () => ({ hashing: { ...hashing, keyRules: 1 } })), DO_NOT_FOLLOW],
      ['a slice that is not full before another', slice(0, entries(4)), DO_NOT_FOLLOW],
      ['a slice that is more than full', slice(2, entries(21)), DO_NOT_FOLLOW],
      ['a slice of another size', slice(2, () => ({ ...built('bloom', 15), entryCount: 15 })), DO_NOT_FOLLOW],
      ['a slice that is cut', ({ body }) => ({ body: body.subarray(0, -1) }), 'slice 2 ends too early'],
      [
        'a byte behind the slices',
        ({ body }) => ({ body: joined(body, Uint8Array.of(0)) }),
        'bytes behind the last slice',
      ],
    ],
  ],
  [
    'cuckoo',
    built('cuckoo'),
    [
      ['no buckets', () => ({ ...sized(0, 0, 8, 1, 0)(), entryCount: 0 }), 'bucket count 0 out of range'],
      ['too many buckets', p(0, 2 ** 30), 'bucket count 1073741824 out of range'],
      ['fingerprints that are too short', sized(3 * 44, 11, 3, 1, 0), 'fingerprints of 3 bits'],
      ['fingerprints that are too long', sized(33 * 44, 11, 33, 1, 0), 'fingerprints of 33 bits'],
      ['a state that chooses nothing', p(2, 0), 'no state that chooses victims'],
      ['fewer entries than slots in use', entries(0), '30 slots in use for 0 entries'],
      ['more entries than slots in use', entries(31), '30 slots in use for 31 entries'],
      ['a fourth parameter', p(3, 1), 'a fourth parameter'],
    ],
  ],
  [
    'xor',
    built('xor'),
    [
      ['fingerprints of no bits', sized(0, 0, 24, 0, 0), 'fingerprints of 0 bits'],
      ['fingerprints that are too long', sized(33 * 72, 33, 24, 0, 0), 'fingerprints of 33 bits'],
      ['too many slots', p(1, 2 ** 30), '3221225472 slots of 5 bits'],
      ['slots of no entries', entries(0), 'slots for 0 entries'],
      ['entries without slots', sized(0, 5, 0, 0, 0), '0 slots for 30 entries'],
      ['more entries than slots', entries(MOST), `slots for ${MOST} entries`],
      ['a fourth parameter', p(3, 1), 'a fourth parameter'],
    ],
  ],
  [
    'binary-fuse',
    built('binary-fuse'),
    [
      ['fingerprints of no bits', sized(0, 0, 16, 4, 0), 'fingerprints of 0 bits'],
      ['fingerprints that are too long', sized(33 * 64, 33, 16, 4, 0), 'fingerprints of 33 bits'],
      ['segments without slots', sized(0, 5, 0, 4, 0), 'segments of 0 slots'],
      ['segments that are no power of two', sized(5 * 48, 5, 12, 4, 0), 'segments of 12 slots'],
      ['segments that are too long', p(1, 2 ** 19), 'segments of 524288 slots'],
      ['too few segments', sized(5 * 64, 5, 32, 2, 0), '2 segments'],
      ['too many segments', p(2, MOST), 'slots of 5 bits'],
      ['slots of no entries', entries(0), 'slots for 0 entries'],
      ['entries without slots', sized(0, 5, 16, 0, 0), '0 slots for 30 entries'],
      ['more entries than slots', entries(MOST), `slots for ${MOST} entries`],
    ],
  ],
  [
    'ribbon',
    built('ribbon'),
    [
      ['results of no bits', sized(0, 0, 160, 0, 0), 'results of 0 bits'],
      ['results that are too long', sized(33 * 160, 33, 160, 0, 0), 'results of 33 bits'],
      ['slots that fill no blocks', sized(5 * 168, 5, 168, 0, 0), '168 slots'],
      ['fewer slots than coefficients', sized(5 * 128, 5, 128, 0, 0), '128 slots'],
      ['too many slots', p(1, 2 ** 31 + 32), '2147483680 slots of 5 bits'],
      ['slots of no entries', entries(0), '160 slots for 0 entries'],
      ['entries without slots', sized(0, 5, 0, 0, 0), '0 slots for 30 entries'],
      ['more entries than slots', entries(161), '160 slots for 161 entries'],
      ['a fourth parameter', p(3, 1), 'a fourth parameter'],
    ],
  ],
])('a %s filter is refused for', (_, record, cases) => {
  test('nothing, as it is', () => {
    expect(loadFilter(encodeFilter(record)).entryCount).toBe(30)
  })

  test.each(cases)('%s', (_what, change, problem) => {
    const bytes = encodeFilter({ ...record, ...change(record) })
    expect(() => loadFilter(bytes)).toThrow(MalformedFilterError)
    expect(() => loadFilter(bytes)).toThrow(problem)
  })
})

test('every stored vector is read, answers as stored and is written as it was', () => {
  const vectors = JSON.parse(readFileSync('test/vectors/filters.json', 'utf8')) as FilterVectors
  const asked = [...vectors.members, ...vectors.strangers].map((key) => Buffer.from(key, 'hex'))
  for (const { name, secret, filter: base64, head, entries: entryCount, answers } of vectors.filters) {
    const bytes = Buffer.from(base64, 'base64')
    const filter = loadFilter(bytes)
    const { hashScheme, keyId, keyRules } = filter.hashing
    const scheme =
      hashScheme === 3
        ? KeyHasher.siphash(Buffer.from(secret!, 'hex'), keyId)
        : hashScheme === 2
          ? KeyHasher.md5(16)
          : hasher
    const said = asked.map((key) => (filter.mayContain(scheme.hashBytes(key)) ? '1' : '0')).join('')
    expect([said, filter.entryCount], name).toEqual([answers, entryCount])
    expect([decodeFilter(bytes).kindCode, hashScheme, keyRules, keyId], name).toEqual(head.slice(0, 4))
    expect(Buffer.from(filter.serialise()).equals(bytes), name).toBe(true)
    // No false misses.
    if (entryCount > 0) expect(answers.slice(0, vectors.members.length), name).not.toContain('0')
    expect(bytes.length, name).toBeLessThan(4096)
  }
  expect(vectors.filters.length).toBeGreaterThan(90)
})
