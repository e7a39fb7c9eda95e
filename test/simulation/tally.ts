import { readFileSync, writeFileSync } from 'node:fs'
import type { PlanRun } from './run-plan.ts'

/** What a run over many seeds has come to, kept between runs. */
export interface Tally {
  /** The seed to go on with. */
  next: number
  seeds: number
  steps: number
  requests: number
  faults: number
  harmed: number
  virtualMs: number
  elapsedMs: number
  /** Seeds that broke a rule. */
  failed: number[]
}

export function newTally(from: number): Tally {
  return { next: from, seeds: 0, steps: 0, requests: 0, faults: 0, harmed: 0, virtualMs: 0, elapsedMs: 0, failed: [] }
}

export function addRun(tally: Tally, seed: number, run: PlanRun, elapsedMs: number): void {
  tally.next = seed + 1
  tally.seeds++
  tally.steps += run.steps
  tally.requests += run.requests
  tally.faults += run.faults
  tally.harmed += run.harmed
  tally.virtualMs += run.virtualMs
  tally.elapsedMs += elapsedMs
  if (run.broken !== undefined) tally.failed.push(seed)
}

export function tallyText(tally: Tally): string {
  const { elapsedMs, failed, faults, harmed, requests, seeds, steps, virtualMs } = tally
  const rate = (seeds / (elapsedMs / 1000)).toFixed(1)
  const hours = (virtualMs / 3_600_000).toFixed(1)
  return (
    `${group(seeds)} seeds (${rate} a second), ${hours} h of virtual time, ${group(steps)} steps, ${group(faults)} faults, ` +
    `${group(harmed)} messages harmed, ${group(requests)} requests; ${group(failed.length)} failed`
  )
}

/** Undefined: there is no such file yet. */
export function readTally(path: string): Tally | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  return JSON.parse(text) as Tally
}

export function writeTally(path: string, tally: Tally): void {
  writeFileSync(path, `${JSON.stringify(tally)}\n`)
}

function group(count: number): string {
  return count.toLocaleString('en')
}
