/** A datagram, frame or body that breaks its format. Count it, drop it; it never stops the proxy. */
export class MalformedMessageError extends Error {
  override readonly name = 'MalformedMessageError'
  readonly code = 'MALFORMED_MESSAGE'
  readonly byteOffset: number
  constructor(format: string, byteOffset: number, problem: string) {
    super(`${format}: ${problem} at byte ${byteOffset}`)
    this.byteOffset = byteOffset
  }
}
