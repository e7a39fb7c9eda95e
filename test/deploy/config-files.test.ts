import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isMap, isScalar, parseDocument } from 'yaml'
import { loadConfig, parseConfig } from '../../src/config.ts'
import { ConfigError } from '../../src/config/config-error.ts'

const EXAMPLE = 'deploy/config.example.yaml'
const example = readFileSync(EXAMPLE, 'utf8')
const TOKEN = 'a-token-for-the-tests'

/** The example with what is commented out as `#key` brought in, but for `without`: one of two ways to give a secret. */
function completed(...without: readonly string[]): string {
  return example
    .split('\n')
    .filter((line) => !without.some((key) => line.includes(`#${key}:`)))
    .map((line) => line.replace(/^(\s*)#(?=[a-z]\w*:|  - )/, '$1'))
    .join('\n')
}

/** `store.memory` and so on, as the text has them. */
function keysOf(text: string): string[] {
  const { contents } = parseDocument(text)
  if (!isMap(contents)) return []
  return contents.items.flatMap(({ key, value }) => {
    const name = isScalar(key) ? String(key.value) : ''
    return isMap(value)
      ? value.items.map((inner) => `${name}.${isScalar(inner.key) ? String(inner.key.value) : ''}`)
      : [name]
  })
}

/** The keys that the configuration knows below `section`, as it tells whoever gets one wrong. */
function knownKeys(section: string | undefined): string[] {
  try {
    parseConfig(section === undefined ? 'unheardOf: 1' : `${section}: { unheardOf: 1 }`, 'c.yaml', {})
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return /the keys here are (.+)$/.exec(error.message)?.[1]?.split(', ') ?? []
  }
  return []
}

describe('the example', () => {
  test('says what holds without it', () => {
    expect(loadConfig(EXAMPLE, {})).toEqual(loadConfig(undefined, {}))
  })

  test('is sound with everything brought in that is commented out', () => {
    const config = parseConfig(completed('tokenFile', 'keyFile'), EXAMPLE, {
      SUMMARY_CACHE_TOKEN: TOKEN,
      SUMMARY_CACHE_CLUSTER_KEY: 'a-secret-for-the-tests',
    })
    expect(config).toMatchObject({
      name: 'edge-a',
      mounts: [{ host: 'registry.local', path: '/npm/', origin: 'https://registry.npmjs.org/' }],
      peers: [{ name: 'edge-b', url: 'http://10.0.0.2:3128' }],
      cluster: { key: 'a-secret-for-the-tests' },
      peering: { listen: { host: '0.0.0.0', port: 3129 }, tls: { ca: resolve('deploy/cluster.pem') } },
      admin: { token: TOKEN },
      stateDir: '/var/lib/summary-cache',
    })
  })

  test('has every key there is', () => {
    const known = knownKeys(undefined).flatMap((key) => {
      const inner = knownKeys(key)
      return inner.length > 0 ? inner.map((name) => `${key}.${name}`) : [key]
    })
    const shown = new Set([...keysOf(completed('tokenFile', 'keyFile')), ...keysOf(completed('token', 'key'))])
    expect(known.length).toBeGreaterThan(25)
    expect([...shown].toSorted()).toEqual(known.toSorted())
  })
})

describe('every configuration that comes along', () => {
  const files = globSync('deploy/**/config*.yaml')
  const env = { PROXY_NAME: 'edge-a', POD_NAME: 'summary-cache-0', SUMMARY_CACHE_TOKEN: TOKEN }

  test('is among those tried here', () => {
    expect(files.toSorted()).toEqual([
      'deploy/compose/config.yaml',
      EXAMPLE,
      'deploy/docker/config.yaml',
      'deploy/kubernetes/config.yaml',
    ])
  })

  test.each(files)('%s is sound', (file) => {
    expect(loadConfig(file, env).log.level).toBe('info')
  })

  test('needs its variables, and names those that are missing', () => {
    expect(() => loadConfig('deploy/compose/config.yaml', {})).toThrow(
      /name: environment variable PROXY_NAME is not set.*\n.*admin\.token: environment variable SUMMARY_CACHE_TOKEN is not set/,
    )
  })
})
