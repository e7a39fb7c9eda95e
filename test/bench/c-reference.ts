import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

const SOURCE = fileURLToPath(new URL('./reference.c', import.meta.url))
const FLAGS = ['-O3', '-march=native', '-Wall', '-Wextra', '-Werror']

/** The reference cannot be built. */
class CompilerError extends Error {
  override readonly name = 'CompilerError'
  readonly code = 'COMPILER'
}

export interface ReferenceFilter {
  readonly wordsFile: string
  readonly bitCount: number
  readonly probeCount: number
}

export interface ReferenceAnswer {
  /** CPU nanoseconds for each key. */
  readonly ns: number
  /** The sum of all h0 modulo 2^32, or the number of keys claimed. */
  readonly result: number
}

/** The C program reference.c, running; it answers one question at a time. */
export class CReference {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: AsyncIterator<string>

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  }

  /**
   * @param folder where it is compiled, unless it has been
   * @param keysFile keys of `keyBytes` each, one after the other
   * @throws {CompilerError} there is no compiler, or it cannot compile it
   */
  static start(folder: string, keysFile: string, keyBytes: number, filter?: ReferenceFilter): CReference {
    const program = compiledIn(folder)
    const args = [keysFile, String(keyBytes)]
    if (filter !== undefined) args.push(filter.wordsFile, String(filter.bitCount), String(filter.probeCount))
    return new CReference(spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] }))
  }

  /** Of `count` keys from key `first` on, all of them so many times over. */
  async ask(verb: 'hash' | 'lookup', first: number, count: number, times = 1): Promise<ReferenceAnswer> {
    this.#child.stdin.write(`${verb} ${first} ${count} ${times}\n`)
    const line = await this.#lines.next()
    if (line.done === true) throw new Error(`the C reference ended with ${this.#child.exitCode ?? 'no answer'}`)
    const [ns, result] = line.value.split(' ').map(Number)
    return { ns: ns!, result: result! }
  }

  async close(): Promise<void> {
    this.#child.stdin.end()
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit')
  }
}

function compiledIn(folder: string): string {
  const program = join(folder, 'reference')
  if (existsSync(program)) return program
  const { error, status, stderr } = spawnSync('gcc', [...FLAGS, '-o', program, SOURCE], { encoding: 'utf8' })
  if (error !== undefined) {
    const lack = 'code' in error && error.code === 'ENOENT' ? 'gcc is not installed' : error.message
    throw new CompilerError(
      `${lack}: the filters are measured against C (Debian, Ubuntu: apt-get install gcc libc6-dev)`,
    )
  }
  if (status !== 0) throw new CompilerError(`gcc cannot compile ${SOURCE}:\n${stderr}`)
  return program
}
