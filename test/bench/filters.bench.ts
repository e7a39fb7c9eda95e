import { describe, test } from 'vitest'
import { CountingBloomFilter } from '../../src/core/filter/counting-bloom-filter.ts'
import { geometryFor } from '../../src/core/filter/filter-geometry.ts'
import { murmur3 } from '../../src/core/filter/murmur3.ts'
import { PositionList } from '../../src/core/filter/position-list.ts'
import { Summary } from '../../src/core/filter/summary.ts'
import { cacheKey } from '../../src/core/http/cache-key.ts'

// Each case does this many operations, so that the runner's own cost does not count: divide by it.
const OPERATIONS = 10_000
const keys = Array.from({ length: OPERATIONS }, (_, i) => cacheKey(`http://origin.example/path/to/object-${i}.tar.gz`))
const strangers = Array.from({ length: OPERATIONS }, (_, i) => cacheKey(`http://elsewhere.example/${i}`))
const url = Buffer.from('GET http://origin.example/path/to/a/file-of-sixty-bytes.tar.gz')
const view = new DataView(url.buffer, url.byteOffset, url.length)

describe('ten thousand operations of a filter for 10^6 entries', () => {
  test('hashing, adding, looking up', async ({ bench }) => {
    const out = new Uint32Array(4)
    const geometry = geometryFor(1_000_000)
    const filter = new CountingBloomFilter(geometry)
    const flipped = new PositionList()
    const summary = new Summary(geometry)
    for (const key of keys) summary.add(key)
    await bench.compare(
      bench('hash 60 bytes', () => {
        for (let i = 0; i < OPERATIONS; i++) murmur3(view, 0, url.length, out)
      }),
      bench('counting filter: add and remove', () => {
        for (const key of keys) filter.add(key, flipped)
        for (const key of keys) filter.remove(key, flipped)
        flipped.clear()
      }),
      bench('summary: look up what is there', () => {
        for (const key of keys) summary.mayContain(key)
      }),
      bench('summary: look up what is not', () => {
        for (const key of strangers) summary.mayContain(key)
      }),
    )
  })
})
