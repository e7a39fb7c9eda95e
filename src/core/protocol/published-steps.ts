import { compareNames, type DigestName } from '../digest/digest-name.ts'
import type { StateHead } from '../digest/state-head.ts'

/** A delta or turnover as it was published. */
export interface PublishedStep {
  readonly kind: 'delta' | 'turnover'
  readonly from: DigestName
  /** What it leads to. */
  readonly state: StateHead
  readonly frame: Uint8Array
}

/** The steps published last, without a gap, for peers that missed some of them (PROTOCOL rule 2). */
export class PublishedSteps {
  #steps: PublishedStep[] = []
  #bytes = 0

  /** @param maxBytes of all that is kept: the oldest go first */
  add(step: PublishedStep, maxBytes: number): void {
    this.#steps.push(step)
    this.#bytes += step.frame.length
    let dropped = 0
    while (this.#bytes > maxBytes && dropped < this.#steps.length) this.#bytes -= this.#steps[dropped++]!.frame.length
    if (dropped > 0) this.#steps.splice(0, dropped)
  }

  /** A state was published to which no step leads. */
  clear(): void {
    this.#steps = []
    this.#bytes = 0
  }

  /**
   * Those that lead on from `have`; none where it is the state published last.
   * @param untilSequence of the generation of `have`: where to end, at a state that was published
   * @returns undefined: they do not reach back so far
   */
  since(have: DigestName, last: DigestName, untilSequence?: number): readonly PublishedStep[] | undefined {
    if (compareNames(have, last) === 0) return []
    // The newest are asked for most.
    const first = this.#steps.findLastIndex((step) => compareNames(step.from, have) === 0)
    if (first < 0) return undefined
    const steps = this.#steps.slice(first)
    if (untilSequence === undefined) return steps
    const end = steps.findIndex(
      ({ state: { name } }) => name.generation !== have.generation || name.sequence > untilSequence,
    )
    return end < 0 ? steps : steps.slice(0, end)
  }
}
