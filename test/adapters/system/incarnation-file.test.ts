import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nextIncarnation, StateDirError } from '../../../src/adapters/system/incarnation-file.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'summary-cache-state-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('each life is greater than every one before, also when the clock has stepped back', () => {
  expect(nextIncarnation(folder, 1_000)).toBe(1_000)
  expect(nextIncarnation(folder, 5_000)).toBe(5_000)
  expect(nextIncarnation(folder, 2_000)).toBe(5_001)
  expect(nextIncarnation(folder, 2_000)).toBe(5_002)
})

test('without a directory the clock alone counts', () => {
  expect(nextIncarnation(undefined, 7)).toBe(7)
})

test('a directory that is missing is made, and nothing but the number stays in it', () => {
  const below = join(folder, 'a', 'b')
  nextIncarnation(below, 1)
  expect(readdirSync(below)).toEqual(['incarnation'])
})

test.each(['', 'nonsense', '-5', '99999999999999999999', '\u0000'])(
  'a damaged file (%j) is as good as none',
  (text) => {
    writeFileSync(join(folder, 'incarnation'), text)
    expect(nextIncarnation(folder, 1_000)).toBe(1_000)
  },
)

test('a directory that cannot be used is an error that names it', () => {
  writeFileSync(join(folder, 'file'), '')
  expect(() => nextIncarnation(join(folder, 'file'), 1)).toThrow(StateDirError)
  expect(() => nextIncarnation(join(folder, 'file'), 1)).toThrow(/stateDir: .*file.*directory/)
})
