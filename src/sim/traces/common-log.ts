import { clientName } from './client-name.ts'
import { urlOfTarget } from './log-url.ts'
import type { ParsedLine, TraceFormat } from './trace-record.ts'

/** The common log format of web servers, and the combined one, whose referrer and user agent are of no use here. */
export const COMMON_LOG: TraceFormat = { name: 'common', sizeSlackBytes: 0, parse: parseCommonLine }

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const TIME = /^(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)$/
const TIME_LENGTH = '17/May/2015:10:05:03 +0000'.length
// From the quote that ends the request on. Sticky, so that it is tried there and nowhere else.
const AFTER_REQUEST = /" +(\d{1,3}) +(\d{1,15}|-)(?= |$)/y
const AFTER_REQUEST_SIZELESS = /" +\d{3} *(?:$|"| )/y
const REQUEST = /^([A-Za-z-]{1,20}) +(.+?)(?: +HTTP\/\d(?:\.\d)?)?$/

/** `client ident user [time] "method target protocol" status bytes`, and whatever follows. */
export function parseCommonLine(line: string, originUrl: string): ParsedLine {
  const clientEnd = line.indexOf(' ')
  // A user's name may hold spaces; none holds a bracket.
  const timeStart = clientEnd < 1 ? -1 : line.indexOf('[', clientEnd) + 1
  const timeEnd = timeStart + TIME_LENGTH
  if (timeStart < 1 || line[timeEnd] !== ']' || !line.startsWith(' "', timeEnd + 1)) return 'structure'
  const requestStart = timeEnd + 3
  const end = requestEnd(line, requestStart)
  if (typeof end === 'string') return end
  const timeMs = timeOf(line.slice(timeStart, timeEnd))
  if (timeMs === undefined) return 'time'

  const request = REQUEST.exec(unescaped(line.slice(requestStart, end.at)))
  if (request === null) return 'no-request'
  const method = request[1]!
  if (method === 'CONNECT') return 'tunnel'
  if (end.status < 100 || end.status > 599) return 'status'
  const url = urlOfTarget(request[2]!, originUrl)
  if (url === undefined) return 'url'
  const bodyBytes = end.status === 304 ? undefined : end.bodyBytes
  return { timeMs, client: clientName(line.slice(0, clientEnd)), method, url, status: end.status, bodyBytes }
}

interface RequestEnd {
  readonly at: number
  readonly status: number
  readonly bodyBytes: number | undefined
}

/** Quotes in a request are escaped by most servers and not by all: its end is the first that a status follows. */
function requestEnd(line: string, from: number): RequestEnd | 'size' | 'structure' {
  let sizeless = false
  for (let at = line.indexOf('"', from); at >= 0; at = line.indexOf('"', at + 1)) {
    if (isEscaped(line, at, from)) continue
    AFTER_REQUEST.lastIndex = at
    const found = AFTER_REQUEST.exec(line)
    if (found !== null) {
      return { at, status: Number(found[1]), bodyBytes: found[2] === '-' ? undefined : Number(found[2]) }
    }
    AFTER_REQUEST_SIZELESS.lastIndex = at
    sizeless ||= AFTER_REQUEST_SIZELESS.test(line)
  }
  return sizeless ? 'size' : 'structure'
}

function isEscaped(line: string, at: number, from: number): boolean {
  let backslashes = 0
  while (at - backslashes > from && line[at - backslashes - 1] === '\\') backslashes++
  return backslashes % 2 === 1
}

/** Apache's and nginx's escapes: `\"`, `\\`, `\x22`. */
function unescaped(text: string): string {
  if (!text.includes('\\')) return text
  return text.replaceAll(/\\(?:x([0-9A-Fa-f]{2})|(["\\]))/g, (_, hex: string | undefined, char: string | undefined) =>
    hex === undefined ? char! : String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

function timeOf(text: string): number | undefined {
  const match = TIME.exec(text)
  if (match === null) return undefined
  const [day, year, hour, minute, second] = [1, 3, 4, 5, 6].map((group) => Number(match[group])) as [
    number,
    ...number[],
  ]
  const month = MONTHS.indexOf(match[2]!)
  // 60: a leap second.
  if (month < 0 || hour! > 23 || minute! > 59 || second! > 60) return undefined
  const date = new Date(Date.UTC(year!, month, day))
  if (date.getUTCDate() !== day) return undefined
  const offsetMinutes = Number(match[8]) * 60 + Number(match[9])
  const localMs = date.getTime() + ((hour! * 60 + minute!) * 60 + second!) * 1000
  return localMs - (match[7] === '-' ? -offsetMinutes : offsetMinutes) * 60_000
}
