// One range of bytes (RFC 9110 §14), as a snapshot that broke off is read on.

/** Bytes `from` to `end - 1`. */
export interface ByteRange {
  readonly from: number
  readonly end: number
}

const DIGITS = String.raw`\d{1,15}`
const RANGE = new RegExp(`^bytes=(${DIGITS})?-(${DIGITS})?$`)
const CONTENT_RANGE = new RegExp(`^bytes (${DIGITS})-(${DIGITS})/(${DIGITS})$`)

/**
 * What a `Range` field asks for of `totalBytes`.
 * @returns undefined: it is to be ignored (§14.2), as several ranges and other units are; 'unsatisfiable': 416
 */
export function requestedRange(field: string, totalBytes: number): ByteRange | 'unsatisfiable' | undefined {
  const parts = RANGE.exec(field)
  if (parts === null) return undefined
  const [, first, last] = parts
  if (first === undefined) {
    // The last so many bytes.
    if (last === undefined) return undefined
    const count = Math.min(Number(last), totalBytes)
    return count === 0 ? 'unsatisfiable' : { from: totalBytes - count, end: totalBytes }
  }
  const from = Number(first)
  const lastByte = last === undefined ? totalBytes - 1 : Math.min(Number(last), totalBytes - 1)
  if (last !== undefined && Number(last) < from) return undefined
  return from >= totalBytes ? 'unsatisfiable' : { from, end: lastByte + 1 }
}

/** What a `Content-Range` field says has come; undefined when it says nothing sound. */
export function answeredRange(field: string): (ByteRange & { readonly totalBytes: number }) | undefined {
  const parts = CONTENT_RANGE.exec(field)
  if (parts === null) return undefined
  const [from, last, totalBytes] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  return from <= last && last < totalBytes ? { from, end: last + 1, totalBytes } : undefined
}

export function contentRange({ from, end }: ByteRange, totalBytes: number): string {
  return `bytes ${from}-${end - 1}/${totalBytes}`
}

/** The one tag in an `ETag` or `If-Range` field; undefined for a weak one, a date and whatever else. */
export function entityTag(field: string | undefined): string | undefined {
  return field === undefined ? undefined : /^"([!#-~]{1,64})"$/.exec(field)?.[1]
}
