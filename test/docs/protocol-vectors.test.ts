import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { digestVectors, type DigestVectors } from './digest-vectors.ts'

const text = readFileSync('docs/protocol.md', 'utf8')
const vectors = JSON.parse(readFileSync('test/vectors/digest-protocol.json', 'utf8')) as DigestVectors

// A second implementation, written from docs/protocol.md alone: slow and plain, in bigints where the document says modulo.
const MASK = 0xffff_ffffn
const mul = (a: bigint, b: bigint): bigint => (a * b) & MASK
const rot = (a: bigint, n: bigint): bigint => ((a << n) | (a >> (32n - n))) & MASK

/** MurmurHash3 x86_128, seed 0. */
function murmur(bytes: Uint8Array): bigint[] {
  const c = [0x239b961bn, 0xab0e9789n, 0x38b34ae5n, 0xa1e38b93n]
  const h = [0n, 0n, 0n, 0n]
  const inner = [15n, 16n, 17n, 18n]
  const outer = [19n, 17n, 15n, 13n]
  const added = [0x561ccd1bn, 0x0bcaa747n, 0x96cd1c35n, 0x32ac3b17n]
  const word = (at: number, end: number): bigint => {
    let value = 0n
    for (let i = 3; i >= 0; i--) value = (value << 8n) | (at + i < end ? BigInt(bytes[at + i]!) : 0n)
    return value
  }
  const blocks = Math.floor(bytes.length / 16)
  for (let block = 0; block <= blocks; block++) {
    const isTail = block === blocks
    for (let j = 0; j < 4; j++) {
      const k = mul(rot(mul(word(16 * block + 4 * j, bytes.length), c[j]!), inner[j]!), c[(j + 1) % 4]!)
      h[j]! ^= k
      if (!isTail) h[j] = (mul((rot(h[j]!, outer[j]!) + h[(j + 1) % 4]!) & MASK, 5n) + added[j]!) & MASK
    }
  }
  const spread = (): void => {
    h[0] = (h[0]! + h[1]! + h[2]! + h[3]!) & MASK
    for (let j = 1; j < 4; j++) h[j] = (h[j]! + h[0]) & MASK
  }
  for (let j = 0; j < 4; j++) h[j]! ^= BigInt(bytes.length)
  spread()
  for (let j = 0; j < 4; j++) {
    let x = h[j]!
    x = mul(x ^ (x >> 16n), 0x85ebca6bn)
    x = mul(x ^ (x >> 13n), 0xc2b2ae35n)
    h[j] = x ^ (x >> 16n)
  }
  spread()
  return h
}

function probes(h: bigint[], m: number, k: number): number[] {
  const out: number[] = []
  let probe = h[0]!
  let step = h[1]! | 1n
  for (let i = 0; i < k; i++) {
    out.push(Number(probe % BigInt(m)))
    probe = (probe + step) & MASK
    step = (step + BigInt(i) + 1n) & MASK
  }
  return out
}

function checksum(positions: readonly number[]): [bigint, bigint] {
  let [hi, lo] = [0n, 0n]
  for (const position of positions) {
    let h = BigInt(position) ^ 0x9e3779b9n
    h = mul(h ^ (h >> 16n), 0x85ebca6bn)
    h = mul(h ^ (h >> 13n), 0xc2b2ae35n)
    hi ^= h ^ (h >> 16n)
    h = BigInt(position) ^ 0xd1b54a33n
    h = mul(h ^ (h >> 16n), 0x21f0aaadn)
    h = mul(h ^ (h >> 15n), 0x735a2d97n)
    lo ^= h ^ (h >> 15n)
  }
  return [hi, lo]
}

/** Positions in Rice code; `count` of them. */
function ungapped(bytes: Buffer, count: number): number[] {
  if (count === 0) return []
  const r = bytes[0]!
  const bits = [...bytes.subarray(1)].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  let at = 0
  let last = -1
  const positions: number[] = []
  while (positions.length < count) {
    const zero = bits.indexOf('0', at)
    const high = zero - at
    const low = r === 0 ? 0 : Number.parseInt(bits.slice(zero + 1, zero + 1 + r), 2)
    at = zero + 1 + r
    last += high * 2 ** r + low + 1
    positions.push(last)
  }
  expect(bits.slice(at)).toMatch(/^0{0,7}$/)
  return positions
}

const onesIn = (byte: number): number => byte.toString(2).replaceAll('0', '').length

/** `count` bytes in rANS code. */
function uncoded(code: Buffer, count: number): number[] {
  const order = Array.from({ length: 256 }, (_, byte) => byte).sort((a, b) => onesIn(a) - onesIn(b) || a - b)
  const frequency = (byte: number): number => code.readUInt16BE(2 * onesIn(byte))
  const slots = order.flatMap((byte) => Array.from({ length: frequency(byte) }, () => byte))
  expect(slots).toHaveLength(65536)
  const stream = [...code.subarray(18, -4)]
  let x = code.readUInt32BE(code.length - 4)
  expect(x >= 2 ** 23 && x < 2 ** 31).toBe(true)
  const bytes: number[] = []
  while (bytes.length < count) {
    const slot = x % 65536
    const byte = slots[slot]!
    x = frequency(byte) * Math.floor(x / 65536) + slot - slots.indexOf(byte)
    while (x < 2 ** 23) x = 256 * x + stream.pop()!
    bytes.push(byte)
  }
  expect([x, stream]).toEqual([2 ** 23, []])
  return bytes
}

