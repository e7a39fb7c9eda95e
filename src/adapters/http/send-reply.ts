import type { ServerResponse } from 'node:http'
import { once } from 'node:events'
import { formatHttpDate } from '../../core/http/http-date.ts'
import type { Reply } from '../../proxy/reply.ts'
import type { LiveBody } from '../../proxy/ports.ts'

/** What has gone out. */
export interface Sent {
  readonly bodyBytes: number
  /** The client went away or the body's source broke off: the message is not whole. */
  readonly aborted: boolean
}

/** We frame the message ourselves. */
const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'connection', 'keep-alive'])

/**
 * Writes a reply, at the client's pace. A body that breaks off ends the connection without its last chunk or byte, so
 * that the client sees that the message is cut short (RFC 9112 §8). Always releases the reply.
 */
export async function sendReply(
  response: ServerResponse,
  method: string,
  reply: Reply<LiveBody>,
  wallMs: number,
): Promise<Sent> {
  let bodyBytes = 0
  // A client that goes away ends the wait for the body's next bytes.
  const gone = (): void => reply.release()
  response.once('close', gone)
  try {
    if (response.destroyed) return { bodyBytes, aborted: true }
    writeHead(response, method, reply, wallMs)
    const { body } = reply
    if (body === undefined || body instanceof Uint8Array || typeof body === 'string') {
      const bytes = typeof body === 'string' ? Buffer.from(body) : body
      bodyBytes = method === 'HEAD' || bytes === undefined ? 0 : bytes.length
      response.end(method === 'HEAD' ? undefined : bytes)
    } else {
      for await (const chunk of body) {
        if (response.destroyed) return { bodyBytes, aborted: true }
        bodyBytes += chunk.length
        if (!response.write(chunk)) await drained(response)
      }
      response.end()
    }
    return { bodyBytes, aborted: !(await ended(response)) }
  } catch {
    // Whatever broke off, the head has gone out: all that is left is to show it.
    response.destroy()
    return { bodyBytes, aborted: true }
  } finally {
    response.removeListener('close', gone)
    reply.release()
  }
}

function writeHead(response: ServerResponse, method: string, reply: Reply<LiveBody>, wallMs: number): void {
  const { head, bodyBytes } = reply
  const hasLength = head.fields.has('content-length')
  const raw = [...head.fields.without(FRAMING).raw]
  // RFC 9110 §8.6: none with 1xx, 204; with HEAD and 304 it says what a GET would have got.
  if (head.status !== 204 && head.status !== 304 && bodyBytes !== undefined) raw.push('Content-Length', `${bodyBytes}`)
  else if (method === 'HEAD' && hasLength) raw.push('Content-Length', head.fields.get('content-length')!)
  response.sendDate = false
  if (!head.fields.has('date')) raw.push('Date', formatHttpDate(wallMs))
  response.writeHead(head.status, head.reason, raw)
}

async function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return
  const closed = new AbortController()
  const stop = (): void => closed.abort()
  response.once('close', stop)
  try {
    await once(response, 'drain', { signal: closed.signal })
  } finally {
    response.removeListener('close', stop)
  }
}

/** True when the last byte was handed to the kernel, false when the client had gone before. */
function ended(response: ServerResponse): Promise<boolean> {
  if (response.writableFinished) return Promise.resolve(true)
  if (response.destroyed) return Promise.resolve(false)
  return new Promise((resolve) => {
    response.once('finish', () => resolve(true))
    response.once('close', () => resolve(response.writableFinished))
  })
}
