import { LineCounter, isAlias, isMap, isScalar, isSeq, parseDocument } from 'yaml'
import type { Document, Node } from 'yaml'
import { closestWord } from './closest-word.ts'
import { ConfigError } from './config-error.ts'
import type { ConfigProblem } from './config-error.ts'
import { expandReferences } from './environment-references.ts'

export type Environment = Readonly<Record<string, string | undefined>>

// What to do about the YAML errors that people make most; the others speak for themselves.
const SYNTAX_REMEDIES: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'keep one of them',
  TAB_AS_INDENT: 'indent with spaces',
  BAD_INDENT: 'align it with its neighbours, and close every [ and {',
  UNEXPECTED_TOKEN: 'quote a value that contains "{", "[", "#" or ": "',
  TAG_RESOLVE_FAILED: 'leave the tag out',
  MULTIPLE_DOCS: 'leave out the "---" between them',
}
// After these the rest of the tree is still what was meant, and worth checking.
const HARMLESS_TO_THE_TREE: ReadonlySet<string> = new Set(['DUPLICATE_KEY', 'NON_STRING_KEY', 'TAG_RESOLVE_FAILED'])

/** A configuration text and what has been found wrong with it so far. */
export class ConfigDocument {
  readonly file: string
  readonly env: Environment
  readonly #document: Document.Parsed
  readonly #lines = new LineCounter()
  readonly #problems: ConfigProblem[] = []

