import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join as joinPath } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cacheable, claims, get, join, startOrigin, startTestProxy, stopAll, until, type TestProxy } from './support.ts'

let folder: string
const children: ChildProcess[] = []
const silent: Server[] = []

beforeEach(() => {
  folder = mkdtempSync(joinPath(tmpdir(), 'summary-cache-test-'))
})

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  await stopAll()
  for (const server of silent.splice(0)) server.close()
  rmSync(folder, { recursive: true, force: true })
})

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

interface ProxyProcess {
  readonly child: ChildProcess
  readonly url: string
  readonly adminUrl: string
  readonly said: () => string
}

/** `summary-cache serve` in a process of its own. */
function startProcess(name: string, port: number, adminPort: number, peer: TestProxy): ProxyProcess {
  const file = joinPath(folder, `${name}.yaml`)
  writeFileSync(
    file,
    `name: ${name}
listen: { port: ${port} }
admin: { port: ${adminPort} }
digest: { profile: fresh, expectedEntries: 1000 }
peers: [{ name: ${peer.name}, url: "${peer.url}" }]
accessLog: { path: ${joinPath(folder, 'access.log')} }
stateDir: ${joinPath(folder, 'state')}
`,
  )
  const child = spawn(process.execPath, ['src/cli.ts', 'serve', '--config', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  children.push(child)
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  return { child, url: `http://127.0.0.1:${port}`, adminUrl: `http://127.0.0.1:${adminPort}`, said: () => said }
}

async function isReady(proxy: ProxyProcess): Promise<boolean> {
  try {
    return (await fetch(`${proxy.adminUrl}/v1/ready`)).ok
  } catch {
    return proxy.child.exitCode !== null && Promise.reject(new Error(proxy.said()))
  }
}

test('A killed: B answers from the origin, later requests ask nobody in vain; A back: a new life, a new digest', async () => {
  const origin = await startOrigin(cacheable)
  const b = await startTestProxy('b')
  const [port, adminPort] = [await freePort(), await freePort()]
  const a = startProcess('a', port, adminPort, b)
  b.operator.addPeer({ name: 'a', url: a.url })
  await until(() => isReady(a))
  const url = `${origin.url}/page`
  await get(a, url)
  await until(() => claims(b, 'a', url))
  const before = b.operator.peers()[0]!.digest!.name

  a.child.kill('SIGKILL')
  await until(() => b.operator.peers()[0]!.state !== 'up')
  const answer = await get(b, url)
  expect([answer.status, answer.body]).toEqual([200, 'body of /page'])
  // Its stream had ended with it: nobody was asked in vain, not even once.
  expect(b.operator.statistics().peerFailures).toBe(0)
  await get(b, `${url}/2`)
  expect(b.operator.statistics().peerFailures).toBe(0)

  const again = startProcess('a', port, adminPort, b)
  await until(() => isReady(again))
  await until(() => b.operator.peers()[0]!.state === 'up')
  const after = b.operator.peers()[0]!.digest!.name
  expect(Number(after.split('.')[0])).toBeGreaterThan(Number(before.split('.')[0]))
  // It holds nothing, and nothing of its old digest is believed.
  expect(claims(b, 'a', url)).toBe(false)

  again.child.kill('SIGTERM')
  const [code] = (await once(again.child, 'exit')) as [number | null]
  expect([code, again.said().includes('"msg":"stopping"')]).toEqual([0, true])
}, 20_000)

test('a stop under load answers what is under way, keeps no idle connection open, and tells the peers', async () => {
  const held: (() => void)[] = []
  const origin = await startOrigin((request, response) => {
    held.push(() => cacheable(request, response))
  })
  const [a, b] = await Promise.all([startTestProxy('a'), startTestProxy('b')])
  await join(a, b)
  const underWay = get(a, `${origin.url}/page`)
  await until(() => held.length === 1)
  // A grace so long that it cannot be what ends the stop.
  const stopped = a.stop(60_000)
  await until(() => b.operator.peers()[0]!.reason === 'it said goodbye')
  held[0]!()
  expect((await underWay).body).toBe('body of /page')
  await stopped
})

test('a peer that hangs costs one request its time-out, of less than a second, and later ones nothing', async () => {
  const origin = await startOrigin(cacheable)
  const [a, b] = await Promise.all([startTestProxy('a'), startTestProxy('b')])
  // Between b and a: passes digests on, and swallows questions once it is told to.
  let hangs = false
  const between = createServer((client) => {
    client.on('error', () => client.destroy())
    client.once('data', (head: Buffer) => {
      if (hangs && head.toString('latin1').startsWith('GET http')) return
      const upstream = connect(a.proxyAddress.port, '127.0.0.1')
      upstream.on('error', () => client.destroy())
      upstream.write(head)
      client.pipe(upstream).pipe(client)
    })
  })
  silent.push(between)
  await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve))
  b.operator.addPeer({ name: 'a', url: `http://127.0.0.1:${(between.address() as AddressInfo).port}` })
  await until(() => b.operator.peers()[0]!.state === 'up')
  for (let i = 0; i < 4; i++) await get(a, `${origin.url}/${i}`)
  await until(() => claims(b, 'a', `${origin.url}/3`))

  hangs = true
  const startMs = performance.now()
  expect((await get(b, `${origin.url}/0`)).body).toBe('body of /0')
  expect(performance.now() - startMs).toBeLessThan(1_000)
  expect(b.operator.peers()[0]!.state).toBe('suspended')
  expect(b.operator.statistics().peerFailures).toBe(1)
  for (let i = 1; i < 4; i++) expect((await get(b, `${origin.url}/${i}`)).body).toBe(`body of /${i}`)
  expect(b.operator.statistics().peerFailures).toBe(1)
})
