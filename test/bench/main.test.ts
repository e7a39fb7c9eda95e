import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parseBenchCommand } from './bench-command.ts'

const suites = {
  one: { about: 'the first', measurements: [] },
  two: { about: 'the second', measurements: [] },
}

describe('the arguments', () => {
  test('name suites, which run in their own order and once', () => {
    const run = { suites: ['one', 'two'], json: true, quick: false }
    expect(parseBenchCommand(['two', '--json', 'one', 'two'], suites)).toEqual({ kind: 'run', run })
  })

  test('that name none mean all', () => {
    const run = { suites: ['one', 'two'], json: false, quick: true }
    expect(parseBenchCommand(['--quick'], suites)).toEqual({ kind: 'run', run })
  })

  test('with an option that there is not are refused', () => {
    expect(parseBenchCommand(['--fast'], suites)).toMatchObject({
      kind: 'error',
      text: expect.stringContaining('--fast'),
    })
  })
})

describe('npm run bench', () => {
  const main = join(import.meta.dirname, 'main.ts')
  const bench = (...args: string[]) => spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' })

  test('--help lists the suites', () => {
    const { status, stdout, stderr } = bench('--help')
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    for (const suite of ['filters', 'digests', 'serving']) expect(stdout).toContain(`  ${suite} `)
  })

  test('of an unknown suite names those there are and exits with 2', () => {
    const { status, stdout, stderr } = bench('fliters')
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toBe('no suite is called fliters: there are filters, digests, protocol, serving\n')
  })

  test('ends at once with 130 when interrupted, and leaves nothing behind', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bench-test-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const child = spawn(process.execPath, [main, 'filters', '--json'], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    // The first measurement has been announced.
    await once(child.stderr, 'data')
    expect(readdirSync(folder)).toHaveLength(1)
    child.kill('SIGINT')
    const [code] = (await once(child, 'close')) as [number]
    expect({ code, out }).toEqual({ code: 130, out: '' })
    expect(existsSync(folder)).toBe(true)
    expect(readdirSync(folder)).toEqual([])
  })
})
