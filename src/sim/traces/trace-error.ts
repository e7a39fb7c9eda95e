/** A trace that cannot be read: which, why, and what to do about it. */
export class TraceError extends Error {
  override readonly name = 'TraceError'
  readonly code = 'TRACE'
  constructor(file: string, problem: string, remedy: string, options?: ErrorOptions) {
    super(`${file}: ${problem}; ${remedy}`, options)
  }
}
