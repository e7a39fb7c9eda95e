import type { Action, Plan } from '../../src/sim/faults.ts'
import { runPlan, type PlanRun } from './run-plan.ts'
import type { VirtualProxySeams } from '../../src/sim/virtual-proxy.ts'

const MAX_RUNS = 1_000
const SHORT_WAIT_MS = 400

export interface ShrunkPlan {
  readonly plan: Plan
  /** Of the shrunk plan, with its transcript. */
  readonly run: PlanRun
  readonly runs: number
}

/**
 * The least that is found to break the same rule: actions, then proxies, are left out as long as it is still broken (delta
 * debugging: Zeller and Hildebrandt 2002, ddmin without the complements' order).
 */
export async function shrinkPlan(broken: Plan, rule: number, seams?: VirtualProxySeams): Promise<ShrunkPlan> {
  let runs = 0
  const options = seams === undefined ? {} : { seams }
  const stillBreaks = async (plan: Plan): Promise<boolean> => {
    if (runs === MAX_RUNS) return false
    runs++
    return (await runPlan(plan, options)).broken?.rule === rule
  }

  let plan = broken
  for (let isSmaller = true; isSmaller;) {
    const before = plan
    plan = await withFewerActions(plan, stillBreaks)
    plan = await withFewerProxies(plan, stillBreaks)
    plan = await withShorterWaits(plan, stillBreaks)
    plan = await withLessTime(plan, stillBreaks)
    isSmaller = plan !== before && runs < MAX_RUNS
  }
  return { plan, run: await runPlan(plan, { ...options, keepsTranscript: true }), runs }
}

type Test = (plan: Plan) => Promise<boolean>

async function withFewerActions(plan: Plan, stillBreaks: Test): Promise<Plan> {
  let smallest = plan
  for (let chunk = Math.ceil(plan.actions.length / 2); chunk >= 1; chunk = chunk === 1 ? 0 : Math.ceil(chunk / 2)) {
    for (let from = 0; from < smallest.actions.length;) {
      const actions = smallest.actions.toSpliced(from, chunk)
      const candidate = { ...smallest, actions }
      if (await stillBreaks(candidate)) smallest = candidate
      else from += chunk
    }
  }
  return smallest
}

async function withFewerProxies(plan: Plan, stillBreaks: Test): Promise<Plan> {
  let smallest = plan
  for (let index = plan.setting.proxyCount - 1; index >= 0 && smallest.setting.proxyCount > 2; index--) {
    const candidate = withoutProxy(smallest, index)
    if (await stillBreaks(candidate)) smallest = candidate
  }
  return smallest
}

/** Where nothing is done for long, what comes after is done earlier. */
async function withShorterWaits(plan: Plan, stillBreaks: Test): Promise<Plan> {
  let smallest = plan
  for (let index = 0; index < smallest.actions.length; index++) {
    const { actions } = smallest
    const spareMs = actions[index]!.atMs - (actions[index - 1]?.atMs ?? 0) - SHORT_WAIT_MS
    for (let earlierMs = spareMs; earlierMs >= SHORT_WAIT_MS; earlierMs = Math.floor(earlierMs / 2)) {
      const moved = actions.slice(0, index)
      for (const action of actions.slice(index)) moved.push({ ...action, atMs: action.atMs - earlierMs })
      const candidate = { ...smallest, actions: moved }
      if (!(await stillBreaks(candidate))) continue
      smallest = candidate
      break
    }
  }
  return smallest
}

async function withLessTime(plan: Plan, stillBreaks: Test): Promise<Plan> {
  const lastMs = plan.actions.at(-1)?.atMs ?? 0
  const durationMs = lastMs + 1_000
  if (durationMs >= plan.setting.durationMs) return plan
  const candidate = { ...plan, setting: { ...plan.setting, durationMs } }
  return (await stillBreaks(candidate)) ? candidate : plan
}

/** Those behind it move up by one. */
function withoutProxy(plan: Plan, index: number): Plan {
  const { setting } = plan
  const moved = (proxy: number): number => (proxy > index ? proxy - 1 : proxy)
  const actions: Action[] = []
  for (const action of plan.actions) {
    if ('proxy' in action) {
      if (action.proxy !== index) actions.push({ ...action, proxy: moved(action.proxy) })
    } else if (action.kind === 'link') {
      const { from, to } = action
      if (from !== index && to !== index) actions.push({ ...action, from: moved(from), to: moved(to) })
    } else if (action.kind === 'partition') {
      actions.push({ ...action, side: action.side.filter((proxy) => proxy !== index).map(moved) })
    } else {
      actions.push(action)
    }
  }
  const versions = setting.versions.toSpliced(index, 1)
  return { ...plan, setting: { ...setting, proxyCount: setting.proxyCount - 1, versions }, actions }
}
