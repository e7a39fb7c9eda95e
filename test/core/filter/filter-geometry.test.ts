import { describe, expect, test } from 'vitest'
import {
  digestGeometryProblem,
  geometryFor,
  geometryProblem,
  sameGeometry,
  UNKEYED,
} from '../../../src/core/filter/filter-geometry.ts'

describe('the geometry for a directory', () => {
  test.each([
    [0, 64],
    [1, 64],
    [4, 64],
    [5, 128],
    [65_536, 2 ** 20],
    [65_537, 2 ** 21],
    [1e12, 2 ** 31],
  ])('of %d entries has %d bits', (entries, bitCount) => {
    expect(geometryFor(entries)).toEqual({ hashScheme: 1, keyId: 0, keyRules: 1, bitCount, probeCount: 4 })
    expect(digestGeometryProblem(geometryFor(entries), UNKEYED)).toBeUndefined()
  })

  test('takes other load factors and probe counts', () => {
    expect(geometryFor(1000, 8, 6)).toMatchObject({ bitCount: 8192, probeCount: 6 })
  })
})

test.each([
  [{ hashScheme: 2 }, 'unknown hash scheme 2'],
  [{ keyRules: 0 }, 'unknown cache-key rules 0'],
  [{ keyId: 7 }, 'unknown key 7, where ours is not keyed: set the same cluster.key on all'],
  [{ hashScheme: 3, keyId: 7 }, 'keyed with key 7, where ours is not keyed: set the same cluster.key on all'],
  [{ bitCount: 0 }, 'bit count 0 out of range'],
  [{ bitCount: 32 }, 'bit count 32 out of range'],
  [{ bitCount: 2 ** 32 }, 'bit count 4294967296 out of range'],
  [{ bitCount: 100 }, 'bit count 100 is no power of two'],
  [{ bitCount: NaN }, 'bit count NaN out of range'],
  [{ probeCount: 0 }, 'probe count 0 out of range'],
  [{ probeCount: 17 }, 'probe count 17 out of range'],
  [{ probeCount: 1.5 }, 'probe count 1.5 out of range'],
])('a digest whose geometry has %o is refused by name', (change, problem) => {
  expect(digestGeometryProblem({ ...geometryFor(100), ...change }, UNKEYED)).toBe(problem)
})

test('rule 8: keyed and unkeyed digests never meet, nor those of two keys', () => {
  const keyed = { ...geometryFor(100), hashScheme: 3, keyId: 7 }
  expect(digestGeometryProblem(keyed, keyed)).toBeUndefined()
  expect(digestGeometryProblem(geometryFor(100), keyed)).toMatch(/^not keyed, where ours is keyed with key 7/)
  expect(digestGeometryProblem({ ...keyed, keyId: 8 }, keyed)).toMatch(
    /^keyed with key 8, where ours is keyed with key 7/,
  )
  expect(sameGeometry(keyed, { ...keyed, keyId: 8 })).toBe(false)
})

test.each([
  [{ hashScheme: 4 }, 'unknown hash scheme 4'],
  [{ keyRules: 2 }, 'unknown cache-key rules 2'],
  [{ keyId: 7 }, 'key 7 for a hash scheme without keys'],
  [{ hashScheme: 3 }, 'no key named for a keyed hash scheme'],
  [{ bitCount: 0 }, 'bit count 0 out of range'],
  [{ bitCount: 2 ** 31 + 1 }, 'bit count 2147483649 out of range'],
  [{ bitCount: 1.5 }, 'bit count 1.5 out of range'],
  [{ probeCount: 0 }, 'probe count 0 out of range'],
  [{ probeCount: 17 }, 'probe count 17 out of range'],
])('a filter whose geometry has %o is refused by name', (change, problem) => {
  expect(geometryProblem({ ...geometryFor(100), ...change })).toBe(problem)
})

test.each([{ bitCount: 1 }, { bitCount: 100 }, { hashScheme: 2 }, { hashScheme: 3, keyId: 1 }, { keyRules: 0 }])(
  'a filter may have %o, which no digest that is not keyed has',
  (change) => {
    const geometry = { ...geometryFor(100), ...change }
    expect(geometryProblem(geometry)).toBeUndefined()
    expect(digestGeometryProblem(geometry, UNKEYED)).toBeDefined()
  },
)

test('digests of two geometries that differ in any field do not merge', () => {
  const own = geometryFor(100)
  expect(sameGeometry(own, { ...own })).toBe(true)
  for (const field of Object.keys(own)) expect(sameGeometry(own, { ...own, [field]: 99 })).toBe(false)
})
