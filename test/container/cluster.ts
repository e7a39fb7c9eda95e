import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { promisify } from 'node:util'
import { GenericContainer, Network, Wait, getContainerRuntimeClient } from 'testcontainers'
import type { StartedNetwork, StartedTestContainer } from 'testcontainers'

export const IMAGE = 'summary-cache'
const TOKEN = 'a-token-for-the-tests'
const PROXY_PORT = 3128
const ADMIN_PORT = 8128

/** Runs docker from the project's root. @throws with what it said, when it fails */
export async function docker(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('docker', args, { maxBuffer: 2 ** 24 })
  return stdout
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
  readonly elapsedMs: number
}

/** One GET. `path` may be an absolute URL: then the host is asked as a forward proxy. */
export function get(host: string, port: number, path: string, headers: Record<string, string> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const startMs = performance.now()
    const call = request({ host, port, path, headers, agent: false, timeout: 10_000 }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (body += chunk))
      response.on('error', reject)
      response.on('end', () => {
        const elapsedMs = performance.now() - startMs
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body, elapsedMs })
      })
    })
    call.on('error', reject)
    call.on('timeout', () => call.destroy(new Error(`no answer from ${host}:${port} for 10 s`)))
    call.end()
  })
}

/** Does a page of `deploy/origin/origin.mjs` carry its own checksum? */
export function isWhole(page: string): boolean {
  return page.slice(0, 64) === createHash('sha256').update(page.slice(64)).digest('hex')
}

/**
 * Once in a while a port that the engine has published answers nobody: the caller tries again, and another container gets
 * another port.
 */
function startOrigin(network: StartedNetwork): Promise<StartedTestContainer> {
  return new GenericContainer(IMAGE)
    .withNetwork(network)
    .withNetworkAliases('origin')
    .withCopyFilesToContainer([{ source: 'deploy/origin/origin.mjs', target: '/origin/origin.mjs' }])
    .withEntrypoint(['node', '/origin/origin.mjs'])
    .withExposedPorts(8080)
    .withWaitStrategy(Wait.forHttp('/requests', 8080).withStartupTimeout(30_000))
    .start()
}

/** A network whose bridge forwards nothing has been seen too: both are made anew then. */
async function startWithNetwork(): Promise<{ network: StartedNetwork; origin: StartedTestContainer }> {
  const network = await new Network().start()
  return { network, origin: await startOrigin(network) }
}

/** Proxies and an origin on a network of their own. */
export class Cluster {
  readonly #network: StartedNetwork
  readonly #origin: StartedTestContainer
  readonly #proxies: ReadonlyMap<string, StartedTestContainer>

  private constructor(
    network: StartedNetwork,
    origin: StartedTestContainer,
    proxies: ReadonlyMap<string, StartedTestContainer>,
  ) {
    this.#network = network
    this.#origin = origin
    this.#proxies = proxies
  }

  static async start(names: readonly string[]): Promise<Cluster> {
    const { network, origin } = await startWithNetwork().catch(() => startWithNetwork())
    const started = names.map(async (name) => [name, await startProxy(network, name, names)] as const)
    return new Cluster(network, origin, new Map(await Promise.all(started)))
  }

