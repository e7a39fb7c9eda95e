import { FetchError } from '../proxy/ports.ts'
import { frameText } from './frame-text.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { Transcript } from './transcript.ts'
import type { VirtualTime } from './virtual-time.ts'

/** What is wrong with the way from one proxy to another. Shares are of messages. */
export interface LinkFault {
  readonly lossShare?: number
  readonly repeatShare?: number
  /** Held up by up to a quarter of a second, and overtaken where nothing keeps order. */
  readonly reorderShare?: number
  readonly corruptShare?: number
  /** On top of every message. */
  readonly delayMs?: number
  readonly isCut?: boolean
}

/** Who is on the network: one life of a proxy. */
export interface Host {
  readonly index: number
  readonly name: string
  /** False from the moment it was killed or left. */
  readonly isUp: boolean
}

/**
 * 'streams': as TCP would carry frames, whole and in order until the connection breaks. 'datagrams': each frame may be
 * lost, repeated and overtaken by itself. Nothing of ours runs over datagrams; the protocol is to bear them all the same.
 */
export type NetworkMode = 'streams' | 'datagrams'

const LEAST_DELAY_MS = 1
const DELAY_SPREAD_MS = 3
const REORDER_SPREAD_MS = 250
const RESET_AFTER_MS = 300
/** Also of a live transport: it takes a second to find out that nobody is there. */
export const CONNECT_TIMEOUT_MS = 1_000
// Of a frame: name and geometry (docs/protocol.md, Frames).
const IDENTITY_FROM = 6
const IDENTITY_TO = 30

/** The ways between all pairs of proxies, each as bad as the faults imposed on it. */
export class SimNetwork<H extends Host> {
  readonly mode: NetworkMode
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly transcript: Transcript
  readonly #hosts = new Map<string, H>()
  readonly #faults = new Map<number, Set<LinkFault>>()
  /** Messages that were lost, repeated, held up, damaged or delayed on purpose. */
  harmed = 0

  constructor(mode: NetworkMode, time: VirtualTime, random: SeededRandom, transcript: Transcript) {
    this.mode = mode
    this.time = time
    this.random = random
    this.transcript = transcript
  }

  /** From now on it is reached by its name, in the place of a former life. */
  enter(host: H): void {
    this.#hosts.set(host.name, host)
  }

  /** Whoever listens there now. */
  hostNamed(name: string): H | undefined {
    const host = this.#hosts.get(name)
    return host?.isUp === true ? host : undefined
  }

  /** @returns what takes it off again */
  impose(from: number, to: number, fault: LinkFault): () => void {
    const key = linkKey(from, to)
    const faults = this.#faults.get(key) ?? new Set()
    this.#faults.set(key, faults)
    faults.add(fault)
    return () => {
      faults.delete(fault)
      if (faults.size === 0) this.#faults.delete(key)
    }
  }

