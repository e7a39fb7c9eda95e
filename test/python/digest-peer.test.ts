import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test } from 'vitest'
import { decodeDigestMessage, encodeWant } from '../../src/core/digest/digest-codec.ts'
import { formatName } from '../../src/core/digest/digest-name.ts'
import { FrameReader } from '../../src/core/digest/frame-reader.ts'
import { Replica } from '../../src/core/digest/replica.ts'
import { PositionList } from '../../src/core/filter/position-list.ts'
import {
  cacheable,
  claims,
  get,
  onStopAll,
  startOrigin,
  startTestProxy,
  stopAll,
  until,
  type TestProxy,
} from '../cluster/support.ts'

afterEach(stopAll)

const CONFIG = 'digest: { profile: fresh, expectedEntries: 200 }\nlookup: { switchOff: false, probes: 0% }'
const LIMITS = { maxBitCount: 2 ** 24 }

interface Digest {
  readonly name: readonly number[] | null
  readonly positions: readonly number[]
}

interface Dump {
  readonly own: Digest
  readonly replicas: Readonly<Record<string, Digest & { readonly proved: boolean }>>
}

/** test/python/digest_peer.py, told what to do by lines. */
interface PythonPeer {
  readonly name: string
  readonly url: string
  readonly process: ChildProcess
  tell(...command: readonly string[]): Promise<unknown>
  dump(): Promise<Dump>
}

