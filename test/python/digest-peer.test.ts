import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test } from 'vitest'
import { decodeDigestMessage, encodeDelta, encodeHeartbeat, encodeWant } from '../../src/core/digest/digest-codec.ts'
import { formatName } from '../../src/core/digest/digest-name.ts'
import { encodeLengthPrefix, FrameReader } from '../../src/core/digest/frame-reader.ts'
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

async function startPythonPeer(
  follow: readonly { name: string; url: string }[],
  port = 0,
  ...options: string[]
): Promise<PythonPeer> {
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

const PREFIX = '/.well-known/summary-cache/v2'

/** The first line of the answer to bytes that no client of ours would send. */
async function answerTo(peer: PythonPeer, request: string): Promise<string> {
  const socket = connect(Number(new URL(peer.url).port), '127.0.0.1')
  socket.end(request)
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return text.slice(0, text.indexOf('\r\n'))
}

test('a follower in Python reads a snapshot on from where it broke off, and lets go of what a heartbeat disowns (rule 7)', async () => {
  const vectors = JSON.parse(readFileSync(new URL('../vectors/digest-protocol.json', import.meta.url), 'utf8')) as {
    frames: { kind: string; hex: string }[]
  }
  // The one written out bit by bit: the coded one is too full for any follower.
  const whole = Buffer.from(vectors.frames.find(({ hex }) => hex.startsWith('534344010200'))!.hex, 'hex')
  const message = decodeDigestMessage(whole, LIMITS)
  if (message.kind !== 'snapshot') throw new Error('the vector is no snapshot')
  const { state } = message
  const { incarnation, generation, sequence } = state.name
  const tag = `"${formatName(state.name)}"`
  const heartbeat = encodeHeartbeat(state)
  const ahead = { ...state, name: { incarnation, generation, sequence: sequence + 2 } }
  // The delta starts at a state that never was: the follower asks once, and no more when it has heard that nothing follows.
  const frames = [heartbeat, encodeDelta(sequence + 1, ahead, Uint32Array.of(0)), heartbeat, heartbeat, heartbeat]
  const ranges: (string | undefined)[] = []
  let streams = 0
  const publisher = await startOrigin((request, response) => {
    request.resume()
    const isFollow = request.url!.includes('/follow/')
    if (isFollow || request.url!.includes('/want/')) {
      for (const frame of isFollow ? frames : [heartbeat]) response.write(encodeLengthPrefix(frame))
      if (isFollow) streams++
      else response.end()
      return
    }
    const { range } = request.headers
    const start = range === undefined ? 0 : Number(/^bytes=(\d+)-$/.exec(range)![1])
    ranges.push(range)
    const fields = { etag: tag, 'content-length': whole.length - start }
    const part = { 'content-range': `bytes ${start}-${whole.length - 1}/${whole.length}` }
    response.writeHead(start === 0 ? 200 : 206, start === 0 ? fields : { ...fields, ...part })
    if (start > 0) response.end(whole.subarray(start))
    else response.write(whole.subarray(0, 50), () => response.destroy())
  })
  const python = await startPythonPeer([{ name: 'p', url: publisher.url }])
  await until(async () => nameOf((await python.dump()).replicas['p']!) === formatName(state.name))
  await until(() => publisher.asked.filter((line) => line.includes('/want/')).length >= 2)
  // Long enough for what it must not ask: its answers to lines come while its stream is read.
  for (let i = 0; i < 50; i++) await python.dump()
  expect(ranges).toEqual([undefined, 'bytes=50-'])
  expect(publisher.asked.filter((line) => line.includes('/want/'))).toHaveLength(2)
  expect(streams).toBe(1)
  expect((await python.dump()).replicas['p']!.proved).toBe(true)
  await publisher.close()
  await until(async () => !(await python.dump()).replicas['p']!.proved)
})

test('a publisher in Python gives the rest of the very frame that it began, and refuses by status what it cannot answer', async () => {
  const python = await startPythonPeer([])
  const digest = `${python.url}${PREFIX}/digest/py`
  const first = await fetch(digest)
  const frame = Buffer.from(await first.arrayBuffer())
  const tag = first.headers.get('etag')!
  await python.tell('add', 'http://origin.example/1', 'one')
  await python.tell('publish')
  const ranged = async (range: string, ifRange = tag): Promise<{ status: number; bytes: Buffer }> => {
    const answer = await fetch(digest, { headers: { range, 'if-range': ifRange } })
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) }
  }
  expect(await ranged('bytes=10-')).toEqual({ status: 206, bytes: frame.subarray(10) })
  expect((await ranged('bytes=9999-')).status).toBe(416)
  const now = (await ranged('bytes=10-', '"1.2.3"')).bytes
  expect(now.equals(frame)).toBe(false)
  for (const range of ['bytes=zz-', 'bytes=-5']) expect(await ranged(range)).toEqual({ status: 200, bytes: now })

  expect((await fetch(`${python.url}${PREFIX}/status`)).status).toBe(404)
  expect((await fetch(`${python.url}${PREFIX}/digest/other`)).status).toBe(421)
  const want = (length: string, body: string): string =>
    `POST ${PREFIX}/want/py HTTP/1.1\r\nHost: py\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n${body}`
  for (const length of ['-1', 'x', '80']) {
    expect(await answerTo(python, want(length, 'a'.repeat(80))), length).toContain(' 400 ')
  }
  const object = (url: string, via: string): string =>
    `GET ${url} HTTP/1.1\r\nHost: o\r\nConnection: close\r\nVia: 1.1 ${via}\r\n\r\n`
  expect(await answerTo(python, object('ftp://origin.example/1', 'a'))).toContain(' 400 ')
  expect(await answerTo(python, object('http://origin.example/1', 'a'))).toContain(' 200 ')
  expect(await answerTo(python, object('http://origin.example/1', 'a, 1.1 py'))).toContain(' 508 ')
})
