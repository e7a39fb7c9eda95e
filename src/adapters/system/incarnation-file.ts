import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** The state directory cannot be used. */
export class StateDirError extends Error {
  override readonly name = 'StateDirError'
  readonly code = 'STATE_DIR'
  constructor(path: string, cause: Error) {
    super(`stateDir: ${path}: ${cause.message}; make it a directory that this user may write to`, { cause })
  }
}

const FILE = 'incarnation'

/**
 * A number for this life of the publisher, greater than that of every life before (PROTOCOL: incarnation): the wall clock's
 * milliseconds, or one more than the last where the clock has stepped back. It is on disk before it is returned.
 *
 * @param stateDir undefined: nothing is kept, and the clock is trusted
 * @throws {StateDirError}
 */
export function nextIncarnation(stateDir: string | undefined, wallMs: number): number {
  if (stateDir === undefined) return wallMs
  const path = join(stateDir, FILE)
  try {
    mkdirSync(stateDir, { recursive: true })
    const incarnation = Math.max(wallMs, lastIncarnation(path) + 1)
    // Written beside and renamed: after a crash there is the old number or the new one, never half of one.
    const file = openSync(`${path}.new`, 'w')
    try {
      writeSync(file, `${incarnation}\n`)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(`${path}.new`, path)
    return incarnation
  } catch (error) {
    throw new StateDirError(path, error as Error)
  }
}

function lastIncarnation(path: string): number {
  let text: string
  try {
    text = readFileSync(path, 'latin1').slice(0, 64).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
  // A damaged file is as good as none: the clock is the floor all the same.
  const last = /^\d{1,16}$/.test(text) ? Number(text) : 0
  return Number.isSafeInteger(last + 1) ? last : 0
}
