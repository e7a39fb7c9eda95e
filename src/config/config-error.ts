/** One thing wrong with a configuration file, and what to do about it. */
export interface ConfigProblem {
  readonly file: string
  /** From 1, both; 1:1 where the file as a whole is meant. */
  readonly line: number
  readonly column: number
  /** `store.memory`, `peers[2].url`; `(file)` for the file as a whole. */
  readonly keyPath: string
  readonly problem: string
  readonly remedy: string
}

/** A configuration that cannot be used, with everything that is wrong with it, in the order of the file. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly code = 'CONFIG'
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[]) {
    const ordered = problems.toSorted((a, b) => a.line - b.line || a.column - b.column)
    super(ordered.map(formatProblem).join('\n'))
    this.problems = ordered
  }
}

function formatProblem({ file, line, column, keyPath, problem, remedy }: ConfigProblem): string {
  return `${file}:${line}:${column}: ${keyPath}: ${problem}; ${remedy}`
}