  /** The origin's page at `path`, by way of a proxy. */
  async fetch(proxy: string, path: string): Promise<Answer> {
    const port = await this.#publishedPort(proxy, PROXY_PORT)
    return get(this.#proxy(proxy).getHost(), port, originUrl(path), { host: 'origin:8080' })
  }

  /** What the administration of a proxy says. */
  async ask<T>(proxy: string, path: string): Promise<T> {
    const port = await this.#publishedPort(proxy, ADMIN_PORT)
    const answer = await get(this.#proxy(proxy).getHost(), port, path, { authorization: `Bearer ${TOKEN}` })
    if (answer.status !== 200) throw new Error(`${proxy}${path}: ${answer.status} ${answer.body}`)
    return JSON.parse(answer.body)
  }

  /** The peers that `proxy` would ask for the page. */
  async claimants(proxy: string, path: string): Promise<string[]> {
    const query = `/v1/explain?url=${encodeURIComponent(originUrl(path))}`
    const { peers } = await this.ask<{ peers: { name: string; claims: boolean; consulted: boolean }[] }>(proxy, query)
    return peers.filter(({ claims, consulted }) => claims && consulted).map(({ name }) => name)
  }

  /** How often the origin has been asked for the page. */
  async originRequests(path: string): Promise<number> {
    const { body } = await get(this.#origin.getHost(), this.#origin.getMappedPort(8080), '/requests')
    const requests: Record<string, number> = JSON.parse(body)
    return requests[path] ?? 0
  }

  /** Ends a proxy at once, as a crash does. */
  async crash(proxy: string): Promise<void> {
    const { container } = await getContainerRuntimeClient()
    await container.getById(this.#proxy(proxy).getId()).kill({ signal: 'SIGKILL' })
  }

  /** Sends SIGTERM. Resolves with the exit code once the proxy has ended. */
  async terminate(proxy: string): Promise<number> {
    const { container } = await getContainerRuntimeClient()
    const process = container.getById(this.#proxy(proxy).getId())
    const ended: Promise<{ StatusCode: number }> = process.wait()
    await process.kill({ signal: 'SIGTERM' })
    return (await ended).StatusCode
  }

  /** Takes a proxy off the network that peers and origin share: nothing arrives, nothing says so. */
  async cutOff(proxy: string): Promise<void> {
    const { network } = await getContainerRuntimeClient()
    await network.getById(this.#network.getId()).disconnect({ Container: this.#proxy(proxy).getId() })
  }

  async rejoin(proxy: string): Promise<void> {
    const { network } = await getContainerRuntimeClient()
    const Container = this.#proxy(proxy).getId()
    await network.getById(this.#network.getId()).connect({ Container, EndpointConfig: { Aliases: [proxy] } })
  }

  async stop(): Promise<void> {
    await Promise.all([this.#origin, ...this.#proxies.values()].map((container) => container.stop({ timeout: 0 })))
    await this.#network.stop()
  }

  /** As it is now: leaving and joining a network can change it. */
  async #publishedPort(proxy: string, port: number): Promise<number> {
    const { container } = await getContainerRuntimeClient()
    const { NetworkSettings } = await container.getById(this.#proxy(proxy).getId()).inspect()
    const published = NetworkSettings.Ports[`${port}/tcp`]?.[0]?.HostPort
    if (published === undefined) throw new Error(`port ${port} of ${proxy} is not published`)
    return Number(published)
  }

  #proxy(name: string): StartedTestContainer {
    const container = this.#proxies.get(name)
    if (container === undefined) throw new Error(`no proxy is called ${name}`)
    return container
  }
}

function originUrl(path: string): string {
  return `http://origin:8080${path}`
}

function startProxy(network: StartedNetwork, name: string, names: readonly string[]): Promise<StartedTestContainer> {
  const config = {
    name,
    listen: { host: '0.0.0.0', port: PROXY_PORT },
    admin: { host: '0.0.0.0', port: ADMIN_PORT, token: TOKEN },
    // A cut connection says nothing: it is given up after three of these.
    digest: { profile: 'fresh', heartbeat: '1s' },
    peers: names.map((peer) => ({ name: peer, url: `http://${peer}:${PROXY_PORT}` })),
    stateDir: '/var/lib/summary-cache',
  }
  // JSON is YAML.
  return new GenericContainer(IMAGE)
    .withNetwork(network)
    .withNetworkAliases(name)
    .withCopyContentToContainer([{ content: JSON.stringify(config), target: '/etc/summary-cache/config.yaml' }])
    .withExposedPorts(PROXY_PORT, ADMIN_PORT)
    .withWaitStrategy(Wait.forHttp('/v1/ready', ADMIN_PORT))
    .start()
}
