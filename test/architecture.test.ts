import { globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { cycles, forbiddenEdges, unreached, worldlyUses } from './architecture/module-rules.ts'
import { readModule } from './architecture/source-module.ts'
import type { SourceModule } from './architecture/source-module.ts'

const read = (pattern: string) => globSync(pattern).map((path) => readModule(path, readFileSync(path, 'utf8')))
const sources = read('src/**/*.ts')
const tests = read('test/**/*.ts')

describe('the source', () => {
  test('is all there', () => {
    expect(sources.length).toBeGreaterThan(50)
  })

  test('has no import that its layer forbids', () => {
    expect(forbiddenEdges(sources)).toEqual([])
  })

  test('knows clock, chance and timers only in adapters and composition roots', () => {
    expect(worldlyUses(sources)).toEqual([])
  })

  test('has no cycle of imports', () => {
    expect(cycles(sources)).toEqual([])
  })

  test('has no file that neither the command line nor a test reaches', () => {
    expect(unreached([...sources, ...tests], ['src/cli.ts', ...tests.map(({ path }) => path)])).toEqual([])
  })
})

/** Files given as path and text. */
function project(files: Readonly<Record<string, string>>): SourceModule[] {
  return Object.entries(files).map(([path, text]) => readModule(path, text))
}

describe('reading a file', () => {
  test('sees every way to name another one', () => {
    const { specifiers } = readModule(
      'src/core/a.ts',
      `import { a } from './a1.ts'
       import type { B } from './a2.ts'
       import { type C } from './a3.ts'
       import './a4.ts'
       export { d } from './a5.ts'
       export type { E } from './a6.ts'
       export * from './a7.ts'
       type F = import('./a8.ts').F
       const g = await import('./a9.ts')
       const worker = new URL('./a10.ts', import.meta.url)
       const page = new URL('./page.html', import.meta.url)
       const other = await import(g.name)
       // import './comment.ts'
       const text = "import './text.ts'"`,
    )
    const named = Array.from({ length: 10 }, (_, i) => `./a${i + 1}.ts`)
    expect(specifiers.toSorted()).toEqual([...named, '(computed)'].toSorted())
  })

  test.each([
    ['const now = Date.now()', ['Date.now']],
    ['const now = Date.now', ['Date.now']],
    ['const now = new Date()', ['new Date()']],
    ['const now = Date()', ['Date()']],
    ['const x = Math.random()', ['Math.random']],
    ['const x = performance.now()', ['performance']],
    ['const x = crypto.randomUUID()', ['crypto']],
    ['setTimeout(f, 1)', ['setTimeout']],
    ['setInterval(f, 1)', ['setInterval']],
    ['setImmediate(f)', ['setImmediate']],
    ['globalThis.setTimeout(f, 1)', ['globalThis.setTimeout']],
    ['const later = { setTimeout }', ['setTimeout']],
    ['process.nextTick(f)', ['process.nextTick']],
    ["import { setTimeout } from 'node:timers/promises'", ['node:timers/promises', 'setTimeout']],
    ["import { randomBytes } from 'node:crypto'", ['node:crypto']],
  ])('%s is worldly', (text, uses) => {
    expect([...new Set(readModule('src/core/a.ts', text).worldly)].toSorted()).toEqual(uses)
  })

  test.each([
    'const then = new Date(0)',
    'const then = Date.parse(text)',
    'socket.setTimeout(1000)',
    'class A { setTimeout(ms: number): void { this.performance = ms } performance = 1 }',
    'interface Clock { setTimeout(ms: number): void; readonly performance: number }',
    'const options = { setTimeout: 5 }',
    '// Date.now() and setTimeout',
    'const text = "Math.random()"',
  ])('%s is not', (text) => {
    expect(readModule('src/core/a.ts', text).worldly).toEqual([])
  })

  test('refuses what it cannot parse', () => {
    expect(() => readModule('src/core/a.ts', 'import {')).toThrow(SyntaxError)
  })
})

describe('the layers', () => {
  const files = {
    'src/core/filter/bits.ts': '',
    'src/core/http/fields.ts': '',
    'src/proxy/ports.ts': '',
    'src/adapters/http/server.ts': '',
    'src/adapters/store/memory.ts': '',
    'src/sim/clock.ts': '',
    'src/config.ts': '',
    'src/serve.ts': '',
  }

  // importing file, specifier
  test.each([
    ['src/core/filter/x.ts', './bits.ts'],
    ['src/core/http/x.ts', '../filter/bits.ts'],
    ['src/core/http/x.ts', 'node:assert'],
    ['src/proxy/x.ts', '../core/http/fields.ts'],
    ['src/proxy/x.ts', 'node:assert'],
    ['src/adapters/http/x.ts', './server.ts'],
    ['src/adapters/http/x.ts', '../../proxy/ports.ts'],
    ['src/adapters/http/routes/x.ts', '../server.ts'],
    ['src/adapters/http/x.ts', 'node:http'],
    ['src/adapters/http/x.ts', 'undici'],
    ['src/sim/x.ts', '../proxy/ports.ts'],
    ['src/sim/x.ts', 'node:fs'],
    ['src/config/x.ts', 'yaml'],
    ['src/demo/x.ts', '../adapters/http/server.ts'],
    ['src/x.ts', './sim/clock.ts'],
  ])('%s may import %s', (path, specifier) => {
    expect(forbiddenEdges(project({ ...files, [path]: `import type { A } from '${specifier}'` }))).toEqual([])
  })

  test.each([
    ['src/core/filter/x.ts', '../http/fields.ts'],
    ['src/core/filter/x.ts', 'node:assert'],
    ['src/core/http/x.ts', '../../proxy/ports.ts'],
    ['src/core/http/x.ts', 'node:net'],
    ['src/core/http/x.ts', 'yaml'],
    ['src/proxy/x.ts', '../adapters/http/server.ts'],
    ['src/proxy/x.ts', '../config.ts'],
    ['src/proxy/x.ts', 'node:fs'],
    ['src/proxy/x.ts', 'undici'],
    ['src/adapters/http/x.ts', '../store/memory.ts'],
    ['src/adapters/http/x.ts', '../../config.ts'],
    ['src/adapters/http/x.ts', '../../sim/clock.ts'],
    ['src/adapters/http/x.ts', '../../serve.ts'],
    ['src/sim/x.ts', '../adapters/store/memory.ts'],
    ['src/sim/x.ts', 'node:net'],
    ['src/config/x.ts', '../adapters/http/server.ts'],
    ['src/config/x.ts', '../proxy/ports.ts'],
  ])('%s may not import %s', (path, specifier) => {
    const found = forbiddenEdges(project({ ...files, [path]: `import type { A } from '${specifier}'` }))
    expect(found).toEqual([expect.stringMatching(/^\S+ \([a-z/]+\) imports \S+$/)])
  })

  test('a file outside the layers, and an import of no file, are found', () => {
    expect(forbiddenEdges(project({ 'src/helpers/x.ts': '' }))).toEqual(['src/helpers/x.ts belongs to no layer'])
    expect(forbiddenEdges(project({ 'src/core/x.ts': "import './gone.ts'" }))).toEqual([
      'src/core/x.ts imports src/core/gone.ts, which is no source file',
    ])
  })

  test('the clock is for adapters and composition roots', () => {
    const paths = [
      'core/filter/x',
      'core/x',
      'proxy/x',
      'adapters/http/x',
      'sim/x',
      'config/x',
      'config',
      'demo/x',
      'serve',
    ]
    const uses = worldlyUses(project(Object.fromEntries(paths.map((path) => [`src/${path}.ts`, 'Date.now()']))))
    expect(uses).toEqual(
      ['core/filter/x', 'core/x', 'proxy/x', 'sim/x', 'config/x', 'config'].map(
        (path) => `src/${path}.ts uses Date.now`,
      ),
    )
  })
})

describe('cycles', () => {
  test('two files that import each other are one, by types alone as well', () => {
    const pair = { 'src/core/a.ts': "import type { B } from './b.ts'", 'src/core/b.ts': "import { a } from './a.ts'" }
    expect(cycles(project(pair))).toEqual(['these import each other: src/core/a.ts, src/core/b.ts'])
  })

  test('a long one is found, and what only leads into it is no part of it', () => {
    const files = {
      'src/core/into.ts': "import './a.ts'",
      'src/core/a.ts': "import './b.ts'",
      'src/core/b.ts': "import './c.ts'",
      'src/core/c.ts': "import './a.ts'\nimport './end.ts'",
      'src/core/end.ts': '',
    }
    expect(cycles(project(files))).toEqual(['these import each other: src/core/a.ts, src/core/b.ts, src/core/c.ts'])
  })

  test('two ways to the same file are none', () => {
    const files = {
      'src/core/a.ts': "import './b.ts'\nimport './c.ts'",
      'src/core/b.ts': "import './d.ts'",
      'src/core/c.ts': "import './d.ts'",
      'src/core/d.ts': '',
    }
    expect(cycles(project(files))).toEqual([])
  })
})

test('a file that only another unreached file imports is unreached too', () => {
  const files = {
    'src/cli.ts': "import './serve.ts'",
    'src/serve.ts': '',
    'src/core/dead.ts': "import './deader.ts'",
    'src/core/deader.ts': '',
  }
  expect(unreached(project(files), ['src/cli.ts'])).toEqual([
    'nothing reaches src/core/dead.ts',
    'nothing reaches src/core/deader.ts',
  ])
})
