import { connect, type Socket } from 'node:net'
import { pipeline, type Duplex } from 'node:stream'
import { failedReply } from '../../proxy/own-replies.ts'
import type { FetchErrorCode } from '../../proxy/ports.ts'
import { rawReply } from './raw-reply.ts'

/** What passed through a tunnel, once it is closed. */
export interface TunnelEnd {
  /** Sent to the client: 200, or why there was no tunnel. */
  readonly status: number
  readonly bytesToClient: number
}

const CONNECT_TIMEOUT_MS = 10_000
// A tunnel in which nothing moves: as Squid's read_timeout.
const IDLE_TIMEOUT_MS = 15 * 60_000

/**
 * CONNECT (RFC 9110 §9.3.6): bytes both ways until either side closes. Never rejects.
 *
 * @param early bytes that the client sent behind its request's head
 * @param name ours, for Via
 */
export function openTunnel(
  client: Duplex,
  early: Buffer,
  host: string,
  port: number,
  name: string,
): Promise<TunnelEnd> {
  return new Promise((resolve) => {
    const origin: Socket = connect({ host, port, timeout: CONNECT_TIMEOUT_MS })
    let established = false
    let status = 200

    const fail = (code: FetchErrorCode, message: string): void => {
      if (established || status !== 200) return
      const reply = failedReply(name, `${host}:${port}`, code, message)
      status = reply.head.status
      if (client.writable) client.end(rawReply(reply))
    }
    origin.once('connect', () => {
      established = true
      origin.setTimeout(IDLE_TIMEOUT_MS)
      client.write(`HTTP/1.1 200 Connection Established\r\nVia: 1.1 ${name}\r\n\r\n`)
      if (early.length > 0) origin.write(early)
      pipeline(client, origin, () => origin.destroy())
      pipeline(origin, client, () => client.destroy())
    })
    origin.once('timeout', () => {
      fail('connection_timeout', `no connection within ${CONNECT_TIMEOUT_MS / 1000} s`)
      origin.destroy()
    })
    origin.on('error', (error: NodeJS.ErrnoException) => {
      const isDns = error.code === 'ENOTFOUND' || error.code?.startsWith('EAI_') === true
      fail(isDns ? 'dns_error' : 'connection_refused', error.message)
    })
    client.on('error', () => origin.destroy())
    client.once('close', () => origin.destroy())
    origin.once('close', () => resolve({ status, bytesToClient: origin.bytesRead }))
  })
}
