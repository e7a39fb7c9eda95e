import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cacheable, claims, get, join, startOrigin, startTestProxy, stopAll, until } from '../cluster/support.ts'

const TOKEN = 'only-for-this-test-0'

/** Each command of the document with the fragment that its answer must contain, in the document's order. */
const commands = [
  ...readFileSync('docs/operate.md', 'utf8').matchAll(/```sh\n([^`]+)\n```\n```(?:json|text)\n([^`]+)\n```/g),
].map(([, command, fragment]) => ({ command: command!, fragment: fragment! }))

let env: NodeJS.ProcessEnv

beforeAll(async () => {
  const origin = await startOrigin(cacheable)
  const [a, b] = await Promise.all([
    startTestProxy('edge-a', `admin: { port: 0, token: ${TOKEN} }`),
    startTestProxy('edge-b'),
  ])
  await join(a, b)
  const url = `${origin.url}/page`
  await get(b, url)
  await until(() => claims(a, 'edge-b', url))
  await get(a, url)
  env = { ...process.env, ADMIN: a.adminUrl, PROXY: a.url, URL: url, TOKEN }
})
afterAll(stopAll)

test('the document has a command for every route of the API', () => {
  const document = JSON.parse(readFileSync('openapi/openapi.json', 'utf8')) as { paths: Record<string, unknown> }
  const written = commands.map(({ command }) => command).join('\n')
  const missing = Object.keys(document.paths).filter((path) => !written.includes(path.replace('{name}', 'edge-z')))
  expect(missing).toEqual([])
})

describe('every command of docs/operate.md does what it says', () => {
  test.each(commands)('$command', async ({ command, fragment }) => {
    // Not waited for synchronously: the proxies live in this process.
    const shell = spawn('sh', ['-c', command], { env })
    let [out, err] = ['', '']
    shell.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
    shell.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
    const [code] = (await once(shell, 'close')) as [number | null]
    expect([code, err.replaceAll(/^curl: \(28\).*\n/gm, '')], `${out}\n${err}`).toEqual([0, ''])
    expect(out).toContain(fragment)
  })
})
