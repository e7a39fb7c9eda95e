import { COMMON_LOG } from './common-log.ts'
import { SQUID_ACCESS_LOG } from './squid-access-log.ts'
import type { TraceFormat } from './trace-record.ts'

/** Every log format that can be read, by name. */
export const traceFormats = {
  squid: SQUID_ACCESS_LOG,
  common: COMMON_LOG,
} as const satisfies Readonly<Record<string, TraceFormat>>

/** The format that the line is of, whether or not it is a request that could be replayed. */
export function formatOf(line: string, originUrl: string): TraceFormat | undefined {
  return Object.values(traceFormats).find((format) => format.parse(line, originUrl) !== 'structure')
}