interface Decoded {
  readonly kind: string
  readonly m: number
  readonly setBits: number
  readonly sum: [bigint, bigint]
  readonly positions: number[][]
}

function decoded(bytes: Buffer): Decoded {
  expect(bytes.toString('latin1', 0, 3)).toBe('SCD')
  expect(bytes[3]).toBe(1)
  const kind = ['want', 'snapshot', 'delta', 'turnover', 'heartbeat', 'goodbye'][bytes[4]! - 1]!
  const none: Decoded = { kind, m: 0, setBits: 0, sum: [0n, 0n], positions: [] }
  const body = bytes.subarray(6)
  if (kind === 'want') {
    expect(body).toHaveLength({ 0: 0, 1: 16, 3: 20 }[bytes[5]!]!)
    return none
  }
  if (kind === 'goodbye') {
    expect(body).toHaveLength(16)
    return none
  }
  const m = 2 ** body[19]!
  const setBits = body.readUInt32BE(24)
  const state = {
    kind,
    m,
    setBits,
    sum: [BigInt(body.readUInt32BE(36)), BigInt(body.readUInt32BE(40))] as [bigint, bigint],
  }
  const rest = body.subarray(44)
  switch (kind) {
    case 'snapshot': {
      if (bytes[5] === 1) return { ...state, positions: [ungapped(rest, setBits)] }
      const raw = bytes[5] === 2 ? uncoded(rest, m / 8) : [...rest]
      expect(raw).toHaveLength(m / 8)
      return {
        ...state,
        positions: [Array.from({ length: m }, (_, b) => b).filter((b) => (raw[b >> 3]! >> (b & 7)) & 1)],
      }
    }
    case 'delta':
      return { ...state, positions: [ungapped(rest.subarray(8), rest.readUInt32BE(4))] }
    case 'turnover': {
      const first = rest.readUInt32BE(16)
      return {
        ...state,
        positions: [
          ungapped(rest.subarray(20, 20 + first), rest.readUInt32BE(8)),
          ungapped(rest.subarray(20 + first), rest.readUInt32BE(12)),
        ],
      }
    }
    default:
      expect(rest).toHaveLength(0)
      return { ...state, positions: [] }
  }
}

test('the vectors are what this implementation does', async () => {
  // `npx vitest run test/docs -u` writes them anew; the commit that does says why.
  await expect(`${JSON.stringify(digestVectors(), null, 2)}\n`).toMatchFileSnapshot('../vectors/digest-protocol.json')
})

describe('docs/protocol.md alone is enough to read every vector', () => {
  test.each(vectors.keys)('hash and positions of $url', ({ url, hash, positions }) => {
    const h = murmur(Buffer.from(`GET ${url}`, 'latin1'))
    expect(h.map((word) => word.toString(16).padStart(8, '0')).join('')).toBe(hash)
    for (const [m, wanted] of Object.entries(positions)) expect(probes(h, Number(m), wanted.length)).toEqual(wanted)
  })

  test.each(vectors.gaps)('positions $positions', ({ positions, hex }) => {
    expect(ungapped(Buffer.from(hex, 'hex'), positions.length)).toEqual(positions)
  })

  test.each(vectors.frames)('a $kind frame', ({ kind, hex, positions }) => {
    const frame = decoded(Buffer.from(hex, 'hex'))
    expect(frame).toMatchObject({ kind, positions })
    if (kind !== 'snapshot') return
    expect(frame.setBits).toBe(positions[0]!.length)
    expect(checksum(positions[0]!)).toEqual(frame.sum)
  })

  test('there is a snapshot in each of its forms', () => {
    const snapshots = vectors.frames.filter(({ kind }) => kind === 'snapshot')
    expect(snapshots.map(({ hex }) => Buffer.from(hex, 'hex')[5])).toEqual([1, 0, 2])
  })

  test('a turnover leads from one checksum to the other', () => {
    const [delta, turnover] = ['delta', 'turnover'].map((kind) => vectors.frames.find((frame) => frame.kind === kind)!)
    const before = decoded(Buffer.from(delta!.hex, 'hex')).sum
    const after = decoded(Buffer.from(turnover!.hex, 'hex')).sum
    const change = checksum(turnover!.positions.flat())
    expect([before[0] ^ change[0], before[1] ^ change[1]]).toEqual(after)
  })
})

test('the example in the document is the delta that it says', () => {
  const example = /```hex\n([^`]+)```/.exec(text)![1]!.replaceAll(/\s/g, '')
  expect(vectors.frames.map(({ hex }) => hex)).toContain(example)
  const frame = decoded(Buffer.from(example, 'hex'))
  expect(frame).toMatchObject({ kind: 'delta', m: 1024, setBits: 4, positions: [[171, 345, 520, 1023]] })
  const [h0, h1, h2, h3] = murmur(Buffer.from('GET http://origin.example/page')).map((word) =>
    word.toString(16).padStart(8, '0'),
  )
  expect(text).toContain(`${h0} ${h1} ${h2} ${h3}`)
  expect(text).toContain('520, 345, 171 and 1023')
})
