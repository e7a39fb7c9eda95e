import type { RequestEnded } from '../../proxy/proxy-event.ts'

/** One JSON object, without its newline. What is not known is null, so that every line has every key. */
export function jsonLogLine(ended: RequestEnded): string {
  return JSON.stringify({
    time: new Date(ended.wallMs).toISOString(),
    elapsedMs: ended.elapsedMs,
    client: ended.client,
    fromPeer: ended.fromPeer,
    method: ended.method,
    url: ended.url,
    status: ended.status,
    outcome: ended.outcome,
    bytesToClient: ended.bytesToClient,
    bodyBytes: ended.bodyBytes,
    contentType: ended.contentType ?? null,
    server: ended.server ?? null,
    aborted: ended.aborted,
  })
}
