import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

const page = readFileSync('docs/reliability.md', 'utf8')

/** The first cells of the rows of the table below a heading. */
function firstCells(heading: string): string[] {
  const section = page.slice(page.indexOf(`## ${heading}\n`)).split('\n## ')[0]!
  return [...section.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell]) => cell!).slice(2)
}

describe('the page on reliability', () => {
  test('lists the rules that have a broken part which the simulator finds', () => {
    const tests = readFileSync('test/simulation/broken-rules.test.ts', 'utf8')
    const broken = new Set([...tests.matchAll(/^ {4}\[(\d+), '/gm)].map(([, rule]) => rule!))
    expect(firstCells('What is checked')).toEqual([...broken].toSorted((a, b) => Number(a) - Number(b)))
  })

  test('lists every kind of fault that a plan can have', () => {
    const plans = readFileSync('src/sim/faults.ts', 'utf8')
    const kinds = new Set(
      [...plans.matchAll(/^ {2}\| \{[^}]*?readonly kind: '([a-z-]+)'|^ {6}readonly kind: '([a-z-]+)'/gm)].map(
        ([, a, b]) => (a ?? b)!,
      ),
    )
    expect([...kinds].filter((kind) => !['request'].includes(kind))).toHaveLength(11)
    const told = firstCells('What is simulated').flatMap((cell) => cell.split(', '))
    const names = { change: 'origin', 'origin-trouble': 'origin' } as Readonly<Record<string, string>>
    for (const kind of kinds) {
      if (kind !== 'request') expect(told).toContain(names[kind] ?? kind.replace('-', ' '))
    }
  })

  test('names the seeds that the tests run', () => {
    const tests = readFileSync('test/simulation/seeds.test.ts', 'utf8')
    const each = Number(/SEEDS_EACH = (\d+)/.exec(tests)![1])
    const parts = /test\.each\(\[([\d, ]+)\]\)/.exec(tests)![1]!.split(',').length
    expect(page).toContain(`runs ${(each * parts).toLocaleString('en')} seeds`)
  })
})
