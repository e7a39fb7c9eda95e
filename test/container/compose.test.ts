import { afterAll, beforeAll, expect, test } from 'vitest'
import { docker, get, isWhole } from './cluster.ts'

// A project of its own, so that one that somebody runs keeps its volumes. The ports are those that everyone gets.
const compose = (...args: readonly string[]) => docker('compose', '--project-name', 'summary-cache-test', ...args)

beforeAll(async () => {
  await compose('up', '--build', '--wait', '--quiet-pull')
})
afterAll(async () => {
  await compose('down', '--volumes', '--timeout', '1')
})

test('the composition comes up healthy, and what one proxy has fetched the others have from it', async () => {
  const containers = (await compose('ps', '--format', '{{.Service}} {{.Health}}')).trim().split('\n')
  expect(containers.toSorted()).toEqual(['edge-a healthy', 'edge-b healthy', 'edge-c healthy', 'origin healthy'])

  const page = await get('127.0.0.1', 3131, '/page')
  expect([page.status, isWhole(page.body)]).toEqual([200, true])
  const { headers } = await get('127.0.0.1', 3131, '/page')
  expect(headers['age']).toMatch(/^\d+$/)
  for (const port of [3132, 3133])
    expect(await get('127.0.0.1', port, '/page')).toMatchObject({ status: 200, body: page.body })
})

test('its dashboards answer those that have the token', async () => {
  const token = 'for-this-demonstration-only'
  for (const port of [8131, 8132, 8133]) {
    expect((await get('127.0.0.1', port, '/v1/status')).status).toBe(401)
    expect((await get('127.0.0.1', port, '/v1/status', { authorization: `Bearer ${token}` })).status).toBe(200)
  }
})
