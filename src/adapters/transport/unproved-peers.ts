import type { IncomingMessage, ServerResponse } from 'node:http'

const SAID = 'the proxies of this cluster talk over TLS: write the https address of its peering.listen\n'

/** Stands in the place of the routes on a port where peers cannot prove who they are, and are asked to. */
export function refuseUnproved(request: IncomingMessage, response: ServerResponse): Promise<void> {
  request.resume()
  response.writeHead(403, { 'content-type': 'text/plain', 'content-length': SAID.length, 'cache-control': 'no-store' })
  response.end(SAID)
  return Promise.resolve()
}
