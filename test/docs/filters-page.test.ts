import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FILTER_KINDS, KeyHashList, KeyHasher, MAX_BIT_COUNT, MAX_PROBE_COUNT } from '../../src/filters.ts'
import * as door from '../../src/filters.ts'

const page = readFileSync('docs/filters.md', 'utf8')
const examples = [...page.matchAll(/```js\n([^`]+)```/g)].map(([, code]) => code!)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'summary-cache-page-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('the examples run, and print what stands beside them', () => {
  test.each(examples.map((code, i) => [i, code] as const))('example %d', (i, code) => {
    const file = join(folder, `example-${i}.mjs`)
    writeFileSync(file, code.replaceAll("'summary-cache/filters'", `'${resolve('src/filters.ts')}'`))
    const said = execFileSync(process.execPath, [file], { encoding: 'utf8' }).split('\n').filter(Boolean)
    expect(said).toEqual([...code.matchAll(/console\.log\(.*\) \/\/ (\w+)/g)].map(([, value]) => value))
  })
})

test('every kind has its row, with its class, what it can do and its number in the format', () => {
  const names = new Set(Object.keys(door))
  for (const { name, code, can } of FILTER_KINDS) {
    const row = new RegExp(`^\\| \`${name}\` \\| \`(\\w+)\` \\| ([^|]+) \\|`, 'm').exec(page)
    expect(names).toContain(row?.[1])
    if (can.remove) expect(row?.[2]).toContain('remove')
    if (can.unite && name !== 'blocked-bloom') expect(row?.[2]).toContain('unite')
    expect(page).toMatch(new RegExp(`^\\| ${code} ${name} \\|`, 'm'))
    // Measured: what the benchmark prints of it.
    expect(page).toMatch(new RegExp(`^\\| ${name} +\\|( +[\\d.]+ +\\|){4}( +[\\d.]+ % +\\|){2}$`, 'm'))
  }
})

test('the errors that it names can be had', () => {
  const named = [...page.matchAll(/`(\w+Error)`/g)].map(([, name]) => name!)
  expect(named.length).toBeGreaterThan(3)
  expect(named.filter((name) => !(name in door) && name !== 'RangeError')).toEqual([])
})

test('the limits that it names are those of the code, and every kind has some', () => {
  expect(page).toContain(`m from 1 to 2^${Math.log2(MAX_BIT_COUNT)}, k from 1 to ${MAX_PROBE_COUNT} |`)
  expect(page).toContain(`blocks from 1 to 2^${Math.log2(MAX_BIT_COUNT / 512)}, k from`)
  const limits = page.slice(page.indexOf('| | limits |'))
  for (const { name, code } of FILTER_KINDS) expect(limits).toContain(`${code} ${name}`)
})

test('of scheme 2 there is every kind but the scalable filter', () => {
  const hasher = KeyHasher.md5(16)
  const keys = new KeyHashList()
  keys.push(hasher.hashText('apple'))
  const fails = FILTER_KINDS.filter((kind) => {
    try {
      kind.build(keys, 0.1, hasher.hashing)
      return false
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      return true
    }
  })
  expect(fails.map(({ name }) => name)).toEqual(['scalable-bloom'])
  expect(page).toContain('no form for scheme 2')
})
