import type { Fields } from './fields.ts'
import { parseWeighted } from './weighted-list.ts'

// More than any honest response names; each costs a scan of the request's fields on every hit.
const MAX_VARY_NAMES = 32

/**
 * The request fields that select this response: lower-case, sorted, no repeats. `'*'` when any member is `*`, which
 * never matches (RFC 9111 §4.1), or when there are too many to keep.
 */
export function varyNames(response: Fields): readonly string[] | '*' {
  const names = new Set<string>()
  for (const line of response.lines('vary')) {
    for (const member of line.split(',')) {
      const name = member.trim().toLowerCase()
      if (name === '*') return '*'
      if (name === '') continue
      names.add(name)
      if (names.size > MAX_VARY_NAMES) return '*'
    }
  }
  return [...names].toSorted()
}

/**
 * What `request` says in the fields `names`, as one string: equal exactly when the fields match (RFC 9111 §4.1), that
 * is, when they are the same after combining lines and folding what is known to make no difference. A field that is
 * absent differs from one that is empty. `''` when no field selects.
 */
export function selectingValues(names: readonly string[], request: Fields): string {
  if (names.length === 0) return ''
  const values: (string | null)[] = []
  for (const name of names) {
    const value = request.get(name)
    values.push(name, value === undefined ? null : normalValue(name, value))
  }
  return JSON.stringify(values)
}

// No lists: a comma in them is text, and so is the space beside it.
const NOT_LISTS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'origin', 'referer', 'user-agent'])

function normalValue(name: string, value: string): string {
  // The order of members says nothing in these two (RFC 9110 §12.5.3, §12.5.4), only their weights.
  if (name === 'accept-encoding' || name === 'accept-language') {
    const members = parseWeighted(value)
    if (members) {
      const texts = members.map((member) => (member.weight === 1 ? member.value : `${member.value};q=${member.weight}`))
      return [...new Set(texts)].toSorted().join(',')
    }
  }
  return NOT_LISTS.has(name) ? value : withoutListSpaces(value)
}

/** White space around the commas of a list goes (RFC 9110 §5.6.1); within quotes it is text. One pass. */
function withoutListSpaces(value: string): string {
  let folded = ''
  let quoted = false
  // Where the text not yet copied begins, and where it ends if only white space follows.
  let start = 0
  let end = 0
  for (let i = 0; i < value.length; i++) {
    const char = value[i]!
    if (!quoted && char === ',') {
      folded += `${value.slice(start, end)},`
      start = end = i + 1
    } else if (!quoted && (char === ' ' || char === '\t')) {
      if (start === end) start = end = i + 1
    } else {
      if (char === '"') quoted = !quoted
      else if (quoted && char === '\\') i++
      end = Math.min(i + 1, value.length)
    }
  }
  return folded + value.slice(start, end)
}
