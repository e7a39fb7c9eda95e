import { spawn } from 'node:child_process'
import { once } from 'node:events'

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs the program to its end, as a shell would. */
export async function run(...words: string[]): Promise<Ended> {
  const child = spawn(process.execPath, ['src/cli.ts', ...words])
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, err }
}
