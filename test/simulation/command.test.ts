import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { planOf } from '../../src/sim/faults.ts'
import { runPlan } from './run-plan.ts'
import { readTally } from './tally.ts'

function faults(...args: string[]): {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
} {
  return spawnSync(process.execPath, ['test/simulation/main.ts', ...args], { encoding: 'utf8' })
}

test('npm run faults keeps a tally and goes on where it ends', () => {
  const dir = mkdtempSync(join(tmpdir(), 'faults-'))
  try {
    const record = join(dir, 'tally.json')
    const first = faults('--seeds', '3', '--from', '20', '--record', record)
    expect(first.stdout).toMatch(/^3 seeds \(.* a second\), .* 0 failed; goes on with --from 23\n$/)
    expect(first.status).toBe(0)
    expect(faults('--seeds', '2', '--record', record).stdout).toMatch(/^5 seeds .* --from 25\n$/)
    expect(readTally(record)).toMatchObject({ next: 25, seeds: 5, failed: [] })
  } finally {
    rmSync(dir, { recursive: true })
  }
})

test('npm run faults -- --seed N tells what happened, as it happens everywhere', async () => {
  const { stdout, status } = faults('--seed', '24')
  const { hash, steps } = await runPlan(planOf(24))
  expect(stdout).toContain(`seed 24: ${steps} steps, transcript ${hash}\n`)
  expect(stdout).toMatch(/^ +0\.000 +a +starts incarnation \d+, 0 responses kept$/m)
  expect(status).toBe(0)
})

test('npm run faults -- --seed N --seeds COUNT runs so many from there', () => {
  const { stdout, stderr, status } = faults('--seed', '30', '--seeds', '2')
  expect(`${stdout}${stderr}`).toContain('2 seeds')
  expect(`${stdout}${stderr}`).toContain('--from 32')
  expect(status).toBe(0)
})

test('npm run faults names an option that it does not know', () => {
  const { stderr, status } = faults('--sed', '1')
  expect(stderr).toMatch(/'--sed'[^]*--seed N/)
  expect(status).toBe(2)
})

test('npm run faults says which value it cannot use', () => {
  const { stderr, status } = faults('--proxies', 'many')
  expect(stderr).toContain('--proxies many: a number from 2 to 1000 is needed')
  expect(status).toBe(2)
})
