import { parseArgs } from 'node:util'
import { planOf, type Plan } from '../../src/sim/faults.ts'
import { runPlan } from './run-plan.ts'
import { shrinkPlan } from './shrink-plan.ts'
import { addRun, newTally, readTally, tallyText, writeTally } from './tally.ts'

const USAGE = `npm run faults -- [options]: clusters on a hostile network, one for each seed, checked after every step

  --seed N        this seed alone, with its transcript; with --minutes or --seeds the first of many
  --from N        the first seed; 1 by default
  --seeds COUNT   how many
  --minutes M     for how long; 1 by default where --seeds is not given
  --proxies P     in each cluster; 2 to 6 by default
  --record FILE   keeps the tally, and goes on where it ends
`

const PROGRESS_MS = 2_000
const TRANSCRIPT_LINES = 60

const { values } = parsed()

const proxyCount = numberOf('proxies', 2, 1_000)

if (values.help === true) process.stdout.write(USAGE)
else if (values.seed === undefined || values.minutes !== undefined || values.seeds !== undefined) {
  process.exitCode = await runMany()
} else process.exitCode = await replay(numberOf('seed', 0, 2 ** 31)!)

function parsed() {
  try {
    return parseArgs({
      options: {
        seed: { type: 'string' },
        from: { type: 'string' },
        seeds: { type: 'string' },
        minutes: { type: 'string' },
        proxies: { type: 'string' },
        record: { type: 'string' },
        help: { type: 'boolean' },
      },
    })
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`)
    process.exit(2)
  }
}

/** Returns the exit code. */
async function replay(seed: number): Promise<number> {
  const plan = planOf(seed, { proxyCount })
  const run = await runPlan(plan, { keepsTranscript: true })
  process.stdout.write(`${run.lines!.join('\n')}\n`)
  process.stdout.write(`seed ${seed}: ${run.steps} steps, transcript ${run.hash}\n`)
  if (run.broken === undefined) return 0
  await tellFailure(plan, run.broken.rule, run.broken.message)
  return 1
}

async function runMany(): Promise<number> {
  const { record } = values
  const kept = record === undefined ? undefined : readTally(record)
  const tally = kept ?? newTally(numberOf('from', 0, 2 ** 31) ?? numberOf('seed', 0, 2 ** 31) ?? 1)
  const count = numberOf('seeds', 1, 2 ** 31) ?? Infinity
  const minutes = numberOf('minutes', 0, 1e6) ?? (count === Infinity ? 1 : Infinity)
  const startMs = performance.now()
  let saidMs = startMs
  for (let done = 0; done < count && performance.now() - startMs < minutes * 60_000; done++) {
    const seed = tally.next
    const plan = planOf(seed, { proxyCount })
    const beganMs = performance.now()
    const run = await runPlan(plan)
    const nowMs = performance.now()
    addRun(tally, seed, run, nowMs - beganMs)
    if (run.broken !== undefined) {
      if (record !== undefined) writeTally(record, tally)
      await tellFailure(plan, run.broken.rule, run.broken.message)
      return 1
    }
    if (nowMs - saidMs < PROGRESS_MS) continue
    saidMs = nowMs
    process.stdout.write(`seed ${seed}: ${tallyText(tally)}\n`)
    if (record !== undefined) writeTally(record, tally)
  }
  if (record !== undefined) writeTally(record, tally)
  process.stdout.write(`${tallyText(tally)}; goes on with --from ${tally.next}\n`)
  return tally.failed.length === 0 ? 0 : 1
}

async function tellFailure(plan: Plan, rule: number, message: string): Promise<void> {
  const proxies = proxyCount === undefined ? '' : ` --proxies ${proxyCount}`
  process.stdout.write(
    `\nseed ${plan.seed} fails: ${message}\nreplay: npm run faults -- --seed ${plan.seed}${proxies}\n`,
  )
  process.stdout.write('leaving out what it does not take ...\n')
  const { plan: least, run, runs } = await shrinkPlan(plan, rule)
  const { proxyCount: left } = least.setting
  process.stdout.write(
    `after ${runs} runs: ${least.actions.length} of ${plan.actions.length} actions, ${left} proxies; the end of it:\n\n`,
  )
  process.stdout.write(`${run.lines!.slice(-TRANSCRIPT_LINES).join('\n')}\n${''.padStart(24)}${run.broken!.message}\n`)
}

function numberOf(name: 'seed' | 'from' | 'seeds' | 'minutes' | 'proxies', least: number, most: number) {
  const text = values[name]
  if (text === undefined) return undefined
  const value = Number(text)
  if (!(value >= least && value <= most) || (name !== 'minutes' && !Number.isInteger(value))) {
    process.stderr.write(`--${name} ${text}: a number from ${least} to ${most} is needed\n${USAGE}`)
    process.exit(2)
  }
  return value
}
