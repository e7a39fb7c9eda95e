// With an optimal load the chance that any of m counters reaches 16 is below 1.37e-15 m (Summary Cache, "Bloom
// filters"). A full counter sticks: never decrementing it costs at worst a false hit, while decrementing it could
// cost a false miss.
const COUNTER_MAX = 15

/** A counter at 0 was to be decremented: something was removed that had not been added. Our bug, not bad input. */
export class CounterUnderflowError extends Error {
  override readonly name = 'CounterUnderflowError'
  readonly code = 'COUNTER_UNDERFLOW'
  readonly counterIndex: number
  constructor(counterIndex: number) {
    super(`counter ${counterIndex} is 0 and cannot be decremented`)
    this.counterIndex = counterIndex
  }
}

/** 4-bit counters, eight to a 32-bit word. One that has reached 15 stays there. */
export class CounterArray {
  readonly counterCount: number
  readonly #words: Uint32Array

  constructor(counterCount: number) {
    this.counterCount = counterCount
    this.#words = new Uint32Array(Math.ceil(counterCount / 8))
  }

  get(index: number): number {
    return (this.#words[index >>> 3]! >>> ((index & 7) * 4)) & COUNTER_MAX
  }

  /** Returns the value after. */
  increment(index: number): number {
    const value = this.get(index)
    if (value === COUNTER_MAX) return COUNTER_MAX
    this.#words[index >>> 3]! += 1 << ((index & 7) * 4)
    return value + 1
  }

  /**
   * Returns the value after.
   * @throws {CounterUnderflowError}
   */
  decrement(index: number): number {
    const value = this.get(index)
    if (value === 0) throw new CounterUnderflowError(index)
    if (value === COUNTER_MAX) return COUNTER_MAX
    this.#words[index >>> 3]! -= 1 << ((index & 7) * 4)
    return value - 1
  }
}
