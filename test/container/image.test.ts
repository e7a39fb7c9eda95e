import { GenericContainer, Wait } from 'testcontainers'
import { beforeAll, expect, test } from 'vitest'
import { IMAGE, docker } from './cluster.ts'

beforeAll(async () => {
  await docker('build', '--quiet', '--tag', IMAGE, '.')
})

test('the image is healthy with nothing but itself, as an ordinary user without capabilities', async () => {
  const container = await new GenericContainer(IMAGE)
    .withDroppedCapabilities('ALL')
    .withSecurityOpt('no-new-privileges')
    .withTmpFs({ '/var/lib/summary-cache': 'rw,uid=1000,gid=1000' })
    .withWaitStrategy(Wait.forHealthCheck())
    .start()
  try {
    const { output, exitCode } = await container.exec(['id', '-u'])
    expect([output.trim(), exitCode]).toEqual(['1000', 0])
    expect((await docker('inspect', '--format', '{{.State.Health.Status}}', container.getId())).trim()).toBe('healthy')
  } finally {
    await container.stop({ timeout: 0 })
  }
})

test('a configuration that cannot be used is explained by line, with exit code 2', async () => {
  const refused = docker(
    'run',
    '--rm',
    '--entrypoint',
    'sh',
    IMAGE,
    '-c',
    'echo "lisen: 1" >/tmp/c.yaml; exec node dist/cli.js serve -c /tmp/c.yaml',
  )
  await expect(refused).rejects.toMatchObject({
    code: 2,
    stderr: '/tmp/c.yaml:1:1: lisen: unknown key; did you mean listen?\n',
  })
})

test('nothing that only development needs is in the image', async () => {
  const listing = await docker('run', '--rm', '--entrypoint', 'sh', IMAGE, '-c', 'ls /app /app/node_modules')
  const names = listing.split('\n')
  expect(names).toEqual(expect.arrayContaining(['dist', 'fastify', 'undici', 'yaml']))
  expect(
    names.filter((name) => ['typescript', 'vitest', 'node', 'testcontainers', 'src', 'test'].includes(name)),
  ).toEqual([])
})
