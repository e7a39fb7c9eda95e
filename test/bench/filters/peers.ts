import assert from 'node:assert'
import { DigestMatrix } from '../../../src/core/digest/digest-matrix.ts'
import { BitArray } from '../../../src/core/filter/bit-array.ts'
import type { FilterGeometry } from '../../../src/core/filter/filter-geometry.ts'
import { KeyHasher } from '../../../src/core/filter/key-hasher.ts'
import { MAX_PROBE_COUNT } from '../../../src/core/filter/filter-geometry.ts'
import { bitsClaimProbes, probeSequence } from '../../../src/core/filter/probing.ts'
import { findingOf, type Finding } from '../finding.ts'
import type { Measurement } from '../measurement.ts'
import { fillAtRandom } from './random-words.ts'
import { FIRST_STRANGER, HashCursor, keyHashes } from './sample-keys.ts'

const PEER_COUNTS = [8, 16, 32, 64, 128, 256]
const MOST_PEERS = 256
const KEY_COUNT = 8192
/** 7/32 of the bits are set: 4 probes at 16 bits an entry leave 22 % of them so. */
const FILL = { numerator: 7, digits: 5 }

/** Puts the owners of the digests that claim the key into `out`, and returns how many. */
type Ask = (probes: Uint32Array, out: Uint32Array) => number

function askOneByOne(digests: readonly BitArray[], geometry: FilterGeometry): Ask {
  return (probes, out) => {
    let count = 0
    for (let peer = 0; peer < digests.length; peer++) {
      if (bitsClaimProbes(digests[peer]!, geometry, probes)) out[count++] = peer
    }
    return count
  }
}

function askMatrix(matrix: DigestMatrix): Ask {
  return (probes, out) => matrix.candidates(probes, out, 0)
}

/** A matrix for just these digests; each is owned by its index. */
function matrixOf(digests: readonly BitArray[], geometry: FilterGeometry): DigestMatrix {
  const matrix = new DigestMatrix(geometry, digests.length)
  for (const [owner, { words }] of digests.entries()) {
    const buffers = matrix.addPeer(owner)
    const column = buffers.active
    for (let i = 0; i < words.length; i++) column.setWord(i, words[i]!)
    buffers.show()
  }
  return matrix
}

function peersMeasurement(bigLog: number, quickLog: number): Measurement {
  return {
    name: `peers, 2^${bigLog} bits each`,
    async run({ harness, quick, progress }) {
      const log = quick ? quickLog : bigLog
      const geometry: FilterGeometry = { hashScheme: 1, keyId: 0, keyRules: 0, bitCount: 2 ** log, probeCount: 4 }
      const keys = new HashCursor(keyHashes(KeyHasher.murmur3(), FIRST_STRANGER, KEY_COUNT))
      const probes = new Uint32Array(MAX_PROBE_COUNT)
      const out = new Uint32Array(MOST_PEERS)
      const digests: BitArray[] = []
      const findings: Finding[] = []

      for (const peerCount of PEER_COUNTS) {
        progress(`${peerCount} digests of 2^${log} bits`)
        for (let peer = digests.length; peer < peerCount; peer++) {
          const bits = new BitArray(geometry.bitCount)
          fillAtRandom(bits.words, FILL.numerator, FILL.digits, peer)
          digests.push(bits)
        }
        // Few peers take so little time that the keys are run through more than once.
        const passes = MOST_PEERS / peerCount
        const askAll = (ask: Ask): number => {
          let claims = 0
          for (let pass = 0; pass < passes; pass++) {
            for (let i = 0; i < KEY_COUNT; i++) {
              keys.moveTo(i)
              probeSequence(keys, geometry.probeCount, probes)
              claims += ask(probes, out)
            }
          }
          return claims
        }
        const oneByOne = askOneByOne(digests, geometry)
        const onePass = askMatrix(matrixOf(digests, geometry))
        assert.equal(askAll(onePass), askAll(oneByOne), 'both find as many candidates')
        const name = (how: string): string => `ask ${peerCount} peers, 2^${log} bits each: ${how}`
        const comparison = await harness.compare([
          harness.timed(name('one by one'), passes * KEY_COUNT, () => askAll(oneByOne)),
          harness.timed(name('in one pass'), passes * KEY_COUNT, () => askAll(onePass)),
        ])
        findings.push(
          findingOf(comparison, name('in one pass')),
          findingOf(comparison, name('one by one'), {
            against: name('in one pass'),
            ...(peerCount === MOST_PEERS ? { goal: { of: 'ratio', is: 'at least', limit: 20 } } : {}),
          }),
        )
      }
      return findings
    },
  }
}

/** Which of many peers may have a key? 16 bits an entry, k = 4, keys that no digest was made of. */
export const PEERS: readonly Measurement[] = [peersMeasurement(20, 15), peersMeasurement(23, 18)]
