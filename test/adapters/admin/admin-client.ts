import { request } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { createAdminServer } from '../../../src/adapters/admin/admin-server.ts'
import { FakeProxy } from './fake-proxy.ts'

export interface Admin {
  readonly proxy: FakeProxy
  readonly server: FastifyInstance
  readonly port: number
  ask(method: string, path: string, options?: AskOptions): Promise<Answer>
}

export interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON; a string as it is. */
  readonly body?: unknown
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly json: unknown
}

/** A server on a free port, over real sockets. The caller closes it. */
export async function startAdmin(token?: string): Promise<Admin> {
  const proxy = new FakeProxy()
  const server = await createAdminServer({ control: proxy, token, logger: pino({ enabled: false }) })
  await server.listen({ port: 0, host: '127.0.0.1' })
  const { port } = server.server.address() as AddressInfo
  return { proxy, server, port, ask: (method, path, options) => ask(port, method, path, options) }
}

async function ask(
  port: number,
  method: string,
  path: string,
  { headers = {}, body }: AskOptions = {},
): Promise<Answer> {
  const bytes = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const outgoing = request({
    host: '127.0.0.1',
    port,
    method,
    path,
    agent: false,
    headers: { ...(bytes === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
  })
  outgoing.end(bytes)
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve).once('error', reject)
  })
  const received = await text(incoming)
  const isJson = /[/+]json\b/.test(incoming.headers['content-type'] ?? '')
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    text: received,
    json: isJson && received !== '' ? JSON.parse(received) : undefined,
  }
}
