import type { Fields } from './fields.ts'

/** What a response's Cache-Control says (RFC 9111 §5.2.2). The first of repeated directives counts (§4.2.1). */
export interface ResponseDirectives {
  readonly noStore: boolean
  /** Also in its qualified form, which a cache may treat so (§5.2.2.4). */
  readonly noCache: boolean
  /** Also in its qualified form (§5.2.2.7). */
  readonly private: boolean
  readonly public: boolean
  readonly mustRevalidate: boolean
  readonly proxyRevalidate: boolean
  readonly mustUnderstand: boolean
  /** -1 when absent, 0 when it is no number (stale: §4.2.1). */
  readonly maxAgeMs: number
  /** -1 when absent, 0 when it is no number. */
  readonly sMaxAgeMs: number
  /** It is not certain where one directive ends and the next begins: take it for the strictest. */
  readonly malformed: boolean
}

/** What a request's Cache-Control says (RFC 9111 §5.2.1), or its Pragma where there is none (§5.4). */
export interface RequestDirectives {
  readonly noStore: boolean
  readonly noCache: boolean
  readonly onlyIfCached: boolean
  /** Infinity when absent. */
  readonly maxAgeMs: number
  /** -Infinity when absent. */
  readonly minFreshMs: number
  /** -1 when absent, Infinity when any staleness will do. */
  readonly maxStaleMs: number
}

// RFC 9111 §1.2.2: what is greater than can be represented counts as 2^31.
const MAX_DELTA_SECONDS = 2 ** 31

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export function responseDirectives(response: Fields): ResponseDirectives {
  const found: Mutable<ResponseDirectives> = {
    noStore: false,
    noCache: false,
    private: false,
    public: false,
    mustRevalidate: false,
    proxyRevalidate: false,
    mustUnderstand: false,
    maxAgeMs: -1,
    sMaxAgeMs: -1,
    malformed: false,
  }
  for (const line of response.lines('cache-control')) {
    const wellFormed = scanDirectives(line, (name, argument) => {
      if (name === 'no-store') found.noStore = true
      else if (name === 'no-cache') found.noCache = true
      else if (name === 'private') found.private = true
      else if (name === 'public') found.public = true
      else if (name === 'must-revalidate') found.mustRevalidate = true
      else if (name === 'proxy-revalidate') found.proxyRevalidate = true
      else if (name === 'must-understand') found.mustUnderstand = true
      else if (name === 'max-age' && found.maxAgeMs < 0) found.maxAgeMs = deltaMs(argument) ?? 0
      else if (name === 's-maxage' && found.sMaxAgeMs < 0) found.sMaxAgeMs = deltaMs(argument) ?? 0
    })
    if (!wellFormed) found.malformed = true
  }
  return found
}

/** @param lines the request's Cache-Control lines; `pragma` its Pragma lines, which count only without the former */
export function requestDirectives(lines: readonly string[], pragma: readonly string[]): RequestDirectives {
  const found: Mutable<RequestDirectives> = {
    noStore: false,
    noCache: false,
    onlyIfCached: false,
    maxAgeMs: Infinity,
    minFreshMs: -Infinity,
    maxStaleMs: -1,
  }
  if (lines.length === 0) {
    for (const line of pragma) scanDirectives(line, (name) => name === 'no-cache' && (found.noCache = true))
    return found
  }
  for (const line of lines) {
    const wellFormed = scanDirectives(line, (name, argument) => {
      if (name === 'no-store') found.noStore = true
      else if (name === 'no-cache') found.noCache = true
      else if (name === 'only-if-cached') found.onlyIfCached = true
      else if (name === 'max-age' && found.maxAgeMs === Infinity) found.maxAgeMs = deltaMs(argument) ?? 0
      else if (name === 'min-fresh' && found.minFreshMs < 0) found.minFreshMs = deltaMs(argument) ?? 0
      else if (name === 'max-stale' && found.maxStaleMs < 0) {
        found.maxStaleMs = argument === undefined ? Infinity : (deltaMs(argument) ?? 0)
      }
    })
    if (!wellFormed) found.noCache = true
  }
  return found
}

/** delta-seconds in milliseconds, clamped; undefined when `argument` is anything but digits (RFC 9111 §1.2.2). */
export function deltaMs(argument: string | undefined): number | undefined {
  if (argument === undefined || argument === '') return undefined
  let seconds = 0
  for (let i = 0; i < argument.length; i++) {
    const digit = argument.charCodeAt(i) - 0x30
    if (digit < 0 || digit > 9) return undefined
    seconds = Math.min(seconds * 10 + digit, MAX_DELTA_SECONDS)
  }
  return seconds * 1000
}

const TAB = 0x09
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const SEMICOLON = 0x3b
const EQUALS = 0x3d
const BACKSLASH = 0x5c

/**
 * Hands each directive of one field line to `take`: its name in lower case, and its argument without quotes.
 * One pass, whatever the bytes. A directive whose end is in doubt is handed on as far as it is understood, so that no
 * `no-store` is lost behind a stray semicolon.
 *
 * @returns false when a quote, a semicolon, an equals sign or white space stands where it makes the end of a directive
 *   doubtful
 */
function scanDirectives(line: string, take: (name: string, argument: string | undefined) => void): boolean {
  let wellFormed = true
  let i = 0
  while (i < line.length) {
    if (isSpace(line.charCodeAt(i)) || line.charCodeAt(i) === COMMA) {
      i++
      continue
    }
    const nameStart = i
    while (i < line.length && !endsToken(line.charCodeAt(i))) i++
    const name = line.slice(nameStart, i).toLowerCase()
    let argument: string | undefined
    if (line.charCodeAt(i) === EQUALS) {
      const argumentStart = ++i
      if (line.charCodeAt(i) === QUOTE) {
        i = closingQuote(line, i)
        argument = unescaped(line.slice(argumentStart + 1, i))
        if (i === line.length) wellFormed = false
        else i++
      } else {
        while (i < line.length && !endsToken(line.charCodeAt(i))) i++
        argument = line.slice(argumentStart, i)
      }
    }
    while (i < line.length && isSpace(line.charCodeAt(i))) i++
    if (name === '' || (i < line.length && line.charCodeAt(i) !== COMMA)) {
      wellFormed = false
      // One of the bytes that end a token stands here; past it, or the scan would not move.
      if (i < line.length && name === '' && i === nameStart) i++
      else if (line.charCodeAt(i) === SEMICOLON) i++
    }
    take(name, argument)
  }
  return wellFormed
}

/** The index of the quote that closes the one at `open`, or the line's length. */
function closingQuote(line: string, open: number): number {
  let i = open + 1
  while (i < line.length && line.charCodeAt(i) !== QUOTE) i += line.charCodeAt(i) === BACKSLASH ? 2 : 1
  return Math.min(i, line.length)
}

function unescaped(quoted: string): string {
  return quoted.includes('\\') ? quoted.replaceAll(/\\(.)/gs, '$1') : quoted
}

function isSpace(code: number): boolean {
  return code === SPACE || code === TAB
}

function endsToken(code: number): boolean {
  return code === COMMA || code === SEMICOLON || code === EQUALS || code === QUOTE || isSpace(code)
}
