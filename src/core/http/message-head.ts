import type { Fields } from './fields.ts'

/** A request as the rules see it. */
export interface RequestHead {
  readonly method: string
  /** The absolute URL of the resource at its origin, in normal form (after mount mapping). */
  readonly url: string
  readonly fields: Fields
}

/** A final response's head. */
export interface ResponseHead {
  readonly status: number
  readonly reason: string
  readonly fields: Fields
}
