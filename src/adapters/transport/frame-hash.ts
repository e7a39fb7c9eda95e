import { createHash } from 'node:crypto'

/** Some milliseconds of hashing: a large digest's frame takes half a second, in which requests are to be served. */
const SLICE_BYTES = 4 * 1024 * 1024

/** SHA-256 of a frame in lower-case hexadecimal, worked out in slices. The frame must not change meanwhile. */
export async function frameHash(frame: Uint8Array): Promise<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < frame.length; at += SLICE_BYTES) {
    if (at > 0) await new Promise((resolve) => setImmediate(resolve))
    hash.update(frame.subarray(at, at + SLICE_BYTES))
  }
  return hash.digest('hex')
}