  /** @throws {ConfigError} the text is not YAML, and nothing more can be said about it */
  constructor(text: string, file: string, env: Environment) {
    this.file = file
    this.env = env
    // Failsafe: every scalar stays the text that was written. What 3128, 5s or yes means is for the key to say,
    // and a reference to the environment can stand anywhere.
    this.#document = parseDocument(text, {
      schema: 'failsafe',
      stringKeys: true,
      lineCounter: this.#lines,
      prettyErrors: false,
      logLevel: 'error',
    })
    for (const { code, message, pos } of [...this.#document.errors, ...this.#document.warnings]) {
      this.report(pos[0], '(syntax)', message, SYNTAX_REMEDIES[code] ?? 'correct the YAML there')
    }
    if (this.#document.errors.some(({ code }) => !HARMLESS_TO_THE_TREE.has(code))) this.throwProblems()
  }

  root(): ConfigValue {
    return new ConfigValue(this, this.#document.contents ?? undefined, 0, '(file)')
  }

  report(offset: number, keyPath: string, problem: string, remedy: string): void {
    const { line, col } = this.#lines.linePos(offset)
    this.#problems.push({
      file: this.file,
      line: Math.max(1, line),
      column: Math.max(1, col),
      keyPath,
      problem,
      remedy,
    })
  }

  /** The node that an alias stands for; other nodes as they are. */
  resolve(node: Node | undefined): Node | undefined {
    return isAlias(node) ? (node.resolve(this.#document) ?? node) : node
  }

  /** @throws {ConfigError} anything was reported */
  throwProblems(): void {
    if (this.#problems.length > 0) throw new ConfigError(this.#problems)
  }
}

/** Reads one value, or reports why it can't and returns undefined. */
export type Reader<T> = (value: ConfigValue) => T | undefined

/** One value of the file, with its place. */
export class ConfigValue {
  readonly document: ConfigDocument
  readonly keyPath: string
  readonly #node: Node | undefined
  readonly #offset: number

  constructor(document: ConfigDocument, node: Node | undefined, parentOffset: number, keyPath: string) {
    this.document = document
    this.keyPath = keyPath
    this.#offset = node?.range?.[0] ?? parentOffset
    this.#node = document.resolve(node)
  }

  /** Nothing stands after the key: as if the key were not there. */
  get isAbsent(): boolean {
    if (this.#node === undefined) return true
    return isScalar(this.#node) && this.#node.type === 'PLAIN' && ['', '~', 'null'].includes(String(this.#node.value))
  }

  get isText(): boolean {
    return isScalar(this.#node)
  }

  /** Reports; returns undefined for the reader to return. */
  fail(problem: string, remedy: string): undefined {
    this.document.report(this.#offset, this.keyPath, problem, remedy)
  }

  /** The scalar, with references to the environment replaced. */
  text(expected: string): string | undefined {
    if (!isScalar(this.#node)) return this.fail(`must be ${expected}, not ${this.#described()}`, `write ${expected}`)
    const expansion = expandReferences(String(this.#node.value), this.document.env)
    if (expansion.kind === 'text') return expansion.text
    if (expansion.kind === 'malformed') {
      return this.fail(
        `${quoted(expansion.at)} is no reference to the environment`,
        'write ${NAME} or ${NAME:-default}',
      )
    }
    const { variable } = expansion
    return this.fail(`environment variable ${variable} is not set`, `set it, or write \${${variable}:-default}`)
  }

  /** The list's items. Longer than `maxItems`: reported, and none. */
  items(maxItems: number, of: string): readonly ConfigValue[] {
    if (this.isAbsent) return []
    if (!isSeq<Node>(this.#node)) {
      this.fail(`must be a list of ${of}, not ${this.#described()}`, 'write one to a line, each after "- "')
      return []
    }
    if (this.#node.items.length > maxItems) {
      this.fail(`has ${this.#node.items.length} ${of}, and at most ${maxItems} are allowed`, 'leave some out')
      return []
    }
    return this.#node.items.map(
      (item, i) => new ConfigValue(this.document, item, this.#offset, `${this.keyPath}[${i}]`),
    )
  }

  /** The mapping under one of `names` each. Every other key is reported. */
  fields(names: readonly string[]): ConfigFields {
    const path = this.keyPath === '(file)' ? '' : `${this.keyPath}.`
    const values = new Map<string, ConfigValue>()
    if (isMap<Node, Node | null>(this.#node)) {
      for (const { key, value } of this.#node.items) {
        const name = isScalar(key) ? String(key.value) : undefined
        // A key that is no string has been reported with the syntax.
        if (name === undefined) continue
        const offset = key.range?.[0] ?? this.#offset
        if (names.includes(name))
          values.set(name, new ConfigValue(this.document, value ?? undefined, offset, path + name))
        else this.document.report(offset, path + shortened(name), 'unknown key', suggestion(name, names))
      }
    } else if (!this.isAbsent) {
      this.fail(`must be a mapping, not ${this.#described()}`, `write keys below it: ${names.join(', ')}`)
    }
    return new ConfigFields(this, values)
  }

  #described(): string {
    if (isSeq(this.#node)) return 'a list'
    if (isMap(this.#node)) return 'a mapping'
    if (isScalar(this.#node)) return quoted(String(this.#node.value))
    return isAlias(this.#node) ? `the unknown alias *${this.#node.source}` : 'nothing'
  }
}

/** The keys of one mapping. */
export class ConfigFields {
  readonly #owner: ConfigValue
  readonly #values: ReadonlyMap<string, ConfigValue>

  constructor(owner: ConfigValue, values: ReadonlyMap<string, ConfigValue>) {
    this.#owner = owner
    this.#values = values
  }

  /** The value under a key; undefined when the key is missing or nothing stands after it. */
  at(name: string): ConfigValue | undefined {
    const value = this.#values.get(name)
    return value === undefined || value.isAbsent ? undefined : value
  }

  /** What `read` makes of the value; `fallback` without one, and in place of one that was reported. */
  get<T>(name: string, read: Reader<T>, fallback: T): T {
    const value = this.at(name)
    return (value && read(value)) ?? fallback
  }

  /** As `get`, for a key without a default. */
  optional<T>(name: string, read: Reader<T>): T | undefined {
    const value = this.at(name)
    return value && read(value)
  }

  /** As `get`, for a key that must be there. */
  required<T>(name: string, read: Reader<T>, remedy: string): T | undefined {
    const value = this.at(name)
    return value ? read(value) : this.#owner.fail(`has no ${name}`, remedy)
  }

  /** The mapping under a key; an empty one when there is none. */
  section(name: string, names: readonly string[]): ConfigFields {
    return this.at(name)?.fields(names) ?? new ConfigFields(this.#owner, new Map())
  }
}

/** The value as it is shown in a message: on one line, and not all of a novel. */
export function quoted(text: string): string {
  return JSON.stringify(shortened(text))
}

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}...` : text
}

function suggestion(typed: string, names: readonly string[]): string {
  const near = closestWord(typed, names)
  return near === undefined ? `the keys here are ${names.join(', ')}` : `did you mean ${near}?`
}
