import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onStopAll, type TestProxy } from './support.ts'

/** A peer's proxy port behind a line that holds up questions for objects; frames of its digest pass at once. */
export interface DelayingRelay {
  readonly name: string
  readonly url: string
  delayMs: number
}

export async function startDelayingRelay(proxy: TestProxy): Promise<DelayingRelay> {
  const relay = { name: proxy.name, url: '', delayMs: 0 }
  const server = createServer((request, response) => {
    const pass = (): void => {
      const { headers, method, url: path } = request
      const onward = send(proxy.url, { headers, method, path, agent: false }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
        response.flushHeaders()
        answer.pipe(response)
      })
      onward.on('error', () => response.destroy())
      response.on('close', () => onward.destroy())
      request.pipe(onward)
    }
    if (request.url?.startsWith('/') === true) pass()
    else setTimeout(pass, relay.delayMs)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  relay.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onStopAll(async () => {
    server.close()
    server.closeAllConnections()
  })
  return relay
}
