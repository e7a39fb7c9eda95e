import {
  encodeDelta,
  encodeGoodbye,
  encodeHeartbeat,
  encodeTurnover,
  encodeWant,
} from '../../src/core/digest/digest-codec.ts'
import { encodeGaps } from '../../src/core/digest/gap-code.ts'
import { encodeSnapshot } from '../../src/core/digest/snapshot-encoder.ts'
import type { StateHead } from '../../src/core/digest/state-head.ts'
import { geometryFor } from '../../src/core/filter/filter-geometry.ts'
import { probePositions } from '../../src/core/filter/probing.ts'
import { turnOver } from '../core/filter/turn-over.ts'
import { Summary } from '../../src/core/filter/summary.ts'
import { cacheKey } from '../../src/core/http/cache-key.ts'

export interface DigestVectors {
  readonly keys: readonly {
    readonly url: string
    readonly hash: string
    readonly positions: Record<string, number[]>
  }[]
  readonly gaps: readonly { readonly positions: number[]; readonly hex: string }[]
  readonly frames: readonly { readonly kind: string; readonly hex: string; readonly positions: number[][] }[]
}

const URLS = [
  'http://origin.example/page',
  'http://origin.example/',
  'https://registry.npmjs.org/left-pad',
  'http://h/?q',
  'http://[2001:db8::1]:8080/a%20b',
]
const INCARNATION = 1_796_000_000_000
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** What docs/protocol.md describes, as this implementation does it. */
export function digestVectors(): DigestVectors {
  const keys = URLS.map((url) => {
    const key = cacheKey(url)
    const positions: Record<string, number[]> = {}
    for (const entries of [64, 100_000]) {
      const geometry = geometryFor(entries)
      const out = new Uint32Array(geometry.probeCount)
      probePositions(key, geometry, out)
      positions[String(geometry.bitCount)] = [...out]
    }
    return { url, hash: hex(hashBytes(key)), positions }
  })
  const gaps = [[], [0], [1023], [0, 1, 2, 3], [171, 345, 520, 1023], [5, 100_000, 2_000_000_000]].map((positions) => ({
    positions,
    hex: hex(encodeGaps(Uint32Array.from(positions))),
  }))
  return { keys, gaps, frames: frameVectors() }
}

function frameVectors(): DigestVectors['frames'] {
  const geometry = geometryFor(64)
  const summary = new Summary(geometry)
  const state = (generation: number, sequence: number): StateHead => ({
    name: { incarnation: INCARNATION, generation, sequence },
    geometry,
    setBitCount: summary.setBitCount,
    entryCount: summary.entryCount,
    oldestChangeAgeMs: 250,
    checksumHi: summary.checksum.hi,
    checksumLo: summary.checksum.lo,
  })
  const frames: { kind: string; hex: string; positions: number[][] }[] = []
  const add = (kind: string, bytes: Uint8Array, ...positions: Uint32Array[]): void => {
    frames.push({ kind, hex: hex(bytes), positions: positions.map((some) => Array.from(some)) })
  }
  add('want', encodeWant(undefined))
  add('want', encodeWant({ incarnation: INCARNATION, generation: 3, sequence: 7 }))
  add('want', encodeWant({ incarnation: INCARNATION, generation: 3, sequence: 7 }, 12))
  summary.add(cacheKey(URLS[0]!))
  const first = summary.publishDelta()
  add('delta', encodeDelta(7, state(3, 8), first), first)
  for (const url of URLS.slice(1)) summary.add(cacheKey(url))
  summary.remove(cacheKey(URLS[0]!))
  const { set, clear } = turnOver(summary)
  add('turnover', encodeTurnover(state(3, 8).name, state(4, 0), set, clear), set, clear)
  const all = Uint32Array.from({ length: geometry.bitCount }, (_, i) => i).filter((i) => summary.published.get(i))
  add('snapshot', encodeSnapshot(state(4, 0), summary.published), all)
  for (let i = 0; i < 300; i++) summary.add(cacheKey(`http://origin.example/${i}`))
  summary.publishDelta()
  const many = Uint32Array.from({ length: geometry.bitCount }, (_, i) => i).filter((i) => summary.published.get(i))
  add('snapshot', encodeSnapshot(state(4, 1), summary.published), many)
  for (let i = 300; i < 550; i++) summary.add(cacheKey(`http://origin.example/${i}`))
  summary.publishDelta()
  const most = Uint32Array.from({ length: geometry.bitCount }, (_, i) => i).filter((i) => summary.published.get(i))
  add('snapshot', encodeSnapshot(state(4, 2), summary.published), most)
  add('heartbeat', encodeHeartbeat(state(4, 2)))
  add('goodbye', encodeGoodbye(state(4, 2).name))
  return frames
}

function hashBytes({ h0, h1, h2, h3 }: { h0: number; h1: number; h2: number; h3: number }): Uint8Array {
  const bytes = new Uint8Array(16)
  const view = new DataView(bytes.buffer)
  for (const [i, word] of [h0, h1, h2, h3].entries()) view.setUint32(4 * i, word)
  return bytes
}
