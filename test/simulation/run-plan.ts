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
const OWN_FAULT = 0

/** Runs a plan from its start to its end, or until a rule is broken. */
export async function runPlan(plan: Plan, options: RunOptions = {}): Promise<PlanRun> {
  const { keepsTranscript = false, seams } = options
  const transcript = new Transcript(keepsTranscript)
  const witness = new Invariants(plan.setting.heartbeatMs)
  const simulation = new Simulation(plan, { settle, witness, transcript, ...(seams && { seams }) })
  const faults: unknown[] = []
  const onRejection = (error: unknown): void => void faults.unshift(error)
  process.on('unhandledRejection', onRejection)
  try {
    await simulation.run()
  } catch (error) {
    faults.push(error)
  }
  // Rejections that nobody handles are told when there are no more ticks. What they are about came first.
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', onRejection)
  const [fault] = faults
  const { counts, network, time } = simulation
  return {
    hash: transcript.hash,
    lines: transcript.lines,
    steps: time.stepCount,
    requests: counts.requests,
    faults: counts.faults,
    harmed: network.harmed,
    virtualMs: time.nowMs,
    broken: fault === undefined ? undefined : brokenBy(fault),
  }
}

function brokenBy(fault: unknown): PlanRun['broken'] {
  if (fault instanceof RuleBroken) return { rule: fault.rule, message: fault.message }
  return { rule: OWN_FAULT, message: fault instanceof Error ? (fault.stack ?? fault.message) : String(fault) }
}
