import assert from 'node:assert'
import { FILTER_KINDS, type FilterKind } from '../../../src/core/filter/filter-kinds.ts'
import { KeyHasher } from '../../../src/core/filter/key-hasher.ts'
import { countedFinding, findingOf } from '../finding.ts'
import type { Measurement } from '../measurement.ts'
import { FIRST_STRANGER, HashCursor, keyHashes } from './sample-keys.ts'

/** 0.39 %: what fingerprints of 8 bits give. */
const FALSE_HIT_RATE = 1 / 256

function kindMeasurement(kind: FilterKind): Measurement {
  return {
    name: `kind, ${kind.name}`,
    async run({ harness, quick, progress }) {
      const entryCount = quick ? 50_000 : 1_000_000
      const hasher = KeyHasher.murmur3()
      const members = keyHashes(hasher, 0, entryCount)
      const strangers = keyHashes(hasher, FIRST_STRANGER, entryCount)
      progress(`building, ${entryCount} keys`)
      let filter = kind.build(members, FALSE_HIT_RATE, hasher.hashing)
      const built = await harness.compare([
        harness.timed('build', entryCount, () => {
          filter = kind.build(members, FALSE_HIT_RATE, hasher.hashing)
          return filter.sizeInBits
        }),
      ])

      progress('looking up')
      const memberCursor = new HashCursor(members)
      const strangerCursor = new HashCursor(strangers)
      const countClaimed = (cursor: HashCursor): number => {
        let claimed = 0
        for (let i = 0; i < entryCount; i++) {
          cursor.moveTo(i)
          if (filter.mayContain(cursor)) claimed++
        }
        return claimed
      }
      assert.equal(countClaimed(memberCursor), entryCount, 'a member is never missed')
      const falseHits = countClaimed(strangerCursor)
      const lookedUp = await harness.compare([
        harness.timed('members', entryCount, () => countClaimed(memberCursor)),
        harness.timed('strangers', entryCount, () => countClaimed(strangerCursor)),
      ])

      const demand = `${entryCount} keys at 0.39 %`
      const name = (what: string): string => `${kind.name}, ${demand}: ${what}`
      const cell = (column: string) => ({ table: `Kinds of filters, ${demand}, hashes given`, row: kind.name, column })
      return [
        countedFinding(name('size'), filter.sizeInBits / entryCount, 'bits/key', { cell: cell('bits per key') }),
        findingOf(built, 'build', { name: name('add or build'), cell: cell('add or build, ns') }),
        findingOf(lookedUp, 'members', { name: name('look up members'), cell: cell('members, ns') }),
        findingOf(lookedUp, 'strangers', { name: name('look up strangers'), cell: cell('strangers, ns') }),
        countedFinding(name('false hits expected'), 100 * filter.expectedFalseHitRate, '%', {
          cell: cell('false hits expected'),
        }),
        countedFinding(name('false hits measured'), (100 * falseHits) / entryCount, '%', {
          reference: name('false hits expected'),
          ratio: falseHits / entryCount / filter.expectedFalseHitRate,
          cell: cell('measured'),
        }),
      ]
    },
  }
}

/** All kinds at one false hit rate, hashes given. */
export const KINDS: readonly Measurement[] = FILTER_KINDS.map(kindMeasurement)
