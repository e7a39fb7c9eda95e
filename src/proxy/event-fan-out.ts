import type { EventSink } from './ports.ts'
import type { ProxyEvent } from './proxy-event.ts'

/** Hands each event to every listener, in the order in which they came. */
export class EventFanOut implements EventSink {
  readonly #listeners = new Set<(event: ProxyEvent) => void>()

  emit(event: ProxyEvent): void {
    for (const listener of this.#listeners) listener(event)
  }

  /** Until the returned function is called. */
  subscribe(listener: (event: ProxyEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
