import {
  decodeDigestMessage,
  encodeDelta,
  encodeHeartbeat,
  encodeTurnover,
} from '../../../src/core/digest/digest-codec.ts'
import type { DigestMessage } from '../../../src/core/digest/digest-message.ts'
import { compareNames, formatName, type DigestName } from '../../../src/core/digest/digest-name.ts'
import type { Replica } from '../../../src/core/digest/replica.ts'
import { encodeSnapshot } from '../../../src/core/digest/snapshot-encoder.ts'
import type { StateHead } from '../../../src/core/digest/state-head.ts'
import { BitArray } from '../../../src/core/filter/bit-array.ts'
import { checksumOf } from '../../../src/core/filter/bit-checksum.ts'
import type { FilterGeometry } from '../../../src/core/filter/filter-geometry.ts'
import { turnOver } from '../filter/turn-over.ts'
import { Summary } from '../../../src/core/filter/summary.ts'
import { keyOf } from '../filter/test-keys.ts'

export const limits = { maxBitCount: 2 ** 20 }

export function decoded(frame: Uint8Array): DigestMessage {
  return decodeDigestMessage(frame, limits)
}

export function finish(replica: Replica): void {
  for (let more = true; more;) more = replica.work(64)
}

/** A copy of what the replica holds; undefined where it holds nothing. */
export function bitsOf(replica: Replica): BitArray | undefined {
  const { bits } = replica
  if (bits === undefined) return undefined
  return new BitArray(
    bits.bitCount,
    Uint32Array.from({ length: bits.bitCount / 32 }, (_, i) => bits.word(i)),
  )
}

export function stateOf(name: DigestName, geometry: FilterGeometry, bits: BitArray, entryCount = 0): StateHead {
  const { hi, lo } = checksumOf(bits)
  const setBitCount = bits.countSet()
  return { name, geometry, setBitCount, entryCount, oldestChangeAgeMs: 0, checksumHi: hi, checksumLo: lo }
}

export function bitsAt(bitCount: number, positions: Iterable<number>): BitArray {
  const bits = new BitArray(bitCount)
  for (const position of positions) bits.set(position)
  return bits
}

function isSubset(a: BitArray, b: BitArray): boolean {
  return a.words.every((word, i) => (word & ~b.words[i]!) === 0)
}

/** A publisher that keeps everything it ever said: each step's frame and each state's bits. */
export class TestPublisher {
  readonly summary: Summary
  readonly bitsByName = new Map<string, BitArray>()
  readonly steps: { from: DigestName; frame: Uint8Array }[] = []
  readonly #held: string[] = []
  name: DigestName

  constructor(geometry: FilterGeometry, incarnation = 1) {
    this.summary = new Summary(geometry)
    this.name = { incarnation, generation: 0, sequence: 0 }
    this.#record()
  }

  get state(): StateHead {
    return stateOf(this.name, this.summary.geometry, this.summary.published, this.summary.entryCount)
  }

  add(...urls: string[]): this {
    for (const url of urls) {
      this.summary.add(keyOf(url))
      this.#held.push(url)
    }
    return this
  }

  remove(...urls: string[]): this {
    for (const url of urls) {
      this.summary.remove(keyOf(url))
      this.#held.splice(this.#held.indexOf(url), 1)
    }
    return this
  }

  removeIfAdded(url: string): this {
    return this.#held.includes(url) ? this.remove(url) : this
  }

  delta(): Uint8Array {
    const from = this.name
    const set = this.summary.publishDelta()
    this.name = { ...from, sequence: from.sequence + 1 }
    return this.#log(from, encodeDelta(from.sequence, this.state, set))
  }

  turnover(): Uint8Array {
    const from = this.name
    const { set, clear } = turnOver(this.summary)
    this.name = { ...from, generation: from.generation + 1, sequence: 0 }
    return this.#log(from, encodeTurnover(from, this.state, set, clear))
  }

  /** One delta for all that was set since `fromSequence` of this generation. */
  repair(fromSequence: number): Uint8Array {
    const then = this.bitsByName.get(formatName({ ...this.name, sequence: fromSequence }))!
    const now = this.summary.published
    const set = Array.from({ length: now.bitCount }, (_, i) => i).filter((i) => now.get(i) && !then.get(i))
    return encodeDelta(fromSequence, this.state, Uint32Array.from(set))
  }

  heartbeat(): Uint8Array {
    return encodeHeartbeat(this.state)
  }

  snapshot(): Uint8Array {
    return encodeSnapshot(this.state, this.summary.published)
  }

  /** What a peer that has `have` lacks. */
  catchUp(have: DigestName | undefined): Uint8Array[] {
    if (have === undefined) return [this.snapshot()]
    const first = this.steps.findIndex(({ from }) => compareNames(from, have) === 0)
    return first < 0 ? [this.heartbeat()] : this.steps.slice(first).map(({ frame }) => frame)
  }

  /** Are these the bits published under that name? */
  published(name: DigestName, bits: BitArray): boolean {
    return this.bitsByName.get(formatName(name))?.equals(bits) === true
  }

  /** Are these bits on the way from that state to a later one of its generation, which only raises them? */
  rising(name: DigestName, bits: BitArray): boolean {
    const states = [...this.bitsByName].filter(([n]) => n.startsWith(`${name.incarnation}.${name.generation}.`))
    const [first, last] = [this.bitsByName.get(formatName(name)), states.at(-1)?.[1]]
    return first !== undefined && last !== undefined && isSubset(first, bits) && isSubset(bits, last)
  }

  #log(from: DigestName, frame: Uint8Array): Uint8Array {
    this.steps.push({ from, frame })
    this.#record()
    return frame
  }

  #record(): void {
    const copy = new BitArray(this.summary.published.bitCount)
    copy.copyFrom(this.summary.published)
    this.bitsByName.set(formatName(this.name), copy)
  }
}
