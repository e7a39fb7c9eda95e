import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { PeerView, Statistics } from '../proxy/views.ts'

/** A proxy of the demo could not be started, or ended by itself. */
export class ProxyProcessError extends Error {
  override readonly name = 'ProxyProcessError'
  readonly code = 'PROXY_PROCESS'
}

export interface ProxyProcessOptions {
  readonly name: string
  readonly port: number
  readonly adminPort: number
  readonly peers: readonly { readonly name: string; readonly url: string }[]
  readonly memoryBytes: number
  readonly expectedEntries: number
  /** The script that is this program: `cli.ts`, or `cli.js` when built. */
  readonly cli: string
}

const START_TIMEOUT_MS = 20_000
const STOP_TIMEOUT_MS = 5_000

/** One proxy of the demo: a process of its own, told what to do by a configuration file and asked over its API. */
export class ProxyProcess {
  readonly name: string
  readonly proxyUrl: string
  readonly adminUrl: string
  /** Resolves when the process ends without having been told to; else never. */
  readonly died: Promise<ProxyProcessError>
  readonly #child: ChildProcess
  readonly #folder: string
  #said = ''
  #stopping = false

  constructor(options: ProxyProcessOptions) {
    this.name = options.name
    this.proxyUrl = `http://127.0.0.1:${options.port}`
    this.adminUrl = `http://127.0.0.1:${options.adminPort}`
    this.#folder = mkdtempSync(join(tmpdir(), 'summary-cache-demo-'))
    const file = join(this.#folder, 'config.yaml')
    writeFileSync(file, stringify(configOf(options, this.#folder)))
    // The channel lets it notice when we are gone, however we went.
    this.#child = spawn(process.execPath, [options.cli, 'serve', '--config', file], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#child.stderr!.on('data', (chunk: Buffer) => {
      this.#said = (this.#said + chunk.toString()).slice(-4_000)
    })
    this.died = new Promise((resolve) => {
      this.#child.once('close', () => {
        if (!this.#stopping) resolve(this.#deathError())
      })
    })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Resolves when it serves and its peers' digests are here. @throws {ProxyProcessError} */
  async ready(signal: AbortSignal): Promise<void> {
    const deadlineMs = performance.now() + START_TIMEOUT_MS
    while (!signal.aborted) {
      this.#check()
      if (performance.now() > deadlineMs) throw this.#error(`was not ready within ${START_TIMEOUT_MS / 1000} s`)
      try {
        const answer = await fetch(`${this.adminUrl}/v1/ready`)
        if (answer.ok) return
      } catch {
        // Not listening yet.
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  /** @throws {ProxyProcessError} */
  statistics(): Promise<Statistics> {
    return this.#get<Statistics>('/v1/statistics')
  }

  /** @throws {ProxyProcessError} */
  async peers(): Promise<readonly PeerView[]> {
    return (await this.#get<{ readonly peers: readonly PeerView[] }>('/v1/peers')).peers
  }

  async stop(): Promise<void> {
    this.#stopping = true
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, 'exit')
      this.#child.kill('SIGTERM')
      const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS)
      await ended
      clearTimeout(timer)
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #get<T>(path: string): Promise<T> {
    this.#check()
    const answer = await fetch(this.adminUrl + path)
    if (!answer.ok) throw this.#error(`answered ${answer.status} to ${path}`)
    return (await answer.json()) as T
  }

  #check(): void {
    if (this.#stopping || (this.#child.exitCode === null && this.#child.signalCode === null)) return
    throw this.#deathError()
  }

  #deathError(): ProxyProcessError {
    return this.#error(`ended with ${this.#child.signalCode ?? `exit code ${this.#child.exitCode}`}`)
  }

  #error(what: string): ProxyProcessError {
    return new ProxyProcessError(`proxy ${this.name} ${what}${this.#said === '' ? '' : `:\n${this.#said.trimEnd()}`}`)
  }
}

function configOf(options: ProxyProcessOptions, folder: string): object {
  return {
    name: options.name,
    listen: { host: '127.0.0.1', port: options.port },
    admin: { host: '127.0.0.1', port: options.adminPort },
    store: { memory: options.memoryBytes },
    digest: { profile: 'thrifty', expectedEntries: options.expectedEntries },
    peers: options.peers,
    accessLog: { path: join(folder, 'access.log'), format: 'squid' },
    log: { level: 'warn' },
  }
}
