import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import type { TestProjectConfiguration } from 'vitest/config'
import type { Reporter, TestModule } from 'vitest/node'

// Set by the gate: a tool that is missing, and a test that is skipped, then fail the run.
const requireAll = process.env['SUMMARY_CACHE_REQUIRE_ALL'] === '1'
// Where the gate wants the results as JSON.
const reportFile = process.env['SUMMARY_CACHE_TEST_REPORT']

const chromium = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'

// What the Dockerfile starts from.
const BASE_IMAGE = 'node:26-bookworm-slim'

function runs(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore', timeout: 15_000 }).status === 0
}

function docker(timeoutMs: number, ...args: string[]): boolean {
  return spawnSync('docker', args, { stdio: 'ignore', timeout: timeoutMs }).status === 0
}

/**
 * Why containers cannot be had: docker is not installed, no engine runs, this user may not talk to it, or the base image
 * is neither here nor in reach. Undefined: they can.
 */
function lackOfContainers(): string | undefined {
  if (!docker(15_000, 'info') || !docker(15_000, 'compose', 'version')) return 'no Docker engine with compose answers'
  if (docker(15_000, 'image', 'inspect', BASE_IMAGE) || docker(120_000, 'pull', '--quiet', BASE_IMAGE)) return undefined
  return `the engine has no image ${BASE_IMAGE} and cannot pull it`
}
const noContainers = lackOfContainers()

const missing: string[] = []

/** The project, or none where its tool is missing. */
function whereItRuns(present: boolean, lack: string, project: TestProjectConfiguration): TestProjectConfiguration[] {
  if (present) return [project]
  missing.push(lack)
  return []
}

const refuseSkips: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]) {
    const skipped = modules.flatMap((module) => [...module.children.allTests('skipped')])
    if (skipped.length === 0) return
    process.exitCode = 1
    process.stderr.write(skipped.map((test) => `skipped, which is not allowed here: ${test.fullName}\n`).join(''))
  },
}

const projects: TestProjectConfiguration[] = [
  {
    test: {
      name: 'unit',
      include: ['test/**/*.test.ts'],
      exclude: ['test/browser/**', 'test/container/**', 'test/model/**', 'test/python/**'],
      // On a busy machine: nothing here takes more than a few seconds of CPU.
      testTimeout: 30_000,
      hookTimeout: 60_000,
      sequence: { groupOrder: 0 },
    },
  },
  ...whereItRuns(existsSync(chromium), `no browser at ${chromium} (CHROMIUM_PATH): test/browser is left out`, {
    test: {
      name: 'browser',
      include: ['test/browser/**/*.test.ts'],
      testTimeout: 30_000,
      hookTimeout: 30_000,
      sequence: { groupOrder: 1 },
    },
  }),
  ...whereItRuns(runs('python3', '--version'), 'no python3 on the PATH: test/python is left out', {
    test: { name: 'python', include: ['test/python/**/*.test.ts'], sequence: { groupOrder: 0 } },
  }),
  ...whereItRuns(
    runs('spin', '-V') && runs('gcc', '--version'),
    'no spin or no gcc on the PATH: test/model is left out',
    {
      test: { name: 'model', include: ['test/model/**/*.test.ts'], testTimeout: 180_000, sequence: { groupOrder: 0 } },
    },
  ),
  ...whereItRuns(noContainers === undefined, `${noContainers}: test/container is left out`, {
    test: {
      name: 'container',
      include: ['test/container/**/*.test.ts'],
      // The tests remove what they start; the reaper is an image more to pull.
      env: { TESTCONTAINERS_RYUK_DISABLED: process.env['TESTCONTAINERS_RYUK_DISABLED'] ?? 'true' },
      // Building the image takes a minute where no layer is cached.
      testTimeout: 120_000,
      hookTimeout: 300_000,
      fileParallelism: false,
      sequence: { groupOrder: 2 },
    },
  }),
]

// What takes minutes: only when it is asked for.
const soak: TestProjectConfiguration[] = [
  {
    test: {
      name: 'soak',
      include: ['test/soak/**/*.soak.ts'],
      testTimeout: 3_600_000,
      fileParallelism: false,
      // A thousand proxies in one process have a million replicas.
      execArgv: ['--max-old-space-size=16384'],
      // Hot loops run several times faster as Node loads them.
      experimental: { viteModuleRunner: false },
    },
  },
]

if (missing.length > 0) {
  const line = missing.join('; ')
  if (requireAll) throw new Error(`SUMMARY_CACHE_REQUIRE_ALL is set, and ${line}`)
  process.stderr.write(`${line}\n`)
}

export default defineConfig({
  test: {
    projects: process.env['SUMMARY_CACHE_SOAK'] === '1' ? soak : projects,
    allowOnly: false,
    reporters: [
      'default',
      ...(reportFile === undefined ? [] : [['json', { outputFile: reportFile }] as ['json', { outputFile: string }]]),
      ...(requireAll ? [refuseSkips] : []),
    ],
  },
})
