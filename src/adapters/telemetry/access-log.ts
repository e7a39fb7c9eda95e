import { mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { pino } from 'pino'
import type { Logger } from 'pino'
import type { EventSink } from '../../proxy/ports.ts'
import type { ProxyEvent, RequestEnded } from '../../proxy/proxy-event.ts'
import { jsonLogLine } from './json-log-line.ts'
import { squidLogLine } from './squid-log-line.ts'

export interface AccessLogOptions {
  /** `-`: standard output. Its directory is made if it is missing. */
  readonly path: string
  readonly format: 'squid' | 'json'
  readonly logger: Logger
}

/** A line per write would cost more than the request that it tells of. */
const BUFFER_BYTES = 8192
const FLUSH_MS = 1000
/** Kept for a disk that is full or slow; beyond that, lines are lost. */
const MAX_BUFFER_BYTES = 4 * 1024 * 1024

const LINES: Readonly<Record<AccessLogOptions['format'], (ended: RequestEnded) => string>> = {
  squid: squidLogLine,
  json: jsonLogLine,
}

type Destination = ReturnType<typeof pino.destination>

/** A line per request that has ended. Trouble with the file is counted and told to the logger, once; it fails nobody. */
export class AccessLog implements EventSink {
  readonly #path: string
  readonly #logger: Logger
  readonly #line: (ended: RequestEnded) => string
  readonly #flushTimer: NodeJS.Timeout
  #destination: Destination
  #state: 'writing' | 'failing' | 'broken' | 'closed' = 'writing'
  #lostLines = 0

  /** @throws the file system's error when the file can't be opened: better at the start than unseen */
  constructor(options: AccessLogOptions) {
    this.#path = options.path
    this.#logger = options.logger
    this.#line = LINES[options.format]
    this.#destination = this.#open()
    this.#flushTimer = setInterval(() => this.#flush(), FLUSH_MS)
    this.#flushTimer.unref()
  }

  /** Lines that came when there was no room for them, or nowhere to write. */
  get lostLines(): number {
    return this.#lostLines
  }

  emit(event: ProxyEvent): void {
    if (event.kind !== 'request-ended') return
    if (this.#state === 'broken' || this.#state === 'closed') this.#lostLines++
    else this.#destination.write(`${this.#line(event)}\n`)
  }

  /** After a rotation: goes on in a new file of the same path. Where none can be opened, the old one stays in use. */
  reopen(): void {
    if (this.#path === '-' || this.#state === 'closed') return
    const old = this.#destination
    try {
      this.#destination = this.#open()
    } catch (error) {
      this.#logger.error({ err: error, path: this.#path }, 'access log could not be opened again; the old file stays')
      return
    }
    if (this.#state === 'broken') this.#state = 'writing'
    void finish(old)
  }

  /** Resolves when all is written, or can't be. */
  async close(): Promise<void> {
    if (this.#state === 'closed') return
    clearInterval(this.#flushTimer)
    const broken = this.#state === 'broken'
    this.#state = 'closed'
    if (!broken) await finish(this.#destination)
  }

  #open(): Destination {
    // Opened here and not by the destination, which would tell of a failure only later, and then by throwing.
    const fd = this.#path === '-' ? 1 : openForAppend(this.#path)
    const destination = pino.destination({
      fd,
      sync: false,
      minLength: BUFFER_BYTES,
      maxLength: MAX_BUFFER_BYTES,
    })
    destination.on('error', (error: NodeJS.ErrnoException) => this.#failed(destination, error))
    destination.on('drop', () => this.#lostLines++)
    destination.on('write', () => this.#written(destination))
    return destination
  }

  #flush(): void {
    if (this.#state === 'writing' || this.#state === 'failing') this.#destination.flush()
  }

  #failed(destination: Destination, error: NodeJS.ErrnoException): void {
    if (destination !== this.#destination) return
    // Nobody reads the other end any more, and the destination has stopped for good.
    const broken = error.code === 'EPIPE'
    if (this.#state === 'writing') this.#logger.error({ err: error, path: this.#path }, 'access log can not be written')
    if (this.#state !== 'closed') this.#state = broken ? 'broken' : 'failing'
  }

  #written(destination: Destination): void {
    if (this.#state !== 'failing' || destination !== this.#destination) return
    this.#state = 'writing'
    this.#logger.info({ path: this.#path, lostLines: this.#lostLines }, 'access log is written again')
  }
}

function openForAppend(path: string): number {
  mkdirSync(dirname(path), { recursive: true })
  return openSync(path, 'a')
}

/** Writes what is buffered, once, and closes. Never rejects. */
async function finish(destination: Destination): Promise<void> {
  await new Promise<void>((resolve) => {
    destination.once('close', resolve)
    destination.on('error', () => {
      destination.destroy()
      resolve()
    })
    destination.end()
  })
}
