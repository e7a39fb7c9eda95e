import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseConfig } from '../../src/config.ts'
import { DEFAULT_UPDATE_OPTIONS, UPDATE_PROFILES } from '../../src/core/protocol/update-policy.ts'

const readme = readFileSync('README.md', 'utf8')
const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...readdirSync('docs')
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file)),
]

describe('links lead to files that are there', () => {
  test.each(documents)('%s', (file) => {
    const links = [...readFileSync(file, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, link]) => link!)
    expect(links.filter((link) => !existsSync(join(dirname(file), link)))).toEqual([])
  })
})

test('the two commands are there, and every npm script that is named exists', () => {
  expect(readme).toContain('npm ci && npm start')
  expect(readme).toContain('npm ci && npm test')
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
  const named = [...readme.matchAll(/npm run ([a-z-]+)/g)].map(([, script]) => script!)
  expect(named.filter((script) => !(script in scripts))).toEqual([])
})

test('the configuration that it shows is usable', () => {
  const yaml = /```yaml\n([^`]+)```/.exec(readme)![1]!
  expect(parseConfig(yaml, 'README.md', {})).toMatchObject({
    name: 'edge-a',
    peers: [{ name: 'edge-b' }, { name: 'edge-c' }],
  })
})

test('the comparison with Squid says of us what the code does', () => {
  const ages = [UPDATE_PROFILES.fresh(), UPDATE_PROFILES.balanced(), UPDATE_PROFILES.thrifty(DEFAULT_UPDATE_OPTIONS)]
  expect(ages.map(({ maxAgeMs }) => maxAgeMs)).toEqual([250, 1_000, 30_000])
  expect(readme).toContain("within the profile's age: 250 ms, 1 s, 30 s")
  expect(parseConfig('', 'defaults', {}).digest.pendingClearsShare).toBe(0.03)
  expect(readme).toContain('when they pass 3 %')
  expect(parseConfig('', 'defaults', {}).peerTimeoutMs).toBe(500)
  expect(readme).toContain('one that hangs costs one request half a second')
})