  isCut(from: number, to: number): boolean {
    for (const fault of this.#of(from, to)) if (fault.isCut === true) return true
    return false
  }

  /** How long a message takes; undefined: it does not arrive. */
  passage(from: number, to: number): number | undefined {
    let delayMs = LEAST_DELAY_MS + this.random.next() * DELAY_SPREAD_MS
    for (const fault of this.#of(from, to)) {
      if (fault.isCut === true || this.#happens(fault.lossShare)) {
        this.harmed++
        return undefined
      }
      if (this.#happens(fault.reorderShare)) {
        this.harmed++
        delayMs += this.random.next() * REORDER_SPREAD_MS
      }
      if (fault.delayMs !== undefined) delayMs += fault.delayMs * (0.5 + this.random.next() / 2)
    }
    return delayMs
  }

  isRepeated(from: number, to: number): boolean {
    for (const fault of this.#of(from, to)) {
      if (!this.#happens(fault.repeatShare)) continue
      this.harmed++
      return true
    }
    return false
  }

  /**
   * The bytes of a frame as they arrive: a copy with one bit wrong, or themselves.
   *
   * A frame's name and geometry are left alone: the checksum is of the bits, and does not tell whose they are. Only the
   * transport's own sums and a shared key guard those.
   *
   * @param offset of the bytes in their frame
   */
  corrupted(from: number, to: number, bytes: Uint8Array, offset = 0): Uint8Array {
    for (const fault of this.#of(from, to)) {
      if (bytes.length === 0 || !this.#happens(fault.corruptShare)) continue
      const at = this.random.between(0, bytes.length - 1)
      if (offset + at >= IDENTITY_FROM && offset + at < IDENTITY_TO) continue
      const copy = bytes.slice()
      copy[at]! ^= 1 << this.random.between(0, 7)
      this.harmed++
      return copy
    }
    return bytes
  }

  /** @param fate 'arrives', 'is lost', ... */
  noteFrame(from: Host, to: Host, fate: string, frame: Uint8Array): void {
    const detail = frame.length * 256 + (frame.at(-1) ?? 0)
    this.transcript.note(this.time.nowMs, `${from.name} -> ${to.name}`, fate, detail, () => frameText(frame))
  }

  /** After how long the other end hears that a connection has broken; undefined: never. */
  resetAfterMs(): number | undefined {
    return this.random.chance(0.5) ? LEAST_DELAY_MS + this.random.next() * RESET_AFTER_MS : undefined
  }

  /**
   * A question over a connection of its own, and its answer.
   * @param serve runs at the other end, if the question gets there
   * @throws {FetchError}
   */
  call<A>(
    from: H,
    name: string,
    timeoutMs: number,
    signal: AbortSignal,
    serve: (at: H, gone: AbortSignal) => Promise<A>,
  ): Promise<A> {
    const gone = new AbortController()
    return new Promise<A>((resolve, reject) => {
      let isOver = false
      const end = (act: () => void): void => {
        if (isOver) return
        isOver = true
        timeout.cancel()
        signal.removeEventListener('abort', cancel)
        gone.abort('over')
        if (from.isUp) act()
      }
      const fail = (code: FetchError['code'], why: string): void => {
        end(() => reject(new FetchError(code, why, 0)))
      }
      const cancel = (): void => fail('cancelled', 'given up')
      const timeout = this.time.after(timeoutMs, from.index, () => fail('http_response_timeout', 'no answer in time'))
      if (signal.aborted) return cancel()
      signal.addEventListener('abort', cancel)

      const to = this.hostNamed(name)
      const there = to && this.passage(from.index, to.index)
      if (to === undefined) {
        this.time.after(LEAST_DELAY_MS, from.index, () => fail('connection_refused', 'nobody listens there'))
        return
      }
      // What does not get there is waited for until the time is up, at most as long as a connection may take.
      if (there === undefined) {
        if (timeoutMs > CONNECT_TIMEOUT_MS) {
          this.time.after(CONNECT_TIMEOUT_MS, from.index, () => fail('connection_timeout', 'no connection in time'))
        }
        return
      }
      const breakOff = (): void => {
        const resetMs = this.resetAfterMs()
        if (resetMs === undefined) return
        this.time.after(resetMs, from.index, () => fail('connection_terminated', 'the connection broke'))
      }
      const answer = async (): Promise<void> => {
        if (!to.isUp) return breakOff()
        let act: () => void
        try {
          const answered = await serve(to, gone.signal)
          act = () => end(() => resolve(answered))
        } catch (error) {
          act = () => end(() => reject(error))
        }
        const back = this.passage(to.index, from.index)
        if (back === undefined || !to.isUp) return breakOff()
        this.time.after(back, from.index, act)
      }
      this.time.after(there, to.index, () => void answer())
    })
  }

  #of(from: number, to: number): Iterable<LinkFault> {
    return this.#faults.get(linkKey(from, to)) ?? NONE
  }

  #happens(share: number | undefined): boolean {
    return share !== undefined && this.random.chance(share)
  }
}

const NONE: readonly LinkFault[] = []
const MAX_HOSTS = 1 << 12

function linkKey(from: number, to: number): number {
  return from * MAX_HOSTS + to
}
