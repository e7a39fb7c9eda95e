/** So much at once, and so much a second after that. Amounts are bytes, or steps of work: whoever takes them says. */
export interface Budget {
  readonly burst: number
  readonly perSecond: number
}

/** What is left of a budget. */
export class TokenBucket {
  readonly #budget: Budget
  #left: number
  #nowMs = -Infinity

  constructor(budget: Budget) {
    this.#budget = budget
    this.#left = budget.burst
  }

  /** Takes `amount` if it is there; it may then overdraw, so that one of any size passes when the bucket is full. */
  take(amount: number, nowMs: number): boolean {
    this.#refill(nowMs)
    if (this.#left <= 0) return false
    this.#left -= amount
    return true
  }

  /** Until something can be taken again. */
  waitMs(nowMs: number): number {
    this.#refill(nowMs)
    return this.#left > 0 ? 0 : Math.ceil((1 - this.#left) / (this.#budget.perSecond / 1000))
  }

  #refill(nowMs: number): void {
    if (nowMs <= this.#nowMs) return
    const passedMs = this.#nowMs === -Infinity ? 0 : nowMs - this.#nowMs
    this.#left = Math.min(this.#budget.burst, this.#left + (passedMs * this.#budget.perSecond) / 1000)
    this.#nowMs = nowMs
  }
}
