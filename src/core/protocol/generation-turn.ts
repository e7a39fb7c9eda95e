import { BitDifference, WholeState } from '../digest/bit-changes.ts'
import { ChangeEncoder } from '../digest/change-encoder.ts'
import type { DigestName } from '../digest/digest-name.ts'
import type { StateHead } from '../digest/state-head.ts'
import { ChecksumAudit } from '../filter/checksum-audit.ts'
import type { ClaimSource } from '../filter/claim-source.ts'
import type { SummaryDrift } from '../filter/generation-build.ts'
import type { BitsProof, Summary } from '../filter/summary.ts'
import type { GenerationPlan } from './generation-policy.ts'

/**
 * 'built': `fix` comes next. 'measured': what it amounts to and how long its frame would be is known; `begin` comes next,
 * or nothing where it is to be fetched whole. 'written': its frame is there.
 */
export type TurnPhase = 'building' | 'built' | 'measuring' | 'measured' | 'writing' | 'written'

const NOTHING: BitsProof = { setBitCount: 0, checksumHi: 0, checksumLo: 0 }

/** The next generation on its way from the summary's bits to a frame, in slices (PROTOCOL rules 3 and 5). */
export class GenerationTurn {
  readonly plan: GenerationPlan
  readonly #summary: Summary
  #audit: ChecksumAudit | undefined
  #encoder: ChangeEncoder | undefined
  #phase: TurnPhase = 'building'
  #isWhole = false
  #hasChecksumFault = false
  #drift: SummaryDrift | undefined
  #changedAtMs = Infinity

  /** @param source the directory, where there is one: without it no filter is filled anew */
  constructor(plan: GenerationPlan, summary: Summary, source: ClaimSource | undefined) {
    this.plan = plan
    this.#summary = summary
    if (plan.refill === undefined || source === undefined) {
      summary.beginGeneration()
    } else {
      this.#audit = new ChecksumAudit(summary.published)
      summary.beginGeneration({ geometry: plan.refill, source })
    }
  }

  /** Of the oldest change that it carries and that had not been published before. */
  get changedAtMs(): number {
    return this.#changedAtMs
  }

  /** Whether the state can only be told whole: it has another size, or what was published before is not what it seemed. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Whether the published bits were found not to be what their checksum said. */
  get hasChecksumFault(): boolean {
    return this.#hasChecksumFault
  }

  /** Between summary and directory; undefined where they were not compared. */
  get drift(): SummaryDrift | undefined {
    return this.#drift
  }

  /** Goes on by about `maxSteps`, some tens of nanoseconds each, until something has to be decided. */
  work(maxSteps: number): TurnPhase {
    if (this.#phase === 'building') this.#build(maxSteps)
    else if (this.#phase === 'measuring' && !this.#encoder!.measure(maxSteps)) this.#phase = 'measured'
    else if (this.#phase === 'writing' && !this.#encoder!.write(maxSteps)) this.#phase = 'written'
    return this.#phase
  }

  /** A delta of the present generation has published the bit. */
  rose(position: number): void {
    this.#audit?.rose(position)
  }

  /**
   * Its bits stand from now on.
   * @param changedAtMs of the oldest change that has not been published
   */
  fix(changedAtMs: number): void {
    const summary = this.#summary
    const { checksum, published, setBitCount } = summary
    this.#drift = summary.build!.drift
    const bits = summary.fixGeneration()
    if (bits.bitCount !== published.bitCount) this.#isWhole = true
    const before = { setBitCount, checksumHi: checksum.hi, checksumLo: checksum.lo }
    this.#encoder = this.#isWhole
      ? new ChangeEncoder(new WholeState(bits), NOTHING)
      : new ChangeEncoder(new BitDifference(published, bits), before)
    this.#changedAtMs = changedAtMs
    this.#phase = 'measuring'
  }

  /** Once measured. */
  get after(): BitsProof {
    return this.#encoder!.after
  }

  /** Of the turnover, once measured. */
  get frameBytes(): number {
    return this.#encoder!.frameBytes(false)
  }

  begin(from: DigestName, state: StateHead): void {
    this.#encoder!.begin(from, state)
    this.#phase = 'writing'
  }

  /** Once written. */
  get frame(): Uint8Array {
    return this.#encoder!.frame
  }

  #build(maxSteps: number): void {
    const audit = this.#audit
    if (audit === undefined) {
      if (!this.#summary.buildGeneration(maxSteps)) this.#phase = 'built'
      return
    }
    if (audit.work(maxSteps)) return
    this.#audit = undefined
    // Bits that a fault has changed are published whole, by another name.
    this.#hasChecksumFault = !audit.agreesWith(this.#summary.checksum)
    this.#isWhole = this.#hasChecksumFault
  }
}
