import type { ResponseHead } from '../core/http/message-head.ts'
import type { Outcome } from './proxy-event.ts'

/** What goes back to a client. */
export interface Reply<B> {
  readonly head: ResponseHead
  /** A string: our own words. Undefined: none. Either read to its end or released. */
  readonly body: B | string | undefined
  /** What Content-Length shall say; undefined when it is not known. */
  readonly bodyBytes: number | undefined
  readonly outcome: Outcome
  /** Host of the origin or name of the peer that answered. */
  readonly server: string | undefined
  release(): void
}
