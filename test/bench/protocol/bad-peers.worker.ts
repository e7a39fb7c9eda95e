import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { cacheKey } from '../../../src/core/http/cache-key.ts'
import { startBarePeer } from './bare-peer.ts'

export interface BadPeersTask {
  readonly documents: number
  readonly originMs: number
  readonly slowMs: number
}

/** Where the origin is, the proxies that hold nothing of what is asked for, and those that claim all of it. */
export interface BadPeersPlaces {
  readonly origin: string
  readonly good: readonly { readonly name: string; readonly url: string }[]
  readonly bad: readonly { readonly name: string; readonly url: string }[]
}

const { documents, originMs, slowMs } = workerData as BadPeersTask

const server = createServer((_request, response) => {
  setTimeout(() => {
    response.writeHead(200, { 'cache-control': 'max-age=3600', 'content-length': 4 })
    response.end('body')
  }, originMs)
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

function lie(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(504, { 'cache-status': 'liar; fwd=miss; detail=absent; claim=collision', 'content-length': 0 })
  response.end()
}
const answers: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>> = {
  liar: lie,
  slow: (request, response) => void setTimeout(() => lie(request, response), slowMs),
  // Its host has gone from the net: nothing comes back.
  dead: () => undefined,
}
const bad = await Promise.all(
  Object.entries(answers).map(([name, answer]) => startBarePeer(name, documents, 'fresh', answer)),
)
const good = await Promise.all(Array.from({ length: 5 }, (_, i) => startBarePeer(`good${i}`, documents, 'fresh', lie)))
for (const peer of bad) {
  for (let i = 0; i < documents; i++) peer.protocol.claimed(cacheKey(`${origin}/${i}`), i)
}
const placeOf = ({ name, url }: { readonly name: string; readonly url: string }) => ({ name, url })
parentPort!.postMessage({ origin, good: good.map(placeOf), bad: bad.map(placeOf) } satisfies BadPeersPlaces)
