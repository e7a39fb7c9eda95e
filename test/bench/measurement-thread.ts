import assert from 'node:assert'
import { parentPort, workerData } from 'node:worker_threads'
import type { Finding } from './finding.ts'
import { Harness, threadCpuNs } from './harness.ts'
import { SUITES } from './suites.ts'

// Runs one measurement of a suite; started by bench-run.ts.

export interface MeasurementTask {
  readonly suite: string
  readonly measurement: string
  readonly quick: boolean
  readonly folder: string
}

export type MeasurementReport =
  | { readonly kind: 'progress'; readonly text: string }
  | { readonly kind: 'findings'; readonly findings: readonly Finding[] }

assert(parentPort !== null, 'runs as a worker thread only')
const port = parentPort
const report = (message: MeasurementReport): void => port.postMessage(message)

const task = workerData as MeasurementTask
const measurement = SUITES[task.suite]?.measurements.find(({ name }) => name === task.measurement)
assert(measurement !== undefined, `no measurement ${task.suite} ${task.measurement}`)

const findings = await measurement.run({
  harness: new Harness({ rounds: task.quick ? 3 : 7, warmUps: 2, clock: threadCpuNs, random: Math.random }),
  quick: task.quick,
  folder: task.folder,
  progress: (text) => report({ kind: 'progress', text }),
})
report({ kind: 'findings', findings })
