import type { RequestEnded } from '../../../src/proxy/proxy-event.ts'

/** A local hit like one in Squid's golden log, but for what is given. */
export function requestEnded(fields: Partial<RequestEnded> = {}): RequestEnded {
  return {
    kind: 'request-ended',
    wallMs: 1_796_095_574_469,
    elapsedMs: 28,
    client: '127.0.0.1',
    fromPeer: false,
    method: 'GET',
    url: 'http://www.example.com/obj/1',
    status: 200,
    outcome: 'local-hit',
    bytesToClient: 493,
    bodyBytes: 200,
    contentType: 'text/plain',
    server: undefined,
    aborted: false,
    ...fields,
  }
}
