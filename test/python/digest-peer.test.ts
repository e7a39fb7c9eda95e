import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test } from 'vitest'
import {
  decodeDigestMessage,
  encodeDelta,
  encodeGoodbye,
  encodeHeartbeat,
  encodeTurnover,
  encodeWant,
} from '../../src/core/digest/digest-codec.ts'
import type { DigestMessage } from '../../src/core/digest/digest-message.ts'
import { formatName } from '../../src/core/digest/digest-name.ts'
import { encodeLengthPrefix, FrameReader } from '../../src/core/digest/frame-reader.ts'
import { Replica } from '../../src/core/digest/replica.ts'
import { encodeSnapshot } from '../../src/core/digest/snapshot-encoder.ts'
import type { StateHead } from '../../src/core/digest/state-head.ts'
import { BitArray } from '../../src/core/filter/bit-array.ts'
import { checksumOf } from '../../src/core/filter/bit-checksum.ts'
import { UNKEYED } from '../../src/core/filter/filter-geometry.ts'
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
  readonly replicas: Readonly<Record<string, Digest & { readonly proved: boolean; readonly problem: string }>>
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
    // It asks whose digest claims it: of the two a alone, and nobody for what nobody has.
    expect(await python.tell('get', `${origin.url}/a/650`)).toEqual({ from: 'a', body: 'body of /a/650' })
    expect(await python.tell('get', `${origin.url}/nowhere`)).toEqual({ from: null, asked: [] })
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

/** What the peer sends to one that follows it without a state. `leave` ends that. */
async function followed(peer: PythonPeer): Promise<{ next(): Promise<DigestMessage>; leave(): void }> {
  const leaving = new AbortController()
  const answer = await fetch(`${peer.url}${PREFIX}/follow/py`, {
    method: 'POST',
    body: Buffer.from(encodeWant(undefined)),
    signal: leaving.signal,
  })
  const reader = new FrameReader(2 ** 20)
  const chunks = answer.body!.getReader()
  const frames: Uint8Array[] = []
  return {
    next: async () => {
      while (frames.length === 0) frames.push(...reader.push((await chunks.read()).value))
      return decodeDigestMessage(frames.shift()!, LIMITS)
    },
    leave: () => leaving.abort(),
  }
}

test('rule 2: a follower that stays hears of each delta, whoever of the others leaves', async () => {
  const python = await startPythonPeer([])
  const stays = await followed(python)
  expect((await stays.next()).kind).toBe('heartbeat')
  // Many, since it is chance which of them is served just when another leaves.
  const others = await Promise.all(Array.from({ length: 20 }, () => followed(python)))
  for (const other of others) await other.next()
  for (const other of others) other.leave()
  const heard: string[] = []
  for (let i = 0; i < 6; i++) {
    await python.tell('add', `http://origin.example/${i}`, 'x')
    await python.tell('publish')
    // The second write to one that has left fails.
    if (i > 0) heard.push((await stays.next()).kind)
  }
  heard.push((await stays.next()).kind)
  expect(heard).toEqual(Array.from({ length: 6 }, () => 'delta'))
})

test('rule 7: a turnover that a snapshot is smaller than is announced, to be fetched as one', async () => {
  const python = await startPythonPeer([])
  const stream = await followed(python)
  expect((await stream.next()).kind).toBe('heartbeat')
  for (let i = 0; i < 40; i++) await python.tell('add', `http://origin.example/${i}`, 'x')
  await python.tell('publish')
  const delta = await stream.next()
  for (let i = 1; i < 40; i++) await python.tell('remove', `http://origin.example/${i}`)
  await python.tell('generation')
  const turned = await stream.next()
  if (delta.kind !== 'delta' || turned.kind !== 'heartbeat') throw new Error(`${delta.kind}, then ${turned.kind}`)
  expect(turned.state.name).toEqual({ ...delta.state.name, generation: 1, sequence: 0 })
  expect(turned.state.setBitCount).toBe(4)
})

const ORIGIN_STATE = { incarnation: 2_000, generation: 0, sequence: 0 }

