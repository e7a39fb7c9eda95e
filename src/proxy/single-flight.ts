import type { Filling } from './ports.ts'

/**
 * What a flight brought, known as soon as the answer's head is: a filling that others may read too, 'stored' (our own
 * entry was validated: look again), or 'alone' (the answer is for its own asker only, or there is none).
 */
export type Landing<B> = Filling<B> | 'stored' | 'alone'

/** A fetch that others wait for. It is given up when nobody waits any more. */
export class Flight<B> {
  readonly #controller = new AbortController()
  readonly #landed: Promise<Landing<B>>
  #land: (landing: Landing<B>) => void = () => undefined
  #waiting = 0

  constructor() {
    this.#landed = new Promise((resolve) => {
      this.#land = resolve
    })
  }

  /** Aborted when every asker has gone before the answer's head came. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get landed(): Promise<Landing<B>> {
    return this.#landed
  }

  /** Counts one asker in, until its client goes away or the returned function is called. */
  board(client: AbortSignal): () => void {
    this.#waiting++
    let aboard = true
    const leave = (): void => {
      if (!aboard) return
      aboard = false
      client.removeEventListener('abort', gone)
      this.#waiting--
    }
    const gone = (): void => {
      leave()
      if (this.#waiting === 0) this.#controller.abort()
    }
    if (client.aborted) gone()
    else client.addEventListener('abort', gone, { once: true })
    return leave
  }

  land(landing: Landing<B>): void {
    this.#land(landing)
  }
}

// How long it is remembered that an answer could not be shared: as Varnish's hit-for-miss. As many keys as make a map of
// about a megabyte; the oldest go first.
const LONER_MS = 120_000
const MAX_LONERS = 8_192

/**
 * One flight per key: concurrent misses for it fetch once (collapsed forwarding). Where an answer turned out not to be
 * storable, later askers of that key do not wait for each other: they would only queue.
 */
export class SingleFlight<B> {
  readonly #flights = new Map<string, Flight<B>>()
  readonly #loners = new Map<string, number>()

  under(key: string): Flight<B> | undefined {
    return this.#flights.get(key)
  }

  begin(key: string): Flight<B> {
    const flight = new Flight<B>()
    this.#flights.set(key, flight)
    return flight
  }

  /** From here on a new asker looks into the store. */
  end(key: string, flight: Flight<B>): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key)
  }

  /** The key's answer could not be stored, or could after all. */
  remember(key: string, isLoner: boolean, nowMs: number): void {
    this.#loners.delete(key)
    if (!isLoner) return
    this.#loners.set(key, nowMs + LONER_MS)
    if (this.#loners.size > MAX_LONERS) this.#loners.delete(this.#loners.keys().next().value!)
  }

  isLoner(key: string, nowMs: number): boolean {
    return this.#loners.size > 0 && (this.#loners.get(key) ?? -Infinity) > nowMs
  }
}
