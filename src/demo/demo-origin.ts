import { createHash } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A day: nothing goes stale while the demo runs, so that what is shown is sharing and eviction. */
const CACHE_CONTROL = 'public, max-age=86400'
const BLOCK = Buffer.alloc(64 * 1024, 'summary-cache demo origin. ')

/**
 * The body that stands for a URL: the sha256 of the rest in hexadecimal, then bytes that depend on the path. It carries its
 * own checksum, so that whoever gets it can tell a wrong, mixed or truncated one (`isWholeBody`).
 *
 * @param size at least 65 bytes are made
 */
function bodyFor(path: string, size: number): Buffer {
  const restBytes = Math.max(size, 65) - 64
  const rest = Buffer.concat([Buffer.from(path), BLOCK.subarray(0, Math.max(0, Math.min(restBytes, BLOCK.length)))])
  const filled = Buffer.alloc(restBytes)
  for (let at = 0; at < restBytes; at += rest.length) rest.copy(filled, at)
  return Buffer.concat([Buffer.from(createHash('sha256').update(filled).digest('hex')), filled])
}

/** Is it byte for byte what the origin made for this path? */
export function isWholeBody(path: string, body: Buffer): boolean {
  const rest = body.subarray(64)
  const sum = createHash('sha256').update(rest).digest('hex')
  if (body.toString('latin1', 0, 64) !== sum) return false
  return rest.subarray(0, path.length).equals(Buffer.from(path).subarray(0, rest.length))
}

/** A small origin that answers every path of the log with a body of the logged size. */
export class DemoOrigin {
  readonly #server: Server
  #requests = 0
  #bodyBytes = 0

  /** @param sizes body size by path; other paths are 404 */
  constructor(sizes: ReadonlyMap<string, number>) {
    this.#server = createServer((request, response) => {
      const path = request.url ?? '/'
      const size = sizes.get(path)
      this.#requests++
      if (size === undefined) {
        response.writeHead(404, { 'content-type': 'text/plain' }).end('no such page in the log\n')
        return
      }
      const body = bodyFor(path, size)
      this.#bodyBytes += body.length
      response.writeHead(200, {
        'content-type': contentType(path),
        'content-length': body.length,
        'cache-control': CACHE_CONTROL,
        etag: `"${body.toString('latin1', 0, 16)}"`,
      })
      response.end(request.method === 'HEAD' ? undefined : body)
    })
    // Proxies keep connections for later; the origin should not be the one to close them under a request.
    this.#server.keepAliveTimeout = 60_000
  }

  get requests(): number {
    return this.#requests
  }

  get bodyBytes(): number {
    return this.#bodyBytes
  }

  listen(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(0, '127.0.0.1', () => resolve((this.#server.address() as AddressInfo).port))
    })
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

function contentType(path: string): string {
  if (/\.(png|gif|jpe?g|ico)$/i.test(path)) return 'image/png'
  if (/\.css$/i.test(path)) return 'text/css'
  if (/\.js$/i.test(path)) return 'text/javascript'
  return 'text/html; charset=utf-8'
}
