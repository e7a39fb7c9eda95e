import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'

/** Follow each frame of a stream between proxies that share a key. */
export const TAG_BYTES = 16

/** The tags of one stream, at either end of it: each is good for one frame, in one place of one stream. */
export class FrameMac {
  readonly #streamKey: Buffer
  readonly #number = Buffer.alloc(8)
  #count = 0n

  /** @param requestNonce, answerNonce lower-case hexadecimal: each end has chosen one, so that no stream is like another */
  constructor(key: KeyObject, requestNonce: string, answerNonce: string) {
    this.#streamKey = createHmac('sha256', key).update(`stream\n${requestNonce}\n${answerNonce}`).digest()
  }

  /** Of the next frame. */
  tag(frame: Uint8Array): Uint8Array {
    this.#number.writeBigUInt64BE(this.#count++)
    return createHmac('sha256', this.#streamKey).update(this.#number).update(frame).digest().subarray(0, TAG_BYTES)
  }

  /** The next frame without its tag; undefined when that is not its tag. */
  untagged(bytes: Uint8Array): Uint8Array | undefined {
    const end = bytes.length - TAG_BYTES
    if (end < 0) return undefined
    const frame = bytes.subarray(0, end)
    return timingSafeEqual(this.tag(frame), bytes.subarray(end)) ? frame : undefined
  }
}
