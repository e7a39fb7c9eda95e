import { describe, expect, test } from 'vitest'
import { countedFinding, findingOf, isMet, toJson, toMarkdown, type Finding } from './finding.ts'
import { Comparison } from './harness.ts'

const comparison = new Comparison(
  new Map([
    ['ours', [2_000, 3_000, 4_000]],
    ['theirs', [4_000, 6_000, 8_000]],
  ]),
)

describe('a finding', () => {
  test('has the median, its range in the same unit, and the ratio to its reference', () => {
    expect(findingOf(comparison, 'ours', { against: 'theirs', unit: 'µs' })).toEqual({
      name: 'ours',
      value: 3,
      unit: 'µs',
      reference: 'theirs',
      ratio: 0.5,
      range: { min: 2, median: 3, max: 4 },
    })
  })

  test.each([
    ['value', 'at most', 3, true],
    ['value', 'at most', 2.9, false],
    ['ratio', 'at most', 0.5, true],
    ['ratio', 'at least', 0.6, false],
    ['value', 'at least', 3, true],
  ] as const)('of 3 and a ratio of 0.5 meets "%s %s %d": %s', (of, is, limit, met) => {
    expect(isMet(countedFinding('a', 3, 'ns', { reference: 'b', ratio: 0.5 }), { of, is, limit })).toBe(met)
  })

  test('without a ratio meets no goal for one', () => {
    expect(isMet(countedFinding('a', 3, 'ns'), { of: 'ratio', is: 'at least', limit: 0 })).toBe(false)
  })
})

describe('what is printed', () => {
  const goal = { of: 'value', is: 'at most', limit: 2 } as const
  const findings: Finding[] = [
    findingOf(comparison, 'theirs', { unit: 'µs' }),
    findingOf(comparison, 'ours', { against: 'theirs', unit: 'µs', goal }),
    countedFinding('xor: size', 9.84, 'bits/key', { cell: { table: 'Kinds', row: 'xor', column: 'bits' } }),
    countedFinding('xor: rate', 0.39, '%', { cell: { table: 'Kinds', row: 'xor', column: 'rate' } }),
    countedFinding('cuckoo: size', 11.6, 'bits/key', { cell: { table: 'Kinds', row: 'cuckoo', column: 'bits' } }),
  ]

  test('as JSON has five fields for each finding and no more', () => {
    expect(JSON.parse(toJson(findings))).toEqual([
      { name: 'theirs', value: 6, unit: 'µs', reference: null, ratio: null },
      { name: 'ours', value: 3, unit: 'µs', reference: 'theirs', ratio: 0.5 },
      { name: 'xor: size', value: 9.84, unit: 'bits/key', reference: null, ratio: null },
      { name: 'xor: rate', value: 0.39, unit: '%', reference: null, ratio: null },
      { name: 'cuckoo: size', value: 11.6, unit: 'bits/key', reference: null, ratio: null },
    ])
  })

  test('as text is a line for each, and a table of those with a place in one', () => {
    expect(toMarkdown(findings).split('\n')).toEqual([
      '|        | median |   min to max | unit | ratio |     to |                 goal |',
      '| ------ | -----: | -----------: | ---: | ----: | -----: | -------------------: |',
      '| theirs |   6.00 | 4.00 to 8.00 |   µs |       |        |                      |',
      '| ours   |   3.00 | 2.00 to 4.00 |   µs | 0.500 | theirs | at most 2 µs: missed |',
      '',
      'Kinds:',
      '',
      '|        | bits |    rate |',
      '| ------ | ---: | ------: |',
      '| xor    | 9.84 | 0.390 % |',
      '| cuckoo | 11.6 |         |',
      '',
    ])
  })
})
