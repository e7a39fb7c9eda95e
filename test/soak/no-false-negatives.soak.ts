import { expect, test } from 'vitest'
import { FILTER_KINDS } from '../../src/core/filter/filter-kinds.ts'
import { searchFalseMiss } from '../core/filter/random-operations.ts'

// The same with fewer operations is part of test/conformance/filters.test.ts.
const OPERATIONS = 1e8
const PARTS = 20
const MAX_CAPACITY = 100_000

test.each(FILTER_KINDS)('no key is missed in 10^8 random operations: $name', (kind) => {
  let operations = 0
  for (let part = 0; part < PARTS; part++) {
    operations += searchFalseMiss(kind, OPERATIONS / PARTS, MAX_CAPACITY, 1000 + part)
    process.stderr.write(`${kind.name}: ${operations} operations\n`)
  }
  expect(operations).toBeGreaterThanOrEqual(OPERATIONS)
})
