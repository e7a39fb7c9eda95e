import type { Logger } from 'pino'
import type { EventSink } from '../../proxy/ports.ts'
import type { PeerChanged, ProxyEvent } from '../../proxy/proxy-event.ts'

const LEVELS: Readonly<Record<PeerChanged['state'], 'info' | 'warn'>> = {
  added: 'info',
  removed: 'info',
  connected: 'info',
  recovered: 'info',
  disconnected: 'warn',
  suspended: 'warn',
  refused: 'warn',
  'switched-off': 'warn',
  'switched-on': 'info',
}

/** Tells the log what an operator wants to find there. Requests are the access log's. */
export class EventLog implements EventSink {
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
  }

  emit(event: ProxyEvent): void {
    switch (event.kind) {
      case 'peer-changed':
        return this.#logger[LEVELS[event.state]](event, `peer ${event.state}`)
      case 'peer-turned-away':
        return this.#logger.warn(event, 'peer turned away')
      case 'digest-turned':
        return this.#logger.info(event, 'new digest generation')
      case 'peer-asked':
        if (event.outcome !== 'hit') this.#logger.debug(event, 'peer asked in vain')
        return
      case 'origin-asked':
        if (event.outcome === 'failed') this.#logger.debug(event, 'origin asked in vain')
        return
      case 'datagrams-dropped':
        return this.#logger.debug(event, 'datagrams dropped')
      case 'digest-sent':
      case 'digest-received':
        return this.#logger.trace(event, 'digest frame')
      case 'peer-probed':
      case 'local-miss':
      case 'request-ended':
        return
    }
  }
}
