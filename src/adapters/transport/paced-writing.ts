import type { ServerResponse } from 'node:http'

const SLICE_BYTES = 64 * 1024
/** So long may a reader take nothing at all, */
const STALL_MS = 10_000
/** and so long the whole: a snapshot is read on from where it broke off. */
const WRITING_MS = 120_000

export interface WritingLimits {
  readonly stallMs: number
  readonly totalMs: number
}

/**
 * Writes a body at its reader's pace and ends the answer. A reader that is too slow is cut off.
 * @returns 'gone': it left before the end; 'slow': it was cut off
 */
export async function writePaced(
  response: ServerResponse,
  parts: readonly Uint8Array[],
  { stallMs, totalMs }: WritingLimits = { stallMs: STALL_MS, totalMs: WRITING_MS },
): Promise<'written' | 'gone' | 'slow'> {
  const untilMs = performance.now() + totalMs
  for (const part of parts) {
    for (let at = 0; at < part.length; at += SLICE_BYTES) {
      if (response.destroyed) return 'gone'
      if (response.write(part.subarray(at, at + SLICE_BYTES))) continue
      const waitMs = Math.min(stallMs, untilMs - performance.now())
      const end = waitMs > 0 ? await drained(response, waitMs) : 'slow'
      if (end === 'slow') response.destroy()
      if (end !== 'drained') return end
    }
  }
  response.end()
  return 'written'
}

/** A pause ends with room in the buffer, with the connection, or with time. */
function drained(response: ServerResponse, waitMs: number): Promise<'drained' | 'gone' | 'slow'> {
  return new Promise((resolve) => {
    const end = (how: 'drained' | 'gone' | 'slow') => (): void => {
      clearTimeout(timer)
      response.removeListener('drain', onDrain)
      response.removeListener('close', onClose)
      resolve(how)
    }
    const onDrain = end('drained')
    const onClose = end('gone')
    const timer = setTimeout(end('slow'), waitMs)
    response.once('drain', onDrain)
    response.once('close', onClose)
    if (response.destroyed) onClose()
  })
}
