import { parseWeighted } from './weighted-list.ts'

// One bit per registered coding, above the bits of ReuseFacts.flags with which they share a word. Aliases by RFC 9110
// §8.4.1. A name that is not here is no coding we know to be one, and stops nothing.
const CODING_BITS: ReadonlyMap<string, number> = new Map([
  ['gzip', 1 << 16],
  ['x-gzip', 1 << 16],
  ['deflate', 1 << 17],
  ['compress', 1 << 18],
  ['x-compress', 1 << 18],
  ['br', 1 << 19],
  ['zstd', 1 << 20],
  ['dcb', 1 << 21],
  ['dcz', 1 << 22],
])

const ALL_CODINGS = [...CODING_BITS.values()].reduce((all, bit) => all | bit, 0)

/** The codings that a response's body is in, as bits. */
export function appliedCodings(contentEncoding: string | undefined): number {
  if (contentEncoding === undefined) return 0
  let bits = 0
  for (const name of contentEncoding.toLowerCase().split(',')) bits |= CODING_BITS.get(name.trim()) ?? 0
  return bits
}

/**
 * The codings that a request does not list, as bits.
 *
 * Without Accept-Encoding any coding is acceptable (RFC 9110 §12.5.3), yet the clients that leave it out are those that
 * cannot decode; they cost the origin a request, which chooses for itself.
 */
export function refusedCodings(acceptEncoding: string | undefined): number {
  if (acceptEncoding === undefined) return ALL_CODINGS
  const members = parseWeighted(acceptEncoding)
  if (members === undefined) return ALL_CODINGS
  let accepted = 0
  let named = 0
  let others = false
  for (const { value, weight } of members) {
    if (value === '*') others = weight > 0
    const bit = CODING_BITS.get(value) ?? 0
    named |= bit
    if (weight > 0) accepted |= bit
  }
  if (others) accepted |= ALL_CODINGS & ~named
  return ALL_CODINGS & ~accepted
}
