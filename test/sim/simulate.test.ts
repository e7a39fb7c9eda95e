import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runSimulate, type SimulateOptions } from '../../src/simulate.ts'

const DEMO = 'src/demo/trace/elastic-apache-201505.log.gz'
const OPTIONS: SimulateOptions = {
  proxies: 3,
  memoryShare: 0.1,
  eviction: 'lru',
  profile: 'paper',
  maxObject: 250_000,
  loadFactor: 16,
  heartbeat: 5_000,
  warmUp: 0,
  filter: 'paper',
  origin: 'http://origin.example',
}

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'summary-cache-simulate-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

async function run(
  paths: string[],
  options: Partial<SimulateOptions> = {},
): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ['', '']
  const code = await runSimulate(
    paths,
    { ...OPTIONS, ...options },
    { stdout: { write: (text) => (out += text) }, stderr: { write: (text) => (err += text) } },
  )
  return { code, out, err }
}

test('the demo’s log gives the same document every time: the golden one', async () => {
  const { code, out } = await run([DEMO], { json: true })
  expect(code).toBe(0)
  // `npx vitest run test/sim -u` writes it anew; the commit that does explains why.
  await expect(out).toMatchFileSnapshot('golden/demo-log.json')
  expect((await run([DEMO], { json: true })).out).toBe(out)
})

test('the orderings of Summary Cache, figure 1: sharing gains, and digests lose little of it', async () => {
  const { out } = await run([DEMO], { json: true, memoryShare: 0.2 })
  const { schemes } = JSON.parse(out) as {
    schemes: { hitRatio: { total: number }; messages: { messagesPaper: number } }[]
  }
  const [none, icp, digests] = schemes
  expect(none!.hitRatio.total).toBeLessThan(digests!.hitRatio.total)
  expect(digests!.hitRatio.total).toBeLessThanOrEqual(icp!.hitRatio.total)
  expect(digests!.hitRatio.total).toBeGreaterThan(0.97 * icp!.hitRatio.total)
  expect(icp!.messages.messagesPaper).toBeGreaterThan(5 * digests!.messages.messagesPaper)
})

describe('what cannot be read', () => {
  test('ends with 1 and names the file, the cause and the remedy', async () => {
    expect(await run(['no/such.log'])).toEqual({
      code: 1,
      out: '',
      err: 'summary-cache: no/such.log: cannot be read (ENOENT); there is no such file: check the path\n',
    })
  })

  test('an empty log is no error and divides nothing by zero', async () => {
    const file = join(folder, 'empty.log')
    writeFileSync(file, '')
    const { code, out } = await run([file], { json: true })
    expect(code).toBe(0)
    expect(out).not.toMatch(/NaN|Infinity/)
    expect(JSON.parse(out)).toMatchObject({ trace: { requests: 0 } })
  })

  test('bad lines are counted and shown, and the rest is replayed', async () => {
    const file = join(folder, 'mixed.log')
    const good = '192.0.2.1 - - [05/Aug/2026:09:32:06 +0000] "GET /a HTTP/1.1" 200 100'
    writeFileSync(file, `${good}\nnonsense\n${good}\n`)
    const { out } = await run([file])
    expect(out).toMatch(/2 requests/)
    expect(out).toMatch(/nonsense|structure|no line of this format/)
  })
})

test('Ctrl-C: what is known so far is reported, with exit code 130', async () => {
  const interrupted = new AbortController()
  interrupted.abort()
  let out = ''
  const code = await runSimulate(
    [DEMO],
    { ...OPTIONS, json: true },
    { stdout: { write: (text) => (out += text) }, stderr: { write: () => true }, signal: interrupted.signal },
  )
  expect(code).toBe(130)
  expect(JSON.parse(out)).toMatchObject({ interrupted: true })
})
