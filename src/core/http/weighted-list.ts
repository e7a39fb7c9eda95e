/** A member of Accept-Encoding or Accept-Language: what is asked for and how much (RFC 9110 §12.4.2). */
export interface Weighted {
  /** In lower case: codings and language ranges compare without case. */
  readonly value: string
  /** 0 (never) to 1. */
  readonly weight: number
}

const MEMBER = /^([!#$%&'*+.^_`|~0-9a-z-]+)(?:[ \t]*;[ \t]*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?$/

/** The members in order, or undefined when one of them is not of the form `token [;q=weight]`. */
export function parseWeighted(fieldValue: string): Weighted[] | undefined {
  const members: Weighted[] = []
  for (const part of fieldValue.toLowerCase().split(',')) {
    const text = part.trim()
    if (text === '') continue
    const match = MEMBER.exec(text)
    if (!match) return undefined
    members.push({ value: match[1]!, weight: match[2] === undefined ? 1 : Number(match[2]) })
  }
  return members
}
