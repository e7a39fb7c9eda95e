import { createHash, createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'

// What proxies that share a key put under a request and its answer (docs/protocol.md, "With a shared key").

const SCHEME = 'Summary-Cache'
export const NONCE_FIELD = 'summary-cache-nonce'
export const MAC_FIELD = 'summary-cache-mac'
export const NONCE_BYTES = 16
/** The field is matched only when it is no longer: a name of 64, a number, 32 and 64 digits, and the words between. */
const MAX_FIELD_CHARS = 300

/** What a signature covers beside its own fields. */
export interface RequestFacts {
  readonly method: string
  /** The request target as written in the request line. */
  readonly path: string
  /** Whom the asker takes the answering proxy for: what was signed for one is of no use at another. */
  readonly publisher: string
  readonly body: Uint8Array
}

export interface RequestSignature {
  readonly asker: string
  /** The asker's wall clock. */
  readonly timeMs: number
  /** Lower-case hexadecimal, as `mac`. */
  readonly nonce: string
  readonly mac: string
}

/** The `Authorization` field of a request. */
export function signRequest(
  key: KeyObject,
  request: RequestFacts,
  { asker, timeMs, nonce }: Omit<RequestSignature, 'mac'>,
): string {
  const mac = requestMac(key, request, asker, timeMs, nonce)
  return `${SCHEME} proxy=${asker}, time=${timeMs}, nonce=${nonce}, mac=${mac}`
}

/** Undefined: the field is of another scheme or not well formed. */
export function parseSignature(field: string): RequestSignature | undefined {
  if (field.length > MAX_FIELD_CHARS) return undefined
  const parts =
    /^Summary-Cache proxy=([A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}), time=(\d{1,16}), nonce=([0-9a-f]{32}), mac=([0-9a-f]{64})$/.exec(
      field,
    )
  if (parts === null) return undefined
  return { asker: parts[1]!, timeMs: Number(parts[2]), nonce: parts[3]!, mac: parts[4]! }
}

export function signatureHolds(key: KeyObject, request: RequestFacts, signature: RequestSignature): boolean {
  const { asker, mac, nonce, timeMs } = signature
  return sameMac(mac, requestMac(key, request, asker, timeMs, nonce))
}

/** Of an answer that is no stream and no snapshot. */
export function answerMac(key: KeyObject, requestNonce: string, status: number, body: Uint8Array): string {
  return macOf(key, ['answer', requestNonce, `${status}`, sha256(body)])
}

/**
 * Of an answer with a snapshot or a part of it.
 * @param frameHash of the whole frame, whatever range of it was asked for
 */
export function snapshotMac(key: KeyObject, path: string, etag: string, frameHash: string): string {
  return macOf(key, ['snapshot', path, etag, frameHash])
}

/** In a time that does not tell where they differ. `given` is anybody's text. */
export function sameMac(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given, 'latin1'), Buffer.from(right, 'latin1')]
  return a.length === b.length && timingSafeEqual(a, b)
}

export function isNonce(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text)
}

function requestMac(key: KeyObject, request: RequestFacts, asker: string, timeMs: number, nonce: string): string {
  const { body, method, path, publisher } = request
  return macOf(key, ['request', method, path, publisher, asker, `${timeMs}`, nonce, sha256(body)])
}

function macOf(key: KeyObject, lines: readonly string[]): string {
  return createHmac('sha256', key).update(lines.join('\n'), 'latin1').digest('hex')
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
