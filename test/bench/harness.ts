/** Nanoseconds of CPU that the calling thread has used. */
export type CpuClock = () => number

// Nobody ever changes or notifies it.
const NEVER = new Int32Array(new SharedArrayBuffer(4))
// Shorter ones are over before they began.
const SHORT_WAIT_MS = 0.05

/**
 * Off by some 20 microseconds of its own: a sample should take milliseconds. What the threads of the garbage collector
 * and the compiler do is not in it.
 */
export function threadCpuNs(): number {
  // The kernel brings a thread's account up to date at its tick, every 4 ms, and whenever the thread waits.
  Atomics.wait(NEVER, 0, 0, SHORT_WAIT_MS)
  const { user, system } = process.threadCpuUsage()
  return (user + system) * 1000
}

/** One of the things compared. */
export interface Candidate {
  readonly name: string
  /** Nanoseconds of CPU for one operation, measured over many. */
  sample(): number | Promise<number>
}

export interface Range {
  readonly min: number
  readonly median: number
  readonly max: number
}

/**
 * Of several things measured in rounds. Each round takes them all, in random order: what the machine does beside hits
 * all alike, and a ratio within a round stays near the truth where the figures themselves do not.
 */
export class Comparison {
  readonly #samples: ReadonlyMap<string, readonly number[]>

  /** @param samples of each candidate, as many as there were rounds, in their order */
  constructor(samples: ReadonlyMap<string, readonly number[]>) {
    this.#samples = samples
  }

  range(name: string): Range {
    return rangeOf(this.#of(name))
  }

  /** The median of what `name` takes for each of what `reference` took in the same round. */
  ratio(name: string, reference: string): number {
    const references = this.#of(reference)
    return median(this.#of(name).map((value, round) => value / references[round]!))
  }

  #of(name: string): readonly number[] {
    const samples = this.#samples.get(name)
    if (samples === undefined) throw new RangeError(`nothing was measured as ${name}`)
    return samples
  }
}

export interface HarnessOptions {
  readonly rounds: number
  /** Samples of each candidate that are thrown away, so that the compiler has seen it. */
  readonly warmUps: number
  readonly clock: CpuClock
  /** Uniform in [0, 1). */
  readonly random: () => number
}

export class Harness {
  readonly #options: HarnessOptions
  // What the measured code returned ends here, so that the compiler cannot leave it out.
  #kept = 0

  constructor(options: HarnessOptions) {
    this.#options = options
  }

  /** The sum of all results of what was measured. */
  get kept(): number {
    return this.#kept
  }

  /**
   * @param operations that one call of `run` does
   * @param prepare is not measured
   */
  timed(name: string, operations: number, run: () => number, prepare?: () => void): Candidate {
    return {
      name,
      sample: () => {
        prepare?.()
        const { clock } = this.#options
        const before = clock()
        this.#kept += run()
        return (clock() - before) / operations
      },
    }
  }

  /** The same for what waits: whatever this thread does meanwhile counts. */
  timedAsync(name: string, operations: number, run: () => Promise<number>): Candidate {
    return {
      name,
      sample: async () => {
        const { clock } = this.#options
        const before = clock()
        const result = await run()
        const took = clock() - before
        this.#kept += result
        return took / operations
      },
    }
  }

  async compare(candidates: readonly Candidate[]): Promise<Comparison> {
    const { rounds, warmUps, random } = this.#options
    const samples = new Map<string, number[]>(candidates.map(({ name }) => [name, []]))
    if (samples.size !== candidates.length) throw new RangeError('two candidates have one name')
    for (let round = -warmUps; round < rounds; round++) {
      for (const candidate of shuffled(candidates, random)) {
        const value = await candidate.sample()
        if (round >= 0) samples.get(candidate.name)!.push(value)
      }
    }
    return new Comparison(samples)
  }
}

export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('the median of nothing')
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2
}

function rangeOf(values: readonly number[]): Range {
  return { min: Math.min(...values), median: median(values), max: Math.max(...values) }
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const order = [...items]
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[order[i], order[j]] = [order[j]!, order[i]!]
  }
  return order
}
