import assert from 'node:assert'
import { findingOf, type Finding, type Goal } from '../finding.ts'
import type { Candidate, Harness } from '../harness.ts'
import type { Measurement } from '../measurement.ts'
import { NPM_PACKAGES, OURS, type FilterPackage, type KeyForms, type PackageFilter } from './npm-packages.ts'
import { FIRST_STRANGER, KEY_BYTES, packedKeys, viewOf } from './sample-keys.ts'

const FALSE_HIT_RATE = 0.01
const PACKAGES_COMPARED = [OURS, ...NPM_PACKAGES]

/** Members, then as many strangers. */
function keyForms(memberCount: number): KeyForms {
  const bytes = new Uint8Array(2 * memberCount * KEY_BYTES)
  bytes.set(packedKeys(0, memberCount))
  bytes.set(packedKeys(FIRST_STRANGER, memberCount), memberCount * KEY_BYTES)
  const buffers = Array.from({ length: 2 * memberCount }, (_, i) =>
    Buffer.from(bytes.subarray(i * KEY_BYTES, (i + 1) * KEY_BYTES)),
  )
  return { view: viewOf(bytes), buffers, texts: buffers.map((buffer) => buffer.toString('latin1')) }
}

function goalAgainst(name: string): Goal {
  return { of: 'ratio', is: 'at least', limit: name === 'bloom-filters' ? 50 : 2 }
}

/** The first keys into an empty filter. */
function adding(harness: Harness, kind: FilterPackage, memberCount: number, keys: KeyForms): Candidate {
  const operations = memberCount * kind.shareOfKeys
  let filter: PackageFilter
  const empty = (): void => void (filter = kind.create(memberCount, FALSE_HIT_RATE, keys))
  const run = (): number => {
    filter.add(0, operations)
    return operations
  }
  return harness.timed(kind.name, operations, run, empty)
}

/** Members and strangers, half and half, of a filter with all members. */
function testing(harness: Harness, kind: FilterPackage, memberCount: number, keys: KeyForms): Candidate {
  const filter = kind.create(memberCount, FALSE_HIT_RATE, keys)
  filter.add(0, memberCount)
  const half = (memberCount * kind.shareOfKeys) / 2
  return harness.timed(kind.name, 2 * half, () => {
    const members = filter.count(0, half)
    assert.equal(members, half, 'a member is never missed')
    return members + filter.count(memberCount, memberCount + half)
  })
}

/** Ours on bytes, hashing included, against packages on what they take. */
export const PACKAGES: readonly Measurement[] = [
  {
    name: 'npm packages',
    async run({ harness, quick, progress }) {
      const memberCount = quick ? 16_000 : 96_000
      const keys = keyForms(memberCount)
      const findings: Finding[] = []
      for (const [verb, make] of [
        ['add', adding],
        ['test', testing],
      ] as const) {
        progress(`${verb} with ${PACKAGES_COMPARED.length} packages`)
        const comparison = await harness.compare(
          PACKAGES_COMPARED.map((kind) => make(harness, kind, memberCount, keys)),
        )
        const what = `${verb} at ${memberCount / 1000},000 keys and 1 %`
        findings.push(findingOf(comparison, OURS.name, { name: `${what}: ${OURS.name}` }))
        for (const { name } of NPM_PACKAGES) {
          findings.push(
            findingOf(comparison, name, { name: `${what}: ${name}`, against: OURS.name, goal: goalAgainst(name) }),
          )
        }
      }
      return findings
    },
  },
]
