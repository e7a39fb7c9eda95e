import { strict as assert } from 'node:assert'
import { KeyHasher } from '../filter/key-hasher.ts'
import { murmur3 } from '../filter/murmur3.ts'
import type { KeyHash } from '../filter/key-hash.ts'

/** The primary cache key: method GET, which HEAD shares, and a URL in normal form. */
export interface CacheKey extends KeyHash {
  readonly url: string
}

/** As Squid's MAX_URL: what is longer could not be asked of a sibling either. */
export const MAX_URL_LENGTH = 8192

const SPLIT = /^(https?):\/\/([^/?#]*)([^#]*)/i
const HOST_AND_PORT = /^([a-z0-9._~-]+|\[[0-9a-f]*:[0-9a-f:.]+\])(?::([0-9]*))?$/i
const DNS_NAME_LENGTH = 255

/**
 * The URL in Squid's normal form, which makes our key equal to a sibling's: scheme and host in lower case, no dots behind
 * the host, no default port, no user info, a path of at least `/`, no white space. Escapes, case, `//`, `.` and `..` of
 * the path stay: the origin can tell them apart. Other than Squid we drop a fragment: it is no part of a request (RFC
 * 9110 §7.1), so that two spellings of it name one resource. Non-ASCII characters of path and query are escaped as UTF-8.
 *
 * @returns undefined when it is no http or https URL, has control characters, or is longer than MAX_URL_LENGTH
 */
export function normalUrl(url: string): string | undefined {
  if (url.length > MAX_URL_LENGTH) return undefined
  const parts = SPLIT.exec(url)
  if (!parts) return undefined
  const scheme = parts[1]!.toLowerCase()
  const authority = normalAuthority(parts[2]!, scheme === 'http' ? '80' : '443')
  const path = normalPath(parts[3]!)
  if (authority === undefined || path === undefined) return undefined
  const normal = `${scheme}://${authority}${path}`
  return normal.length > MAX_URL_LENGTH ? undefined : normal
}

/** Host and port in normal form, without user info; undefined when there is no valid host. */
function normalAuthority(authority: string, defaultPort: string): string | undefined {
  const match = HOST_AND_PORT.exec(authority.slice(authority.lastIndexOf('@') + 1))
  if (!match) return undefined
  const host = withoutEnd(match[1]!.toLowerCase(), '.')
  if (host === '' || host.length > DNS_NAME_LENGTH || host.startsWith('.') || host.includes('..')) return undefined
  const port = withoutStart(match[2] ?? '', '0')
  if (port === '') return match[2]?.includes('0') ? undefined : host // no port, an empty one, or 0, which is none
  if (port.length > 5 || Number(port) > 65_535) return undefined
  return port === defaultPort ? host : `${host}:${port}`
}

function normalPath(pathAndQuery: string): string | undefined {
  let text = pathAndQuery
  // What comes off the wire holds nothing but VCHAR; the rest is for URLs from elsewhere.
  if (/[^!-~]/.test(text)) {
    text = text.replaceAll(/[ \t]/g, '')
    if (/\p{Cc}/u.test(text) || !text.isWellFormed()) return undefined
    text = text.replaceAll(/[^\0-\x7f]+/g, encodeURIComponent)
  }
  return text.startsWith('/') ? text : `/${text}`
}

function withoutEnd(text: string, char: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === char) end--
  return text.slice(0, end)
}

function withoutStart(text: string, char: string): string {
  let start = 0
  while (start < text.length && text[start] === char) start++
  return text.slice(start)
}

// 'GET ' and a URL. Written and hashed within one call, which nothing interrupts.
const PREFIX_BYTES = 4
const keyBytes = new Uint8Array(PREFIX_BYTES + MAX_URL_LENGTH)
const keyView = new DataView(keyBytes.buffer)
keyBytes.set([0x47, 0x45, 0x54, 0x20])
const words = new Int32Array(4)

/** Makes the key of a URL in normal form; another spelling has another key. */
export type KeyOf = (url: string) => CacheKey

/** Keys that anyone could hash. */
export function cacheKey(url: string): CacheKey {
  murmur3(keyView, 0, writeKey(url), words)
  return { h0: words[0]!, h1: words[1]!, h2: words[2]!, h3: words[3]!, url }
}

/**
 * Keys that only those who share the secret can hash (PROTOCOL rule 8).
 * @param secret 16 bytes
 * @param keyId how those who share it call it, from 1
 */
export function secretKeys(secret: Uint8Array, keyId: number): KeyOf {
  const hasher = KeyHasher.siphash(secret, keyId)
  return (url) => {
    const { h0, h1, h2, h3 } = hasher.hash(keyView, 0, writeKey(url))
    return { h0, h1, h2, h3, url }
  }
}

/** Returns how many bytes the key has. */
function writeKey(url: string): number {
  assert(url.length <= MAX_URL_LENGTH, 'a key of a URL that is too long')
  let all = 0
  for (let i = 0; i < url.length; i++) {
    const code = url.charCodeAt(i)
    keyBytes[PREFIX_BYTES + i] = code
    all |= code
  }
  assert(all < 0x80, 'a key of a URL that is not in normal form')
  return PREFIX_BYTES + url.length
}
