// A small origin to try the proxies on. Every path is a page that may be cached for an hour and begins with the SHA-256 of
// the rest, so that whoever gets it can tell a wrong or truncated one. /requests says how often each path was asked for.
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'

const port = Number(process.env.PORT ?? 8080)
const requests = new Map()

function page(path) {
  const rest = `\n${path}\n${'0123456789abcdef\n'.repeat(256)}`
  return createHash('sha256').update(rest).digest('hex') + rest
}

const server = createServer((request, response) => {
  const path = request.url ?? '/'
  if (path === '/requests') {
    const body = JSON.stringify(Object.fromEntries(requests))
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(body)
    return
  }
  if (requests.size < 10_000 || requests.has(path)) requests.set(path, (requests.get(path) ?? 0) + 1)
  const body = page(path)
  const etag = `"${body.slice(0, 16)}"`
  const fields = { 'content-type': 'text/plain', 'cache-control': 'public, max-age=3600', etag }
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304, fields).end()
    return
  }
  response.writeHead(200, { ...fields, 'content-length': Buffer.byteLength(body) })
  response.end(request.method === 'HEAD' ? undefined : body)
})

// Proxies keep connections for later; the origin should not be the one to close them under a request.
server.keepAliveTimeout = 60_000
server.listen(port, () => process.stdout.write(`origin listening on port ${port}\n`))
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close()
    server.closeAllConnections()
  })
}
