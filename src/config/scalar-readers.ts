import { isIP } from 'node:net'
import { parseAddressRange } from './address-range.ts'
import type { AddressRange } from './address-range.ts'
import { formatByteSize, parseByteSize } from './byte-size.ts'
import { closestWord } from './closest-word.ts'
import { quoted } from './config-value.ts'
import type { Reader } from './config-value.ts'
import { formatDuration, parseDuration } from './duration.ts'

// One reader per kind of value. Each says what was expected, in the words of the file.

export function integerBetween(min: number, max: number): Reader<number> {
  return numberBetween({
    range: `a whole number from ${min} to ${max}`,
    min,
    max,
    parse: (text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined),
    noun: 'whole number',
    remedy: () => `write a whole number from ${min} to ${max}`,
  })
}

export function byteSizeBetween(min: number, max: number): Reader<number> {
  return numberBetween({
    range: `a size from ${formatByteSize(min)} to ${formatByteSize(max)}`,
    min,
    max,
    parse: parseByteSize,
    noun: 'size',
    remedy: () => 'write it as 256MiB, 1GB or plain bytes',
  })
}

export function durationBetween(minMs: number, maxMs: number): Reader<number> {
  return numberBetween({
    range: `a time from ${formatDuration(minMs)} to ${formatDuration(maxMs)}`,
    min: minMs,
    max: maxMs,
    parse: parseDuration,
    noun: 'time with a unit',
    remedy: (text) => (/^\d{1,9}$/.test(text) ? `write ${text}ms or ${text}s` : 'write it as 250ms, 5s, 3m, 1h or 2d'),
  })
}

/** `3%` as 0.03. */
export function percentageBetween(minPercent: number, maxPercent: number): Reader<number> {
  return numberBetween({
    range: `a percentage from ${minPercent}% to ${maxPercent}%`,
    min: minPercent / 100,
    max: maxPercent / 100,
    parse: (text) => (/^\d{1,3}(?:\.\d{1,6})?%$/.test(text) ? Number(text.slice(0, -1)) / 100 : undefined),
    noun: 'percentage',
    remedy: () => 'write it as 3% or 0.5%',
  })
}

interface NumberKind {
  readonly range: string
  readonly min: number
  readonly max: number
  readonly parse: (text: string) => number | undefined
  readonly noun: string
  readonly remedy: (text: string) => string
}

function numberBetween({ range, min, max, parse, noun, remedy }: NumberKind): Reader<number> {
  return (value) => {
    const text = value.text(range)
    if (text === undefined) return undefined
    const number = parse(text)
    if (number === undefined) return value.fail(`${quoted(text)} is no ${noun}`, remedy(text))
    if (number >= min && number <= max) return number
    return value.fail(`${quoted(text)} is too ${number < min ? 'small' : 'large'}`, `write ${range}`)
  }
}

export function oneOf<T extends string>(names: readonly T[]): Reader<T> {
  const expected = `one of ${names.join(', ')}`
  return (value) => {
    const text = value.text(expected)
    if (text === undefined) return undefined
    const name = names.find((candidate) => candidate === text)
    if (name !== undefined) return name
    const near = closestWord(text, names)
    return value.fail(`${quoted(text)} is not ${expected}`, near ? `did you mean ${near}?` : `write ${expected}`)
  }
}

export const trueOrFalse: Reader<boolean> = (value) => {
  const word = oneOf(['true', 'false'])(value)
  return word === undefined ? undefined : word === 'true'
}

// RFC 9110 §5.6.2: what may stand in Cache-Status and Via without quotes. The length is one that fits a log line.
const NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/

export const proxyName: Reader<string> = (value) => {
  const text = value.text('a name')
  if (text === undefined || isProxyName(text)) return text
  return value.fail(`${quoted(text)} cannot be a proxy's name`, "write 1 to 64 letters, digits, '-', '_' or '.'")
}

export function isProxyName(text: string): boolean {
  return NAME.test(text)
}

/** A DNS name; Compose and some clusters put underscores into theirs. Digits and dots alone are a mistyped address. */
function isHostName(text: string): boolean {
  return text.length <= 253 && /[A-Za-z]/.test(text) && text.split('.').every((label) => /^[\w-]{1,63}$/.test(label))
}

/** An address or a name, without a port. */
export const hostName: Reader<string> = (value) => {
  const text = value.text('a host')
  if (text === undefined) return undefined
  if (isIP(text) !== 0) return text
  if (isHostName(text)) return text.toLowerCase()
  return value.fail(`${quoted(text)} is neither an address nor a host name`, 'write it without a scheme and a port')
}

/** `host:port`, an IPv6 address in brackets; in lower case. */
export const hostAndPort: Reader<string> = (value) => {
  const text = value.text('a host and port')
  if (text === undefined || isHostAndPort(text)) return text?.toLowerCase()
  return value.fail(
    `${quoted(text)} is no host and port`,
    'write it as 10.0.0.2:3130, host.example:3130 or [fc00::2]:3130',
  )
}

function isHostAndPort(text: string): boolean {
  const match = /^(?:\[([^\]]+)\]|([^[\]:]+)):(\d{1,5})$/.exec(text)
  if (match === null) return false
  const [, ipv6, host, port] = match
  const isHost = ipv6 === undefined ? isIP(host!) === 4 || isHostName(host!) : isIP(ipv6) === 6
  return isHost && Number(port) >= 1 && Number(port) <= 65_535
}

export const addressRange: Reader<AddressRange> = (value) => {
  const text = value.text('an address range')
  if (text === undefined) return undefined
  return (
    parseAddressRange(text) ??
    value.fail(`${quoted(text)} is no address range`, 'write an IP address, or a prefix as 10.0.0.0/8 or fc00::/7')
  )
}

export const path: Reader<string> = (value) => {
  const text = value.text('a path')
  if (text === undefined) return undefined
  return text === '' || text.includes('\0') ? value.fail(`${quoted(text)} is no path`, 'write a path') : text
}
