import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const run = promisify(execFile)

interface Exploration {
  readonly model: 'digest-protocol' | 'double-buffer'
  /** The model's own switches. */
  readonly define: readonly string[]
  /** Looks for runs without end that are fair and break the model's formula; else for states that break a rule. */
  readonly isFair?: boolean
  /** A search that ends early is not worth an optimizing compiler. */
  readonly isShort?: boolean
}

// Deeper than any of these models is. A search that met it would say so, and fail.
const MAX_DEPTH = 3_000_000
const MAX_MEGABYTES = 2_000

let folder: string
let count = 0
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'summary-cache-model-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** What spin's verifier says at the end of its search. */
async function explored({ model, define, isFair = false, isShort = false }: Exploration): Promise<string> {
  const cwd = mkdtempSync(join(folder, `${count++}-`))
  await run('spin', [...define.map((name) => `-D${name}`), '-a', resolve(`test/model/${model}.pml`)], { cwd })
  const search = isFair ? '-DNFAIR=2' : '-DSAFETY'
  await run('gcc', [isShort ? '-O0' : '-O2', '-w', search, `-DMEMLIM=${MAX_MEGABYTES}`, '-o', 'pan', 'pan.c'], { cwd })
  const { stdout } = await run(join(cwd, 'pan'), ['-n', `-m${MAX_DEPTH}`, ...(isFair ? ['-a', '-f'] : [])], { cwd })
  return stdout
}

/** States seen by a search that went through all of them and found nothing. */
function statesOf(output: string): number {
  expect(output).toContain('Full statespace search for:')
  expect(output).toMatch(/errors: 0$/m)
  expect(output).not.toContain('max search depth too small')
  expect(output).not.toContain('Search not completed')
  expect(output).toMatch(/^\s+assertion violations\s+\+/m)
  return Number(/^\s*(\S+) states, stored/m.exec(output)?.[1])
}

describe.concurrent('everything that can happen is explored, and the rules hold', () => {
  test('rules 1, 2, 3 and 9: a publisher and a follower, over a network that loses, repeats, reorders and damages', async () => {
    expect(statesOf(await explored({ model: 'digest-protocol', define: [] }))).toBeGreaterThan(2_000_000)
  })

  test('rule 2: changes that come ahead of several gaps wait for one another', async () => {
    const define = ['WAITING=2', 'FAULTS=0']
    expect(statesOf(await explored({ model: 'digest-protocol', define }))).toBeGreaterThan(400_000)
  })

  test('rules 1, 2, 3 and 9: three peers, a publisher and two followers', async () => {
    const define = ['FOLLOWERS=2', 'STATES=3', 'BITS=1', 'WAITING=1', 'FAULTS=0']
    expect(statesOf(await explored({ model: 'digest-protocol', define }))).toBeGreaterThan(500_000)
  })

  test.each([
    ['STATES=3', 'BITS=1', 'WAITING=1'],
    ['STATES=3', 'BITS=2', 'WAITING=1', 'FAULTS=0'],
  ])('rule 2: a follower comes to hold what was published last, whatever came before (%s, %s)', async (...define) => {
    const output = await explored({ model: 'digest-protocol', define: ['CONVERGENCE', ...define], isFair: true })
    expect(output).toMatch(/acceptance\s+cycles\s+\+ \(fairness enabled\)/)
    expect(statesOf(output)).toBeGreaterThan(100_000)
  })

  test.each([
    ['READERS=1', 'BITS=2'],
    ['READERS=2', 'BITS=1'],
  ])('rule 4: readers, and a writer that builds, swaps and raises bits (%s, %s)', async (...define) => {
    expect(statesOf(await explored({ model: 'double-buffer', define }))).toBeGreaterThan(500_000)
  })
})

describe.concurrent('a model that breaks a rule is found out', () => {
  const ofMessages = [
    ['1', 'what is not proved is taken', 'BREAK_RULE_1', 'rule_1_exact'],
    ['2', 'bits rise before the proof', 'BREAK_RULE_2', 'rule_2_prove_then_raise'],
    ['2', 'deltas merge by XOR', 'BREAK_RULE_2_OR', 'rule_2_no_harm'],
    ['2', 'a gap is passed over', 'BREAK_RULE_2_GAP', 'rule_2_gap_is_seen'],
    ['3', 'bits fall inside a generation', 'BREAK_RULE_3', 'rule_3_bits_fall_by_turnover'],
    ['9', 'an older incarnation is taken', 'BREAK_RULE_9', 'rule_9_old_incarnation_refused'],
    ['9', 'a new incarnation leaves the old replica', 'BREAK_RULE_9_NEW', 'rule_9_old_replica_thrown_away'],
    ['9', 'a goodbye leaves what is being built', 'BREAK_RULE_9_GOODBYE', 'rule_9_goodbye'],
  ] as const
  test.each(ofMessages)('rule %s: spin finds that %s', async (_rule, _breach, define, assertion) => {
    const output = await explored({ model: 'digest-protocol', define: [define], isShort: true })
    expect(output).toContain(`assertion violated ${assertion} `)
  })

  const ofBuffers = [
    ['a buffer is built in though a reader is inside', 'BREAK_RULE_4', 'rule_4_no_mixture'],
    ['a reader does not look again', 'BREAK_RULE_4_LOOK_AGAIN', 'rule_4_no_mixture'],
    ['the active buffer is built in', 'BREAK_RULE_4_IN_PLACE', 'rule_4_no_mixture'],
    ['a pool of two has no room beside a reader that sleeps', 'POOL=2', 'rule_4_writer_goes_on'],
  ] as const
  test.each(ofBuffers)('rule 4: spin finds that %s', async (_breach, define, assertion) => {
    const output = await explored({ model: 'double-buffer', define: [define], isShort: true })
    expect(output).toContain(`assertion violated ${assertion} `)
  })

  test('rule 2: spin finds that a follower which does not ask for what it lacks stays behind', async () => {
    const define = ['CONVERGENCE', 'BREAK_CONVERGENCE', 'STATES=3', 'BITS=1', 'WAITING=1']
    const output = await explored({ model: 'digest-protocol', define, isFair: true, isShort: true })
    expect(output).toMatch(/^pan:1: acceptance cycle /m)
  })
})
