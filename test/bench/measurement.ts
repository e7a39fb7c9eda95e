import type { Finding } from './finding.ts'
import type { Harness } from './harness.ts'

/** What a measurement is given. */
export interface MeasurementContext {
  readonly harness: Harness
  /** Smaller sizes: to see that it runs, not what it says. */
  readonly quick: boolean
  /** An empty folder or what earlier measurements of the run left in it; removed at the end. */
  readonly folder: string
  /** Says what takes long. */
  readonly progress: (text: string) => void
}

/**
 * Runs in a thread of its own: what one teaches the compiler about a function that many call would slow the others, as no
 * program that keeps to one kind of filter sees it.
 */
export interface Measurement {
  readonly name: string
  run(context: MeasurementContext): Promise<readonly Finding[]>
}

export interface Suite {
  readonly about: string
  readonly measurements: readonly Measurement[]
}
