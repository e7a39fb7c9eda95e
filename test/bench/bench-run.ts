import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { BenchRun } from './bench-command.ts'
import { toJson, toMarkdown, type Finding } from './finding.ts'
import type { MeasurementReport, MeasurementTask } from './measurement-thread.ts'
import { SUITES } from './suites.ts'

export interface BenchOutput {
  readonly result: (text: string) => void
  readonly progress: (text: string) => void
}

/**
 * Runs the measurements one after the other, each in a thread of its own, and prints what they found.
 * @throws the signal's reason, once it is aborted; nothing is left behind then either
 */
export async function runBench(run: BenchRun, output: BenchOutput, signal: AbortSignal): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'summary-cache-bench-'))
  const all: Finding[] = []
  try {
    for (const suite of run.suites) {
      const findings: Finding[] = []
      for (const { name: measurement } of SUITES[suite]!.measurements) {
        output.progress(`${suite}: ${measurement}\n`)
        findings.push(...(await measure({ suite, measurement, quick: run.quick, folder }, output, signal)))
      }
      if (!run.json) output.result(`## ${suite}\n\n${toMarkdown(findings)}\n`)
      all.push(...findings)
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  if (run.json) output.result(toJson(all))
}

async function measure(task: MeasurementTask, output: BenchOutput, signal: AbortSignal): Promise<readonly Finding[]> {
  signal.throwIfAborted()
  const thread = new Worker(new URL('./measurement-thread.ts', import.meta.url), { workerData: task })
  // Also in the midst of a loop that never waits.
  const stop = (): void => void thread.terminate()
  signal.addEventListener('abort', stop)
  try {
    let findings: readonly Finding[] | undefined
    thread.on('message', (report: MeasurementReport) => {
      if (report.kind === 'progress') output.progress(`  ${report.text}\n`)
      else findings = report.findings
    })
    // Rejects with what the thread threw.
    await once(thread, 'exit')
    signal.throwIfAborted()
    if (findings === undefined) throw new Error(`${task.suite}: ${task.measurement} ended without a result`)
    return findings
  } finally {
    signal.removeEventListener('abort', stop)
    await thread.terminate()
  }
}