async function startPythonPeer(follow: readonly TestProxy[], port = 0, ...options: string[]): Promise<PythonPeer> {
  const following = follow.flatMap(({ name, url }) => ['--follow', `${name}=${url}`])
  const script = new URL('digest_peer.py', import.meta.url).pathname
  const python = spawn('python3', [script, '--name', 'py', '--port', String(port), ...following, ...options], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onStopAll(async () => void python.kill('SIGKILL'))
  const lines = createInterface(python.stdout)[Symbol.asyncIterator]()
  const next = async (): Promise<Record<string, unknown>> => JSON.parse((await lines.next()).value as string)
  const { port: bound } = await next()
  const tell = async (...command: readonly string[]): Promise<unknown> => {
    python.stdin.write(`${JSON.stringify(command)}\n`)
    return (await next())['result']
  }
  return {
    name: 'py',
    url: `http://127.0.0.1:${String(bound)}`,
    process: python,
    tell,
    dump: async () => (await tell('dump')) as Dump,
  }
}

function nameOf({ name }: Digest): string {
  return name === null ? '' : name.join('.')
}

/** What a proxy publishes, as it gives it to anyone that may ask. */
async function publishedBy({ name, url }: TestProxy): Promise<{ name: string; positions: number[] }> {
  const prefix = `${url}/.well-known/summary-cache/v2`
  const replica = new Replica(LIMITS)
  const take = (frame: Uint8Array): void => {
    replica.receive(decodeDigestMessage(frame, LIMITS))
    while (replica.work(100_000)) continue
  }
  const snapshot = await fetch(`${prefix}/digest/${name}`)
  take(new Uint8Array(await snapshot.arrayBuffer()))
  const since = await fetch(`${prefix}/want/${name}`, { method: 'POST', body: Buffer.from(encodeWant(replica.name)) })
  for (const frame of new FrameReader(2 ** 20).push(new Uint8Array(await since.arrayBuffer()))) take(frame)
  const positions = new PositionList()
  replica.bits!.pushSet(positions)
  return { name: formatName(replica.name!), positions: [...positions.sortUnique()] }
}

/** Everybody's replica of everybody is what was published last, bit for bit. */
async function untilExact(python: PythonPeer, proxies: readonly TestProxy[]): Promise<void> {
  let checked: (readonly [Digest, { readonly positions: readonly number[] }])[] = []
  await until(async () => {
    const { own, replicas } = await python.dump()
    const published = await Promise.all(proxies.map((proxy) => publishedBy(proxy)))
    checked = proxies.map(({ name }, i) => [replicas[name]!, published[i]!] as const)
    return proxies.every(({ name, operator }, i) => {
      const peer = operator.peers().find((view) => view.name === 'py')!
      const isHeld = peer.state === 'up' && peer.digest?.name === nameOf(own)
      const isStill = operator.ownDigest().unpublishedChanges === 0 && operator.ownDigest().name === published[i]!.name
      return isHeld && isStill && replicas[name]!.proved && nameOf(replicas[name]!) === published[i]!.name
    })
  })
  for (const [replica, published] of checked) expect(replica.positions).toEqual(published.positions)
}

test('every vector is read in Python as it was written, and written as it was read', async () => {
  const codec = new URL('digest_codec.py', import.meta.url).pathname
  const vectors = new URL('../vectors/digest-protocol.json', import.meta.url).pathname
  const { stdout } = await promisify(execFile)('python3', [codec, vectors])
  const { frames, keys } = JSON.parse(stdout) as { frames: number; keys: number }
  expect(frames).toBeGreaterThan(8)
  expect(keys).toBeGreaterThan(4)
})

describe.each([
  ['a peer in another language, written from docs/protocol.md', [] as string[]],
  ['rule 15: one that speaks version 1 alone', ['--version', '1']],
])('%s', (_what, options) => {
  test('joins a running cluster, stays exact, shares, and comes back after a crash', { timeout: 60_000 }, async () => {
    const origin = await startOrigin(cacheable)
    const [a, b] = await Promise.all([startTestProxy('a', CONFIG), startTestProxy('b', CONFIG)])
    for (let i = 0; i < 150; i++) await get(a, `${origin.url}/a/${i}`)
    let python = await startPythonPeer([a, b], 0, ...options)
    for (const proxy of [a, b]) proxy.operator.addPeer({ name: 'py', url: python.url })
    await untilExact(python, [a, b])

    // Inserts, removals and turnovers on both sides, the digests of the proxies growing on the way.
    for (let i = 0; i < 60; i++) {
      await get(b, `${origin.url}/b/${i}`)
      await python.tell('add', `${origin.url}/py/${i}`, `py has ${i}`)
      if (i % 3 === 0) await python.tell('publish')
    }
    for (let i = 0; i < 100; i++) a.operator.purge(`${origin.url}/a/${i}`)
    for (let i = 0; i < 20; i++) await python.tell('remove', `${origin.url}/py/${i}`)
    await Promise.all([a.operator.newGeneration(), python.tell('generation')])
    for (let i = 150; i < 900; i++) await get(a, `${origin.url}/a/${i}`)
    await python.tell('publish')
    // So many that its digest has to grow.
    await until(() => a.operator.ownDigest().geometry.bitCount > 4_096)
    await untilExact(python, [a, b])
    for (let i = 20; i < 60; i++) expect(claims(a, 'py', `${origin.url}/py/${i}`), String(i)).toBe(true)

    // A remote hit each way, and what was removed is a miss.
    const answer = await get(a, `${origin.url}/py/30`)
    expect([answer.body, answer.cacheStatus.includes('remote-hit')]).toEqual(['py has 30', true])
    expect(await python.tell('ask', 'a', `${origin.url}/a/650`)).toBe('body of /a/650')
    expect(await python.tell('ask', 'b', `${origin.url}/a/650`)).toBe(null)
    expect((await get(b, `${origin.url}/py/3`)).body).toBe('body of /py/3')

    // Killed, and back at the same place with another incarnation.
    const before = nameOf((await python.dump()).own)
    python.process.kill('SIGKILL')
    await until(() => a.operator.peers()[0]!.state !== 'up')
    expect(claims(a, 'py', `${origin.url}/py/31`) && a.operator.peers()[0]!.state === 'up').toBe(false)
    python = await startPythonPeer([a, b], Number(new URL(python.url).port), ...options)
    await python.tell('add', `${origin.url}/again`, 'again')
    await python.tell('publish')
    await untilExact(python, [a, b])
    expect(Number(nameOf((await python.dump()).own).split('.')[0])).toBeGreaterThan(Number(before.split('.')[0]))
    expect(claims(b, 'py', `${origin.url}/py/31`)).toBe(false)
    expect((await get(b, `${origin.url}/again`)).body).toBe('again')
  })
})
