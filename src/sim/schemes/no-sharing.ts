import { NO_CLAIMS, type SchemeKind, type SharingScheme } from './sharing-scheme.ts'

const NO_SHARING: SharingScheme = {
  claims: () => NO_CLAIMS,
  start: () => undefined,
  advance: () => undefined,
  candidates: () => [],
  falseHitCause: () => 'unknown',
}

/** A miss goes to the origin: the lowest hit ratio, at no cost. */
export const noSharing: SchemeKind = {
  create: () => NO_SHARING,
  shares: false,
  messages: () => ({ messagesPaper: 0, messagesFull: 0, finding: 0, bytes: 0 }),
}
