import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent, type Dispatcher } from 'undici'
import { pino } from 'pino'
import { parseConfig } from '../../src/config.ts'
import type { ProtocolVersion } from '../../src/proxy/ports.ts'
import { startProxy, type RunningProxy } from '../../src/running-proxy.ts'

/** An origin whose answers a test decides, and that remembers what it was asked. */
export interface TestOrigin {
  readonly url: string
  readonly asked: string[]
  close(): Promise<void>
}

const running: (() => Promise<void>)[] = []

/** Has `stop` called by `stopAll`. */
export function onStopAll(stop: () => Promise<void>): void {
  running.push(stop)
}

/** Stops every origin and proxy that a test has started, the last first. */
export async function stopAll(): Promise<void> {
  for (const stop of running.splice(0).toReversed()) await stop()
}

export async function startOrigin(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<TestOrigin> {
  const asked: string[] = []
  const server: Server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    answer(request, response)
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  running.push(close)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, close }
}

/** A page that any cache may keep for an hour, whose body names it. */
export function cacheable(request: IncomingMessage, response: ServerResponse): void {
  const body = `body of ${request.url}`
  response.writeHead(200, { 'cache-control': 'max-age=3600', etag: `"${request.url}"`, 'content-length': body.length })
  response.end(request.method === 'HEAD' ? undefined : body)
}

export interface TestProxy extends RunningProxy {
  readonly name: string
  readonly url: string
  readonly adminUrl: string
}

/** A real proxy on loopback, quiet, publishing what has changed every quarter of a second unless `yaml` says otherwise. */
export async function startTestProxy(
  name: string,
  yaml = '',
  port = 0,
  versions?: readonly ProtocolVersion[],
): Promise<TestProxy> {
  const text = [
    `name: ${name}`,
    `listen: { port: ${port} }`,
    ...(yaml.includes('admin:') ? [] : ['admin: { port: 0 }']),
    'accessLog: { path: /dev/null }',
    ...(yaml.includes('digest:') ? [] : ['digest: { profile: fresh, expectedEntries: 1000 }']),
    yaml,
  ].join('\n')
  const proxy = await startProxy(parseConfig(text, `${name}.yaml`, {}), pino({ level: 'silent' }), versions)
  let stopped: Promise<void> | undefined
  const stop = (graceMs: number): Promise<void> => (stopped ??= proxy.stop(graceMs))
  running.push(() => stop(0))
  const url = `http://127.0.0.1:${proxy.proxyAddress.port}`
  return { ...proxy, stop, name, url, adminUrl: `http://127.0.0.1:${proxy.adminAddress.port}` }
}

/** Whether `proxy`'s replica of `peer`'s digest claims the URL now. */
export function claims(proxy: TestProxy, peer: string, url: string): boolean {
  return proxy.operator.explain(url)?.peers.some((state) => state.name === peer && state.claims) ?? false
}

/** Makes each follow all the others, and waits until every digest has come. */
export async function join(...proxies: readonly TestProxy[]): Promise<void> {
  for (const proxy of proxies) {
    for (const peer of proxies) if (peer !== proxy) proxy.operator.addPeer({ name: peer.name, url: peer.url })
  }
  await until(() => proxies.every(({ operator }) => operator.peers().every((peer) => peer.state === 'up')))
}

/** Looks again every few milliseconds until `condition` holds. @throws after ten seconds: then it never will */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`never came true: ${condition.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Dispatcher.ResponseData['headers']
  readonly body: string
  /** Ours, the last member of Cache-Status. */
  readonly cacheStatus: string
}

const agent = new Agent({ connections: 64, keepAliveTimeout: 1_000 })

/** A request through a proxy, with the absolute URL in the request line. */
export async function get(
  proxy: { readonly url: string },
  url: string,
  headers: Record<string, string> = {},
  method: Dispatcher.HttpMethod = 'GET',
): Promise<Answer> {
  const answer = await agent.request({
    origin: proxy.url,
    path: url,
    method,
    headers: { host: new URL(url).host, ...headers },
  })
  const body = await answer.body.text()
  const said = answer.headers['cache-status'] ?? ''
  const cacheStatus = (Array.isArray(said) ? said : said.split(', ')).at(-1) ?? ''
  return { status: answer.statusCode, headers: answer.headers, body, cacheStatus }
}
