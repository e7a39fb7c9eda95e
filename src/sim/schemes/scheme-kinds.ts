import { icp } from './icp.ts'
import { noSharing } from './no-sharing.ts'
import type { SchemeKind } from './sharing-scheme.ts'
import { summaryCache } from './summary-cache.ts'

/** Every way of sharing that can be simulated, by name, in the order of the report. */
export const schemeKinds = {
  'no-sharing': noSharing,
  icp,
  'summary-cache': summaryCache,
} as const satisfies Readonly<Record<string, SchemeKind>>

export type SchemeName = keyof typeof schemeKinds
