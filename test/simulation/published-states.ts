import { formatName, type DigestName } from '../../src/core/digest/digest-name.ts'
import type { CacheKey } from '../../src/core/http/cache-key.ts'
import type { VirtualProxy } from '../../src/sim/virtual-proxy.ts'
import type { Findings } from './rule-broken.ts'

/** A state as it was published: the bits, and what the directory claimed then. */
export interface PublishedState {
  readonly name: DigestName
  readonly bitCount: number
  readonly probeCount: number
  /** Bit b is bit b % 32 of word b / 32. */
  readonly words: Uint32Array
  readonly claimed: readonly CacheKey[]
}

/** A counter of four bits sticks here, and its bit stays set. */
const STUCK_AT = 15

/** Between what is due and its going out: a few ticks. */
const PUBLISHED_AFTER_MS = 500

interface Life {
  readonly proxy: VirtualProxy
  readonly claimed: Map<string, { readonly key: CacheKey; readonly sinceMs: number }>
  /** Since when it has been more than half full; Infinity: it is not. */
  fullSinceMs: number
  last: PublishedState | undefined
  /** Some counter may have stuck: bits that nobody needs are no fault then. */
  mayHaveStuck: boolean
  isDirty: boolean
}

/** Everything that every publisher ever published, by name, as it was: copies. */
export class PublishedStates {
  readonly #findings: Findings
  readonly #states = new Map<string, PublishedState>()
  readonly #latest = new Map<string, PublishedState>()
  readonly #lives = new Map<VirtualProxy, Life>()
  readonly #incarnations = new Map<string, number>()

  constructor(findings: Findings) {
    this.#findings = findings
  }

  find(proxy: string, name: DigestName): PublishedState | undefined {
    return this.#states.get(`${proxy} ${formatName(name)}`)
  }

  /** The last state published in that name's generation. */
  latestOf(proxy: string, { incarnation, generation }: DigestName): PublishedState {
    return this.#latest.get(`${proxy} ${incarnation}.${generation}`)!
  }

  started(proxy: VirtualProxy): void {
    const { incarnation, name } = proxy
    const former = this.#incarnations.get(name) ?? 0
    this.#findings.expect(incarnation > former, 13, () => `${name} starts as ${incarnation} after ${former}`)
    this.#incarnations.set(name, incarnation)
    const life = this.#lifeOf(proxy)
    this.#record(life)
  }

  claimChanged(proxy: VirtualProxy, key: CacheKey, isClaimed: boolean): void {
    const life = this.#lifeOf(proxy)
    const was = life.claimed.has(key.url)
    this.#findings.expect(was !== isClaimed, 14, () => `${proxy.name} is told ${String(isClaimed)} of ${key.url} twice`)
    if (isClaimed) life.claimed.set(key.url, { key, sinceMs: proxy.clock.monotonicMs() })
    else life.claimed.delete(key.url)
    life.isDirty = true
  }

  /** A frame for all is about to go out. */
  published(proxy: VirtualProxy): void {
    const life = this.#lifeOf(proxy)
    const { name } = proxy.protocol.publisher
    const isCurrent = name.incarnation === proxy.incarnation && this.#incarnations.get(proxy.name) === proxy.incarnation
    this.#findings.expect(isCurrent, 13, () => `${proxy.name} publishes ${formatName(name)} beside another life`)
    this.#record(life)
  }

  /** After a step of the proxy. */
  check(proxy: VirtualProxy): void {
    const life = this.#lifeOf(proxy)
    if (!life.isDirty) return
    life.isDirty = false
    const { summary } = proxy.protocol.publisher
    const { bitCount, probeCount } = summary.geometry
    const findings = this.#findings
    const counts = new Map<number, number>()
    for (const { key } of life.claimed.values()) {
      findings.expect(
        summary.mayContain(key),
        14,
        () => `the summary of ${proxy.name} lacks ${key.url}, which it holds`,
      )
      for (const position of positionsOf(key, bitCount, probeCount)) {
        counts.set(position, (counts.get(position) ?? 0) + 1)
      }
    }
    const { entryCount } = summary
    const { size } = life.claimed
    findings.expect(entryCount === size, 14, () => `the summary of ${proxy.name} has ${entryCount} keys, not ${size}`)
    for (const count of counts.values()) if (count >= STUCK_AT) life.mayHaveStuck = true
    // Of the next generation's filter once that is fixed, in another size perhaps.
    if (life.mayHaveStuck || summary.isFixed) return
    const { liveBitCount } = summary
    findings.expect(liveBitCount === counts.size, 14, () => {
      return `the summary of ${proxy.name} has ${liveBitCount} bits set where its keys need ${counts.size}`
    })
  }

