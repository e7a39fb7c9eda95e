/** A rule of PROTOCOL.md that does not hold. */
export class RuleBroken extends Error {
  override readonly name = 'RuleBroken'
  readonly rule: number
  constructor(rule: number, problem: string) {
    super(`rule ${rule}: ${problem}`)
    this.rule = rule
  }
}

/** The first thing found wrong: what is seen in the middle of a step is told at its end. */
export class Findings {
  #first: RuleBroken | undefined

  add(rule: number, problem: string): void {
    this.#first ??= new RuleBroken(rule, problem)
  }

  expect(isSo: boolean, rule: number, problem: () => string): void {
    if (!isSo) this.add(rule, problem())
  }

  /** @throws {RuleBroken} */
  tell(): void {
    if (this.#first !== undefined) throw this.#first
  }
}
