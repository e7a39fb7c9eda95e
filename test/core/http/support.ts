import { Fields } from '../../../src/core/http/fields.ts'
import type { ExchangeTimes } from '../../../src/core/http/freshness.ts'
import { formatHttpDate } from '../../../src/core/http/http-date.ts'
import type { RequestHead, ResponseHead } from '../../../src/core/http/message-head.ts'
import { storedHead } from '../../../src/core/http/stored-head.ts'
import type { StoredHead } from '../../../src/core/http/stored-head.ts'

// The wall clock at the start. The monotonic one starts elsewhere, so that a mix-up of the two shows.
export const START_WALL_MS = Date.UTC(2026, 5, 1, 12)
export const START_MS = 5_000_000

/** One field or several lines of it. */
export type FieldTable = Readonly<Record<string, string | readonly string[]>>

export function fieldsOf(table: FieldTable): Fields {
  return new Fields(Object.entries(table).flatMap(([name, value]) => [value].flat().flatMap((line) => [name, line])))
}

export function get(table: FieldTable = {}): RequestHead {
  return { method: 'GET', url: 'http://www.example.com/', fields: fieldsOf(table) }
}

export function response(table: FieldTable, status = 200): ResponseHead {
  return { status, reason: 'OK', fields: fieldsOf(table) }
}

/** The HTTP date `seconds` after the start. */
export function date(seconds: number): string {
  return formatHttpDate(START_WALL_MS + seconds * 1000)
}

/** The monotonic moment `seconds` after the start. */
export function at(seconds: number): number {
  return START_MS + seconds * 1000
}

/** An exchange that took no time, `seconds` after the start. */
export function timesAt(seconds: number): ExchangeTimes {
  return { requestedMs: at(seconds), receivedMs: at(seconds), receivedWallMs: START_WALL_MS + seconds * 1000 }
}

export function storedAt(seconds: number, table: FieldTable, request = get(), status = 200): StoredHead {
  return storedHead(request, response(table, status), timesAt(seconds))
}
