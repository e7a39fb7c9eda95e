/** Header fields in the order of the wire, each line kept as it came. Immutable; names compare without case. */
export class Fields {
  static readonly none = new Fields([])
  /** Flat: name, value, name, value, ... as node's `rawHeaders`. */
  readonly raw: readonly string[]

  constructor(raw: readonly string[]) {
    this.raw = raw
  }

  static of(entries: Readonly<Record<string, string>>): Fields {
    return new Fields(Object.entries(entries).flat())
  }

  /** The field's lines joined by a comma and a space (RFC 9110 §5.3), or undefined when it is absent. */
  get(name: string): string | undefined {
    const wanted = name.toLowerCase()
    let found: string | undefined
    for (let i = 0; i < this.raw.length; i += 2) {
      if (!sameName(this.raw[i]!, wanted)) continue
      found = found === undefined ? this.raw[i + 1]! : `${found}, ${this.raw[i + 1]!}`
    }
    return found
  }

  /** The field's first line, or undefined when it is absent: for fields that are no lists. */
  first(name: string): string | undefined {
    const wanted = name.toLowerCase()
    for (let i = 0; i < this.raw.length; i += 2) {
      if (sameName(this.raw[i]!, wanted)) return this.raw[i + 1]!
    }
    return undefined
  }

  has(name: string): boolean {
    return this.first(name) !== undefined
  }

  /** Each line of the field by itself, in order. */
  lines(name: string): string[] {
    const wanted = name.toLowerCase()
    const found: string[] = []
    for (let i = 0; i < this.raw.length; i += 2) {
      if (sameName(this.raw[i]!, wanted)) found.push(this.raw[i + 1]!)
    }
    return found
  }

  /** These fields less those named (lower-case names). */
  without(names: ReadonlySet<string>): Fields {
    const kept: string[] = []
    for (let i = 0; i < this.raw.length; i += 2) {
      if (!names.has(this.raw[i]!.toLowerCase())) kept.push(this.raw[i]!, this.raw[i + 1]!)
    }
    return kept.length === this.raw.length ? this : new Fields(kept)
  }

  /** These fields with one line more at the end. */
  plus(name: string, value: string): Fields {
    return new Fields([...this.raw, name, value])
  }

  /** These fields with every line of `name` replaced by one at the end. */
  set(name: string, value: string): Fields {
    return this.without(new Set([name.toLowerCase()])).plus(name, value)
  }
}

function sameName(name: string, lowerCaseName: string): boolean {
  return name.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName
}
