import { connect, type Socket } from 'node:net'
import { pipeline, type Duplex } from 'node:stream'

/** What passed through a tunnel, once it is closed. */
export interface TunnelEnd {
  readonly status: number
  readonly bytesToClient: number
  readonly problem: string | undefined
}

const CONNECT_TIMEOUT_MS = 10_000
// A tunnel in which nothing moves: as Squid's read_timeout.
const IDLE_TIMEOUT_MS = 15 * 60_000

/**
 * CONNECT (RFC 9110 §9.3.6): bytes both ways until either side closes. Never rejects.
 *
 * @param early bytes that the client sent behind its request's head
 */
export function openTunnel(client: Duplex, early: Buffer, host: string, port: number, via: string): Promise<TunnelEnd> {
  return new Promise((resolve) => {
    const origin: Socket = connect({ host, port, timeout: CONNECT_TIMEOUT_MS })
    let established = false
    let status = 200
    let problem: string | undefined

    const refuse = (code: number, reason: string, text: string): void => {
      status = code
      problem = text
      if (client.writable) {
        client.end(
          `HTTP/1.1 ${code} ${reason}\r\nVia: 1.1 ${via}\r\nContent-Type: text/plain\r\nContent-Length: ${text.length + 1}\r\n` +
            `Connection: close\r\n\r\n${text}\n`,
        )
      }
    }
    origin.once('connect', () => {
      established = true
      origin.setTimeout(IDLE_TIMEOUT_MS)
      client.write(`HTTP/1.1 200 Connection Established\r\nVia: 1.1 ${via}\r\n\r\n`)
      if (early.length > 0) origin.write(early)
      pipeline(client, origin, () => origin.destroy())
      pipeline(origin, client, (error) => {
        problem ??= error?.message
        client.destroy()
      })
    })
    origin.once('timeout', () => {
      if (!established)
        refuse(504, 'Gateway Timeout', `no connection to ${host}:${port} within ${CONNECT_TIMEOUT_MS} ms`)
      origin.destroy()
    })
    origin.once('error', (error) => {
      if (!established && status === 200)
        refuse(502, 'Bad Gateway', `no connection to ${host}:${port}: ${error.message}`)
    })
    client.on('error', () => origin.destroy())
    client.once('close', () => origin.destroy())
    origin.once('close', () => {
      resolve({ status, bytesToClient: origin.bytesRead, problem })
    })
  })
}
