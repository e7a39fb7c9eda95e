import { Visitor, parseSync } from 'vite'
import type { ESTree } from 'vite'

/** What one source file takes from elsewhere. */
export interface SourceModule {
  /** From the project's root: `src/core/http/reuse.ts`. */
  readonly path: string
  /** As written: `./reuse.ts`, `node:net`, `fastify`. Types as well, and files named by `new URL(..., import.meta.url)`. */
  readonly specifiers: readonly string[]
  /** Each use of the clock, of chance or of a timer, as written: `Date.now`. */
  readonly worldly: readonly string[]
}

// Globals through which a program learns the time, throws dice or has itself called later.
const WORLDLY_GLOBALS: ReadonlySet<string> = new Set([
  'setTimeout',
  'setInterval',
  'setImmediate',
  'performance',
  'crypto',
  'Temporal',
])
const WORLDLY_MEMBERS: ReadonlySet<string> = new Set(['Date.now', 'Math.random', 'process.nextTick', 'process.hrtime'])
const WORLDLY_MODULES = /^node:(timers|timers\/promises|perf_hooks|crypto)$/

/** @throws {SyntaxError} the text is no TypeScript */
export function readModule(path: string, text: string): SourceModule {
  const { program, errors } = parseSync(path, text, { lang: 'ts' })
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]!.message}`)
  const specifiers: string[] = []
  const worldly: string[] = []
  // Names after a dot or before a colon are somebody's properties: `socket.setTimeout` is no global.
  const propertyNames = new Set<object>()
  const named = (owner: { readonly key: object; readonly computed: boolean }) => {
    if (!owner.computed) propertyNames.add(owner.key)
  }
  new Visitor({
    ImportDeclaration: (node) => specifiers.push(node.source.value),
    ExportNamedDeclaration: (node) => node.source && specifiers.push(node.source.value),
    ExportAllDeclaration: (node) => specifiers.push(node.source.value),
    TSImportType: (node) => specifiers.push(node.source.value),
    ImportExpression({ source }) {
      // One that is worked out at run time could reach anything.
      specifiers.push(source.type === 'Literal' && typeof source.value === 'string' ? source.value : '(computed)')
    },
    NewExpression(node) {
      if (node.callee.type !== 'Identifier') return
      const [first, second] = node.arguments
      if (node.callee.name === 'Date' && first === undefined) worldly.push('new Date()')
      const isOwnFile = node.callee.name === 'URL' && first?.type === 'Literal' && isImportMetaUrl(second)
      if (isOwnFile && String(first.value).endsWith('.ts')) specifiers.push(String(first.value))
    },
    CallExpression(node) {
      if (node.callee.type === 'Identifier' && node.callee.name === 'Date') worldly.push('Date()')
    },
    MemberExpression(node) {
      if (node.computed || node.property.type !== 'Identifier') return
      propertyNames.add(node.property)
      if (node.object.type !== 'Identifier') return
      const member = `${node.object.name}.${node.property.name}`
      if (WORLDLY_MEMBERS.has(member)) worldly.push(member)
      if (node.object.name === 'globalThis' && WORLDLY_GLOBALS.has(node.property.name)) worldly.push(member)
    },
    Property: named,
    MethodDefinition: named,
    PropertyDefinition: named,
    TSPropertySignature: named,
    TSMethodSignature: named,
    Identifier(node) {
      if (WORLDLY_GLOBALS.has(node.name) && !propertyNames.has(node)) worldly.push(node.name)
    },
  }).visit(program)
  return { path, specifiers, worldly: [...worldly, ...specifiers.filter((name) => WORLDLY_MODULES.test(name))] }
}

function isImportMetaUrl(node: ESTree.Argument | undefined): boolean {
  return node?.type === 'MemberExpression' && node.object.type === 'MetaProperty'
}
