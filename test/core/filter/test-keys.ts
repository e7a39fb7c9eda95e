import { murmur3 } from '../../../src/core/filter/murmur3.ts'
import type { KeyHash } from '../../../src/core/filter/key-hash.ts'

const encoder = new TextEncoder()

export function keyOfBytes(bytes: Uint8Array): KeyHash {
  const out = new Uint32Array(4)
  murmur3(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0, bytes.length, out)
  return { h0: out[0]!, h1: out[1]!, h2: out[2]!, h3: out[3]! }
}

export function keyOf(text: string): KeyHash {
  return keyOfBytes(encoder.encode(text))
}

/** Uniform in [0, 1), the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** `count` positions below `bitCount`, ascending, each once. */
export function randomPositions(random: () => number, count: number, bitCount: number): Uint32Array {
  const chosen = new Set<number>()
  while (chosen.size < count) chosen.add(Math.floor(random() * bitCount))
  return Uint32Array.from(chosen).sort()
}
