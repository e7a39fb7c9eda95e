import { isHeuristicallyCacheable } from '../../core/http/freshness.ts'
import type { TraceRecord } from './trace-record.ts'

/** Why a request is left out. */
export const DROP_REASONS = ['method', 'status', 'query', 'cgi'] as const
export type DropReason = (typeof DROP_REASONS)[number]

/**
 * What becomes of a request: looked up in the caches, passed on to the origin as no cache may answer it, or left out of
 * the trace.
 */
export type FilterVerdict = 'lookup' | 'pass' | DropReason

/** What Cao and Irani (1997) keep of a proxy's log, and later replays of server logs: 304, 410 and GET alone. */
const PAPER_STATUSES: ReadonlySet<number> = new Set([200, 203, 206, 300, 301, 304, 410])
const CGI = /cgi[-_]bin/i

/** Which requests of a log are replayed. */
export const requestFilters = {
  /** Documents alone, as in the paper: nothing that was made by a program for one request. A 206 counts as it is logged. */
  paper({ method, status, url }: TraceRecord): FilterVerdict {
    if (method !== 'GET') return 'method'
    if (!PAPER_STATUSES.has(status)) return 'status'
    if (url.includes('?')) return 'query'
    return CGI.test(url) ? 'cgi' : 'lookup'
  },
  /** Every request; those that RFC 9110 and 9111 let no cache answer by a guess pass, and a part of a document (206). */
  all({ method, status }: TraceRecord): FilterVerdict {
    const isCacheable = status === 304 || (isHeuristicallyCacheable(status) && status !== 206)
    return method === 'GET' && isCacheable ? 'lookup' : 'pass'
  },
} as const
export type FilterKind = keyof typeof requestFilters
