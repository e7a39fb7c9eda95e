import { normalUrl } from '../../core/http/cache-key.ts'

/**
 * The URL that a log's request target means, in normal form; undefined when it is no http or https URL.
 *
 * @param target a byte a character: what is not ASCII is escaped byte by byte, as a client would have had to
 */
export function urlOfTarget(target: string, originUrl: string): string | undefined {
  const escaped = /[^\0-\x7f]/.test(target)
    ? target.replaceAll(/[^\0-\x7f]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    : target
  return normalUrl(escaped.startsWith('/') ? originUrl + escaped : escaped)
}
