import type { Plan } from '../../src/sim/faults.ts'
import { Simulation } from '../../src/sim/simulation.ts'
import { Transcript } from '../../src/sim/transcript.ts'
import type { VirtualProxySeams } from '../../src/sim/virtual-proxy.ts'
import { Invariants } from './invariants.ts'
import { RuleBroken } from './rule-broken.ts'

export interface PlanRun {
  readonly hash: string
  readonly lines: readonly string[] | undefined
  readonly steps: number
  readonly requests: number
  /** Things done to the cluster, and messages harmed by them. */
  readonly faults: number
  readonly harmed: number
  readonly virtualMs: number
  /** Undefined: every rule held. */
  readonly broken: { readonly rule: number; readonly message: string } | undefined
}

export interface RunOptions {
  readonly seams?: VirtualProxySeams
  readonly keepsTranscript?: boolean
}

// Ticks run when no promise has anything left to do.
const settle = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))

/** 0: no rule of PROTOCOL.md, but a fault that the program found itself. */
export const OWN_FAULT = 0

/** Runs a plan from its start to its end, or until a rule is broken. */
export async function runPlan(plan: Plan, options: RunOptions = {}): Promise<PlanRun> {
  const { keepsTranscript = false, seams } = options
  const transcript = new Transcript(keepsTranscript)
  const witness = new Invariants(plan.setting.heartbeatMs)
  const simulation = new Simulation(plan, { settle, witness, transcript, ...(seams && { seams }) })
  let broken: PlanRun['broken']
  let fault: unknown
  const onFault = (error: unknown): void => {
    fault ??= error
  }
  process.on('unhandledRejection', onFault)
  try {
    await simulation.run()
  } catch (error) {
    fault ??= error
  }
  // Rejections that nobody handles are told after the microtasks.
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', onFault)
  if (fault instanceof RuleBroken) broken = { rule: fault.rule, message: fault.message }
  else if (fault !== undefined) broken = { rule: OWN_FAULT, message: textOf(fault) }
  const { counts, network, time } = simulation
  return {
    hash: transcript.hash,
    lines: transcript.lines,
    steps: time.stepCount,
    requests: counts.requests,
    faults: counts.faults,
    harmed: network.harmed,
    virtualMs: time.nowMs,
    broken,
  }
}

function textOf(fault: unknown): string {
  return fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)
}
