import type { KeyObject } from 'node:crypto'
import type { Clock } from '../../proxy/ports.ts'
import { parseSignature, signatureHolds, type RequestFacts } from './request-signature.ts'

export type Admission =
  | { readonly kind: 'admitted'; readonly asker: string; readonly nonce: string }
  | { readonly kind: 'refused'; readonly problem: string }

/** Clocks of a cluster may differ by this much. */
const MAX_SKEW_MS = 60_000
// A time may lie a minute ahead, and is good until a minute after it: so long a nonce is remembered, or twice that.
const REMEMBERED_MS = 2 * MAX_SKEW_MS
/** Signed requests in that time at most; a cluster of a thousand proxies makes some ten thousand. */
const MAX_NONCES = 65_536

/** Lets in requests that are signed with the cluster's key, each once. */
export class RequestGuard {
  readonly #key: KeyObject
  readonly #clock: Clock
  // Two sets by age: the older one goes as a whole.
  #nonces = new Set<string>()
  #olderNonces = new Set<string>()
  #turnAtMs: number

  constructor(key: KeyObject, clock: Clock) {
    this.#key = key
    this.#clock = clock
    this.#turnAtMs = clock.monotonicMs() + REMEMBERED_MS
  }

  /** @param field its `Authorization` */
  admit(field: string | undefined, request: RequestFacts): Admission {
    if (field === undefined) return refused('a signature with the key of this cluster is needed')
    const signature = parseSignature(field)
    if (signature === undefined) return refused('its Authorization is no signature of this protocol')
    // Before all else: whoever has not the key learns nothing about our clock or about nonces.
    if (!signatureHolds(this.#key, request, signature)) {
      return refused(`its signature does not hold for ${request.publisher}: it has another key`)
    }
    const aheadMs = signature.timeMs - this.#clock.wallMs()
    if (Math.abs(aheadMs) > MAX_SKEW_MS) {
      const seconds = Math.round(Math.abs(aheadMs) / 1000)
      const limit = MAX_SKEW_MS / 1000
      return refused(
        `its clock is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} ours, and ${limit} s are allowed`,
      )
    }
    this.#turn()
    if (this.#nonces.has(signature.nonce) || this.#olderNonces.has(signature.nonce)) {
      return refused('it has been sent before')
    }
    if (this.#nonces.size >= MAX_NONCES) return refused('too many signed requests have come within two minutes')
    this.#nonces.add(signature.nonce)
    return { kind: 'admitted', asker: signature.asker, nonce: signature.nonce }
  }

  #turn(): void {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs < this.#turnAtMs) return
    // After a long silence both are old.
    this.#olderNonces = nowMs < this.#turnAtMs + REMEMBERED_MS ? this.#nonces : new Set()
    this.#nonces = new Set()
    this.#turnAtMs = nowMs + REMEMBERED_MS
  }
}

function refused(problem: string): Admission {
  return { kind: 'refused', problem }
}
