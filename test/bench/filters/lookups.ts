import assert from 'node:assert'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BitArray } from '../../../src/core/filter/bit-array.ts'
import { BloomFilter } from '../../../src/core/filter/bloom-filter.ts'
import type { FilterGeometry } from '../../../src/core/filter/filter-geometry.ts'
import { KeyHashList } from '../../../src/core/filter/key-hash-list.ts'
import { KeyHasher } from '../../../src/core/filter/key-hasher.ts'
import { CReference } from '../c-reference.ts'
import { findingOf, type Finding, type Goal } from '../finding.ts'
import type { Candidate } from '../harness.ts'
import type { Measurement, MeasurementContext } from '../measurement.ts'
import { fillAtRandom } from './random-words.ts'
import { FIRST_STRANGER, KEY_BYTES, eachKeyHash, packedKeys, viewOf } from './sample-keys.ts'

const PROBE_COUNT = 7
const OURS = 'ours'
const BATCH = 'ours, in batches'
const BATCH_KEYS = 16
const REFERENCE = 'the same in C'

interface LookupCase {
  readonly name: string
  /** How the filter came to be. */
  readonly label: string
  readonly bitCount: number
  readonly goal: Goal
  fill(filter: BloomFilter, hasher: KeyHasher, memberCount: number): void
}

/** Strangers, then members: so many each, every one looked up once a round. */
function lookupMeasurement(bigCase: LookupCase, quickCase: LookupCase): Measurement {
  return {
    name: `lookup, ${bigCase.name}`,
    async run(context) {
      const { harness, quick, progress } = context
      const lookup = quick ? quickCase : bigCase
      const { label, bitCount, goal } = lookup
      const count = quick ? 2 ** 15 : 2 ** 18
      const geometry: FilterGeometry = { hashScheme: 1, keyId: 0, keyRules: 0, bitCount, probeCount: PROBE_COUNT }
      const hasher = KeyHasher.murmur3()
      const filter = new BloomFilter(geometry)
      progress(`filling ${label}`)
      lookup.fill(filter, hasher, count)
      const keys = new Uint8Array(2 * count * KEY_BYTES)
      keys.set(packedKeys(FIRST_STRANGER, count))
      keys.set(packedKeys(0, count), count * KEY_BYTES)
      const view = viewOf(keys)
      const reference = referenceOf(context, geometry, filter.bits, keys)

      const lookUp = (first: number): number => {
        let hits = 0
        const end = (first + count) * KEY_BYTES
        for (let at = first * KEY_BYTES; at < end; at += KEY_BYTES) {
          if (filter.mayContain(hasher.hash(view, at, at + KEY_BYTES))) hits++
        }
        return hits
      }
      // Hashed first, so that the loads of one key overlap those of the next.
      const batch = new KeyHashList(BATCH_KEYS)
      const claimed = new Uint8Array(BATCH_KEYS)
      const lookUpInBatches = (first: number): number => {
        let hits = 0
        const end = (first + count) * KEY_BYTES
        for (let at = first * KEY_BYTES; at < end;) {
          batch.clear()
          for (let i = 0; i < BATCH_KEYS; i++, at += KEY_BYTES) batch.push(hasher.hash(view, at, at + KEY_BYTES))
          hits += filter.mayContainEach(batch, claimed)
        }
        return hits
      }
      try {
        const findings: Finding[] = []
        for (const [who, first] of [
          ['strangers', 0],
          ['members', count],
        ] as const) {
          progress(`looking up ${who}`)
          const { result } = await reference.ask('lookup', first, count)
          assert.equal(lookUp(first), result, 'C and TypeScript claim as many')
          assert.equal(lookUpInBatches(first), result, 'in batches they claim as many')
          const theirs: Candidate = {
            name: REFERENCE,
            sample: async () => (await reference.ask('lookup', first, count)).ns,
          }
          const comparison = await harness.compare([
            harness.timed(OURS, count, () => lookUp(first)),
            harness.timed(BATCH, count, () => lookUpInBatches(first)),
            theirs,
          ])
          const name = `Bloom, hash and look up, ${label}: ${who}`
          findings.push(
            findingOf(comparison, OURS, { name, against: REFERENCE, goal }),
            findingOf(comparison, BATCH, { name: `${name}, ${BATCH_KEYS} at a time`, against: REFERENCE, goal }),
            findingOf(comparison, REFERENCE, { name: `${name}, ${REFERENCE}` }),
          )
        }
        return findings
      } finally {
        await reference.close()
      }
    },
  }
}

function referenceOf(
  context: MeasurementContext,
  geometry: FilterGeometry,
  bits: BitArray,
  keys: Uint8Array,
): CReference {
  const keysFile = join(context.folder, 'looked-up-keys')
  const wordsFile = join(context.folder, 'filter-words')
  writeFileSync(keysFile, keys)
  writeFileSync(wordsFile, bits.words)
  const { bitCount, probeCount } = geometry
  return CReference.start(context.folder, keysFile, KEY_BYTES, { wordsFile, bitCount, probeCount })
}

/** A filter that the keys were really added to. */
function addedCase(keyCount: number, bitCount: number): LookupCase {
  return {
    name: 'cached filter',
    label: `${keyCount / 1e6} M keys in 2^${Math.log2(bitCount)} bits`,
    bitCount,
    goal: { of: 'value', is: 'at most', limit: 100 },
    fill(filter, hasher) {
      eachKeyHash(hasher, 0, keyCount, (hash) => filter.add(hash))
    },
  }
}

/** Adding 10^8 keys takes too long: half of the bits are set at random, and those of the sample's members beside. */
function drawnCase(bitCount: number): LookupCase {
  return {
    name: 'large filter',
    label: `2^${Math.log2(bitCount)} bits, half of them set at random`,
    bitCount,
    goal: { of: 'ratio', is: 'at most', limit: 1.3 },
    fill(filter, hasher, memberCount) {
      fillAtRandom(filter.bits.words, 1, 1, 0x5eed)
      eachKeyHash(hasher, 0, memberCount, (hash) => filter.add(hash))
    },
  }
}

/** k = 7. The first is what 1.7 million keys need at 10 bits each, the second what 10^8 do. */
export const LOOKUPS: readonly Measurement[] = [
  lookupMeasurement(addedCase(1_700_000, 2 ** 24), addedCase(200_000, 2 ** 21)),
  lookupMeasurement(drawnCase(2 ** 30), drawnCase(2 ** 26)),
]