  /** Claims against the directory: fresh within the minute, and served from it; and against what is published of them. */
  checkClaims(proxy: VirtualProxy, maxAgeMs: number, nowMs: number): void {
    const life = this.#lifeOf(proxy)
    const findings = this.#findings
    const { summary } = proxy.protocol.publisher
    const isFull = summary.setBitCount > summary.geometry.bitCount / 2
    life.fullSinceMs = isFull ? Math.min(life.fullSinceMs, nowMs) : Infinity
    findings.expect(nowMs - life.fullSinceMs <= maxAgeMs + PUBLISHED_AFTER_MS, 5, () => {
      return `${proxy.name} lets ${summary.setBitCount} of ${summary.geometry.bitCount} bits be set`
    })
    for (const { key, sinceMs } of life.claimed.values()) {
      const isPublished = summary.publishedMayContain(key)
      findings.expect(isPublished || nowMs - sinceMs <= maxAgeMs + PUBLISHED_AFTER_MS, 6, () => {
        return `${proxy.name} has not published ${key.url} for ${Math.round(nowMs - sinceMs)} ms`
      })
      const variants = proxy.directory.variantsOf(key)
      const isHeld = variants.some((entry) => proxy.store.bodyOf(entry) !== undefined)
      findings.expect(isHeld, 14, () => `${proxy.name} claims ${key.url} and holds nothing of it`)
      const freshUntilMs = Math.max(
        ...variants.map(({ stored: { facts } }) => facts.receivedMs + facts.lifetimeMs - facts.initialAgeMs),
      )
      findings.expect(freshUntilMs > nowMs - 60_000, 14, () => `${proxy.name} still claims ${key.url}, long stale`)
    }
  }

  #record(life: Life): void {
    const { proxy } = life
    const { publisher } = proxy.protocol
    const { name, summary } = publisher
    const { bitCount, probeCount } = summary.geometry
    const words = summary.published.words
    const last = life.last
    if (last !== undefined && formatName(last.name) === formatName(name)) {
      const isSame = equalWords(last.words, words)
      this.#findings.expect(
        isSame,
        1,
        () => `${proxy.name} changed the bits of ${formatName(name)} after publishing it`,
      )
      return
    }
    // A life begins with no bits at all, whatever a kept store has brought.
    const claimed = last === undefined ? [] : [...life.claimed.values()].map(({ key }) => key)
    const state: PublishedState = { name, bitCount, probeCount, words: words.slice(), claimed }
    if (last !== undefined && last.name.generation === name.generation) {
      const rises = last.words.every((word, i) => (word & ~words[i]!) === 0)
      this.#findings.expect(rises, 3, () => `${proxy.name} clears bits within its generation, at ${formatName(name)}`)
    }
    for (const key of claimed) {
      const isThere = positionsOf(key, bitCount, probeCount).every((position) => isSet(words, position))
      this.#findings.expect(isThere, 2, () => `${proxy.name} publishes ${formatName(name)} without ${key.url}`)
    }
    life.last = state
    this.#states.set(`${proxy.name} ${formatName(name)}`, state)
    this.#latest.set(`${proxy.name} ${name.incarnation}.${name.generation}`, state)
  }

  #lifeOf(proxy: VirtualProxy): Life {
    let life = this.#lives.get(proxy)
    if (life === undefined) {
      life = { proxy, claimed: new Map(), fullSinceMs: Infinity, last: undefined, mayHaveStuck: false, isDirty: true }
      this.#lives.set(proxy, life)
    }
    return life
  }
}

/** The key's positions, as docs/protocol.md gives them. */
function positionsOf(key: CacheKey, bitCount: number, probeCount: number): number[] {
  const positions: number[] = []
  let probe = key.h0 >>> 0
  let step = (key.h1 | 1) >>> 0
  for (let i = 0; i < probeCount; i++) {
    positions.push(probe % bitCount)
    probe = (probe + step) % 2 ** 32
    step = (step + i + 1) % 2 ** 32
  }
  return positions
}

function isSet(words: Uint32Array, position: number): boolean {
  return ((words[position >>> 5]! >>> (position & 31)) & 1) === 1
}

export function equalWords(a: Uint32Array, b: Uint32Array): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}
