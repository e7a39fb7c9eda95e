import type { IncomingMessage } from 'node:http'

/** A want frame is 30 bytes at most; more is not one. */
const MAX_WANT_BYTES = 64
const READING_MS = 5_000

/** A request's whole body; what it is not, when it cannot be a want. 'gone': the asker left. */
export type WantBody =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'too-long' | 'too-slow' | 'gone' }

export function readWant(request: IncomingMessage, readingMs = READING_MS): Promise<WantBody> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    const end = (body: WantBody): void => {
      clearTimeout(timer)
      request.removeListener('data', onData)
      request.removeListener('end', onEnd)
      request.removeListener('close', onClose)
      // What is still to come is not a want's either, and is let pass by.
      request.resume()
      resolve(body)
    }
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      if (size > MAX_WANT_BYTES) end({ kind: 'too-long' })
      else chunks.push(chunk)
    }
    const onEnd = (): void => end({ kind: 'bytes', bytes: Buffer.concat(chunks, size) })
    const onClose = (): void => end({ kind: 'gone' })
    const timer = setTimeout(() => end({ kind: 'too-slow' }), readingMs)
    request.on('data', onData)
    request.once('end', onEnd)
    request.once('close', onClose)
    if (request.destroyed) onClose()
  })
}
