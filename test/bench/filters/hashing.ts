import assert from 'node:assert'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { KeyHasher } from '../../../src/core/filter/key-hasher.ts'
import { CReference } from '../c-reference.ts'
import { findingOf } from '../finding.ts'
import type { Candidate } from '../harness.ts'
import type { Measurement } from '../measurement.ts'
import { KEY_BYTES, packedKeys, viewOf } from './sample-keys.ts'

// So few that they stay in the first caches: what is measured is the hash.
const KEY_COUNT = 512
const REFERENCE = 'MurmurHash3 in C'

const HASHERS: Readonly<Record<string, () => KeyHasher>> = {
  MurmurHash3: () => KeyHasher.murmur3(),
  MD5: () => KeyHasher.md5(),
  'SipHash-2-4-128': () =>
    KeyHasher.siphash(
      new Uint8Array(16).map((_, i) => i),
      1,
    ),
}

function hashingMeasurement(name: string, make: () => KeyHasher): Measurement {
  return {
    name: `hash, ${name}`,
    async run({ harness, quick, folder }) {
      const bytes = packedKeys(0, KEY_COUNT)
      const view = viewOf(bytes)
      const hasher = make()
      const passes = quick ? 200 : 1000
      const sumOfHashes = (): number => {
        let sum = 0
        for (let at = 0; at < bytes.length; at += KEY_BYTES)
          sum = (sum + hasher.hash(view, at, at + KEY_BYTES).h0) >>> 0
        return sum
      }
      const ours = harness.timed(name, passes * KEY_COUNT, () => {
        let sum = 0
        for (let pass = 0; pass < passes; pass++) sum ^= sumOfHashes()
        return sum
      })
      const keysFile = join(folder, 'hashed-keys')
      writeFileSync(keysFile, bytes)
      const reference = CReference.start(folder, keysFile, KEY_BYTES)
      try {
        if (name === 'MurmurHash3') {
          const { result } = await reference.ask('hash', 0, KEY_COUNT)
          assert.equal(result, sumOfHashes(), 'C and TypeScript hash alike')
        }
        const theirs: Candidate = {
          name: REFERENCE,
          sample: async () => (await reference.ask('hash', 0, KEY_COUNT, passes)).ns,
        }
        const comparison = await harness.compare([ours, theirs])
        return [
          findingOf(comparison, name, { name: `hash ${KEY_BYTES} bytes: ${name}`, against: REFERENCE }),
          ...(name === 'MurmurHash3'
            ? [findingOf(comparison, REFERENCE, { name: `hash ${KEY_BYTES} bytes: ${REFERENCE}` })]
            : []),
        ]
      } finally {
        await reference.close()
      }
    },
  }
}

/** A key of 60 bytes, hashed where it lies, in each scheme. */
export const HASHING: readonly Measurement[] = Object.entries(HASHERS).map(([name, make]) =>
  hashingMeasurement(name, make),
)
