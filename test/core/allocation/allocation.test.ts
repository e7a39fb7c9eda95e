import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

// A young generation of a megabyte: 300,000 lookups that allocate 16 bytes each would be collected after several times.
const FLAGS = ['--trace-gc', '--max-semi-space-size=1', '--min-semi-space-size=1', '--single-threaded']

test('no lookup allocates, by any hash, in any kind of filter or among any peers', () => {
  const script = 'test/core/allocation/lookups.ts'
  const lines = execFileSync(process.execPath, [...FLAGS, script], { encoding: 'utf8' }).split('\n')
  const measured: string[] = []
  const collected: string[] = []
  let current: string | undefined
  for (const line of lines) {
    if (line.startsWith('begin ')) current = line.slice('begin '.length)
    else if (line.startsWith('end ')) {
      measured.push(current!)
      current = undefined
    } else if (current !== undefined && / ms: (Scavenge|Mark-Compact)/.test(line)) collected.push(current)
  }
  expect(lines.some((line) => / ms: Scavenge/.test(line))).toBe(true)
  expect(measured).toHaveLength(15)
  expect(collected).toEqual([])
}, 30_000)
