import { readFileSync, statSync } from 'node:fs'

export type SmallFile =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'unreadable'; readonly problem: string }

/** A whole file of at most `maxBytes`. Links are followed; a device or a pipe could keep us waiting and is refused. */
export function readSmallFile(path: string, maxBytes: number): SmallFile {
  try {
    const facts = statSync(path)
    if (!facts.isFile()) return { kind: 'unreadable', problem: `${path} is not a file` }
    if (facts.size > maxBytes) return { kind: 'unreadable', problem: `${path} has more than ${maxBytes} bytes` }
    return { kind: 'text', text: readFileSync(path, 'utf8') }
  } catch (error) {
    // ENOENT, EACCES and their like: their text names the file.
    if (error instanceof Error && 'code' in error) return { kind: 'unreadable', problem: error.message }
    throw error
  }
}
