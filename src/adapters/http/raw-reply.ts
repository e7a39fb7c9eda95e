import type { OwnReply } from '../../proxy/own-replies.ts'

/** An answer of our own as bytes, where node:http has no response to write it to; the connection ends with it. */
export function rawReply({ body, bodyBytes, head }: OwnReply): string {
  let text = `HTTP/1.1 ${head.status} ${head.reason}\r\n`
  for (let i = 0; i < head.fields.raw.length; i += 2) text += `${head.fields.raw[i]}: ${head.fields.raw[i + 1]}\r\n`
  return `${text}Content-Length: ${bodyBytes}\r\nConnection: close\r\n\r\n${body}`
}
