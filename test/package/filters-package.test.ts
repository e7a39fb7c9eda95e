import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundled } from './bundle.ts'

// The package as another project has it: built, and found by its name.
let project: string
const tsc = resolve('node_modules/typescript/bin/tsc')

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'summary-cache-user-'))
  const installed = join(project, 'node_modules/summary-cache')
  mkdirSync(installed, { recursive: true })
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', join(installed, 'dist')])
  copyFileSync('package.json', join(installed, 'package.json'))
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
}, 60_000)
afterAll(() => rmSync(project, { recursive: true }))

function run(file: string, text: string): string {
  writeFileSync(join(project, file), text)
  return execFileSync(process.execPath, [join(project, file)], { encoding: 'utf8', stdio: 'pipe' })
}

describe('summary-cache/filters', () => {
  test('is imported by its name, and forgets what is removed', () => {
    const text = `
      import { CountingBloomFilter, KeyHasher } from 'summary-cache/filters'
      const hasher = KeyHasher.murmur3()
      const filter = CountingBloomFilter.withCapacity(1000, 0.01, hasher.hashing)
      filter.add(hasher.hashText('apple'))
      const held = filter.mayContain(hasher.hashText('apple'))
      filter.remove(hasher.hashText('apple'))
      console.log(held, filter.mayContain(hasher.hashText('apple')), filter.entryCount)`
    expect(run('use.mjs', text)).toBe('true false 0\n')
  })

  test('writes in Node what it reads back, of every kind', () => {
    const text = `
      import { FILTER_KINDS, KeyHashList, KeyHasher, loadFilter } from 'summary-cache/filters'
      const hasher = KeyHasher.siphash(new Uint8Array(16), 1)
      const keys = new KeyHashList()
      for (let n = 0; n < 500; n++) keys.push(hasher.hashText('key ' + n))
      const answers = FILTER_KINDS.map((kind) => {
        const filter = loadFilter(kind.build(keys, 0.01, hasher.hashing).serialise())
        return [...Array(500).keys()].every((n) => filter.mayContain(hasher.hashText('key ' + n)))
      })
      console.log(answers.join())`
    expect(run('kinds.mjs', text)).toBe(`${Array.from({ length: 8 }, () => true).join()}\n`)
  })

  test('has types that hold under the strictest checks', () => {
    writeFileSync(
      join(project, 'use.ts'),
      `import { BloomFilter, KeyHasher, type Filter, type KeyHash } from 'summary-cache/filters'
       const hasher = KeyHasher.murmur3()
       const key: KeyHash = hasher.hashText('apple')
       const filter: Filter = BloomFilter.withCapacity(10, 0.01, hasher.hashing)
       export const claimed: boolean = filter.mayContain(key)
       // @ts-expect-error a text is no hash
       filter.mayContain('apple')`,
    )
    const options = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--noEmit']
    const target = ['--target', 'es2024', '--module', 'nodenext', '--lib', 'es2024,dom', '--types', '']
    const check = (): unknown =>
      execFileSync(process.execPath, [tsc, ...options, ...target, 'use.ts'], { cwd: project })
    expect(check).not.toThrow()
  })

  test('opens no other door', () => {
    expect(() => run('deep.mjs', "import 'summary-cache/dist/cli.js'")).toThrow(/ERR_PACKAGE_PATH_NOT_EXPORTED/)
    expect(() => run('main.mjs', "import 'summary-cache'")).toThrow(/ERR_PACKAGE_PATH_NOT_EXPORTED/)
  })

  test('needs no other package, and of it only what is used comes along', async () => {
    const entry = (names: string): string => `export { ${names} } from '${resolve('src/filters.ts')}'`
    const all = await bundled(`export * from '${resolve('src/filters.ts')}'`)
    const one = await bundled(entry('BloomFilter, KeyHasher'))
    expect(all).not.toMatch(/^\s*import\b/m)
    expect(all).toMatch(/class RibbonFilter/)
    expect(one).not.toMatch(/class (Ribbon|Cuckoo|Xor|Scalable|BinaryFuse)Filter/)
    expect(one.length).toBeLessThan(all.length / 2)
    expect(JSON.parse(readFileSync('package.json', 'utf8'))).toMatchObject({ sideEffects: false })
  })
})
