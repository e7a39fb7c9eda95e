import { BitArray } from '../../../src/core/filter/bit-array.ts'
import { FilterMemory } from '../../../src/core/filter/wasm/filter-memory.ts'
import { findingOf } from '../finding.ts'
import type { Measurement } from '../measurement.ts'
import { fillAtRandom } from './random-words.ts'

const MEGABYTE = 2 ** 20

/** Work on whole digests, against a plain copy of as many bytes. */
export const BULK: readonly Measurement[] = [
  {
    name: 'bulk',
    async run({ harness, quick }) {
      const megabytes = quick ? 4 : 64
      const bitCount = megabytes * MEGABYTE * 8
      const memory = new FilterMemory((2 * bitCount) / 8)
      const inMemory = (): BitArray => new BitArray(bitCount, memory.allocateWords(bitCount / 32), memory)
      const [fastTarget, fastSource] = [inMemory(), inMemory()]
      const target = new BitArray(bitCount)
      const source = new BitArray(bitCount)
      fillAtRandom(source.words, 7, 5, 1)
      fillAtRandom(target.words, 7, 5, 2)
      fastTarget.copyFrom(target)
      fastSource.copyFrom(source)

      const name = (what: string): string => `${what}, ${megabytes} MB`
      const copy = name('copy')
      const comparison = await harness.compare([
        harness.timed(copy, 1, () => {
          target.copyFrom(source)
          return target.words[0]!
        }),
        harness.timed(name('OR'), 1, () => {
          target.orFrom(source)
          return target.words[0]!
        }),
        harness.timed(name('OR, WebAssembly'), 1, () => {
          fastTarget.orFrom(fastSource)
          return fastTarget.words[0]!
        }),
        harness.timed(name('count set bits'), 1, () => source.countSet()),
        harness.timed(name('count set bits, WebAssembly'), 1, () => fastSource.countSet()),
      ])
      return [
        findingOf(comparison, copy, { unit: 'ms' }),
        findingOf(comparison, name('OR'), { unit: 'ms', against: copy }),
        findingOf(comparison, name('OR, WebAssembly'), {
          unit: 'ms',
          against: copy,
          goal: { of: 'ratio', is: 'at most', limit: 1.3 },
        }),
        findingOf(comparison, name('count set bits'), { unit: 'ms', against: copy }),
        findingOf(comparison, name('count set bits, WebAssembly'), { unit: 'ms', against: copy }),
      ]
    },
  },
]
