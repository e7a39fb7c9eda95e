import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { mix32 } from '../../../src/core/filter/murmur3.ts'
import { seedSum, seedWords } from '../../../src/core/filter/seeded-words.ts'
import { seededWordsModel } from './seeded-keys.ts'

test('the words of a key and a seed are those of unbounded integers, be its own given signed or not', () => {
  const word = fc.integer({ min: 0, max: 0xffffffff })
  fc.assert(
    fc.property(word, word, word, word, word, (h0, h1, h2, h3, seed) => {
      const seeds = seedWords(seed)
      const expected = seededWordsModel({ h0, h1, h2, h3 }, seed).map(Number)
      for (const h of [
        [h0, h1, h2, h3],
        [h0 | 0, h1 | 0, h2 | 0, h3 | 0],
      ] as const) {
        const t = seedSum(...h, seeds)
        expect(h.map((own, i) => mix32((own + t) ^ seeds[i]!) >>> 0)).toEqual(expected)
      }
    }),
  )
})