function stateOf(sequence: number, positions: readonly number[], bitCount = 1_024): [StateHead, BitArray] {
  const bits = new BitArray(bitCount)
  for (const position of positions) bits.set(position)
  const { hi: checksumHi, lo: checksumLo } = checksumOf(bits)
  const proof = { setBitCount: positions.length, checksumHi, checksumLo }
  const geometry = { ...UNKEYED, bitCount, probeCount: 4 }
  return [{ name: { ...ORIGIN_STATE, sequence }, geometry, entryCount: 1, oldestChangeAgeMs: 0, ...proof }, bits]
}

/** Holds bit 3 in state 2000.0.0, and says `frames` to who follows it. */
async function startScripted(...frames: Uint8Array[]): Promise<{ asked: readonly string[]; url: string }> {
  const [state, bits] = stateOf(0, [3])
  const snapshot = encodeSnapshot(state, bits)
  return startOrigin((request, response) => {
    request.resume()
    if (request.url!.includes('/digest/')) {
      response.writeHead(200, { etag: `"${formatName(state.name)}"`, 'content-length': snapshot.length }).end(snapshot)
      return
    }
    response.write(encodeLengthPrefix(encodeHeartbeat(state)))
    if (!request.url!.includes('/follow/')) response.end()
    else for (const frame of frames) response.write(encodeLengthPrefix(frame))
  })
}

test('rule 1: a delta that lies, or is of another geometry, is not merged; a goodbye of an old life, late, ends nothing', async () => {
  const [first] = stateOf(0, [3])
  const [second] = stateOf(1, [3, 7])
  // It proves itself, and yet is of half as many bits.
  const [halved] = stateOf(1, [3, 7], 512)
  const publisher = await startScripted(
    encodeGoodbye({ ...ORIGIN_STATE, incarnation: 1_000 }),
    encodeDelta(0, halved, Uint32Array.of(7)),
    encodeDelta(0, second, Uint32Array.of(8)),
    encodeHeartbeat({ ...first, name: { ...ORIGIN_STATE, sequence: 2 } }),
  )
  const python = await startPythonPeer([{ name: 'p', url: publisher.url }])
  // For the first state, for each of the two that prove nothing, and for the one that is only told of.
  await until(() => publisher.asked.filter((line) => line.includes('/want/')).length >= 4)
  const { replicas } = await python.dump()
  expect([nameOf(replicas['p']!), replicas['p']!.positions]).toEqual(['2000.0.0', [3]])
  expect(publisher.asked.filter((line) => line.includes('/follow/'))).toHaveLength(1)
})

test('rule 3: a turnover is made from what is held, without a snapshot', async () => {
  const [after] = stateOf(0, [7])
  const name = { ...ORIGIN_STATE, generation: 1 }
  const turnover = encodeTurnover(ORIGIN_STATE, { ...after, name }, Uint32Array.of(7), Uint32Array.of(3))
  const publisher = await startScripted(turnover)
  const python = await startPythonPeer([{ name: 'p', url: publisher.url }])
  const held = async (): Promise<Digest> => (await python.dump()).replicas['p']!
  await until(async () => nameOf(await held()) === formatName(name))
  expect((await held()).positions).toEqual([7])
  expect(publisher.asked.filter((line) => line.includes('/digest/'))).toHaveLength(1)
})

test.each([
  ['more bits than it accepts', [3], 2 ** 19, 'larger than accepted'],
  ['more than nine tenths of them set', Array.from({ length: 950 }, (_, i) => i), 1_024, 'claims nearly everything'],
])('rule 8: a digest with %s is refused by name', async (_what, positions, bitCount, problem) => {
  const publisher = await startScripted(encodeHeartbeat(stateOf(1, positions, bitCount)[0]))
  const python = await startPythonPeer([{ name: 'p', url: publisher.url }])
  await until(async () => (await python.dump()).replicas['p']!.problem.includes(problem))
  expect((await python.dump()).replicas['p']!.positions).toEqual([3])
})
