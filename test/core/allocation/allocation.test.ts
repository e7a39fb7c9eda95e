import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

// A young generation of a megabyte: 300,000 lookups that allocate 16 bytes each would be collected after several times.
const FLAGS = ['--trace-gc', '--max-semi-space-size=1', '--min-semi-space-size=1', '--single-threaded']

/** The lookups that were measured, and those during which memory was collected. */
function run(): { readonly measured: readonly string[]; readonly collected: ReadonlySet<string> } {
  const script = 'test/core/allocation/lookups.ts'
  const lines = execFileSync(process.execPath, [...FLAGS, script], { encoding: 'utf8' }).split('\n')
  const measured: string[] = []
  const collected = new Set<string>()
  let current: string | undefined
  for (const line of lines) {
    if (line.startsWith('begin ')) current = line.slice('begin '.length)
    else if (line.startsWith('end ')) {
      measured.push(current!)
      current = undefined
    } else if (current !== undefined && / ms: (Scavenge|Mark-Compact)/.test(line)) collected.add(current)
  }
  expect(lines.some((line) => / ms: Scavenge/.test(line))).toBe(true)
  return { measured, collected }
}

test('no lookup allocates, by any hash, in any kind of filter or among any peers', () => {
  const { collected, measured } = run()
  expect(measured).toHaveLength(15)
  // What allocates does so each time; the compiler, which has its own times, once in a while.
  const again = collected.size === 0 ? collected : run().collected
  expect([...collected.intersection(again)]).toEqual([])
}, 60_000)
