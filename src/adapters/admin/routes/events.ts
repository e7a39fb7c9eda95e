import { Type } from 'typebox'
import type { AdminApp } from '../admin-app.ts'
import { namedProblem } from '../problem.ts'
import { BACKLOG, MAX_LISTENERS } from '../event-feed.ts'
import type { EventFeed } from '../event-feed.ts'
import { REFUSALS, problems } from '../schemas/problem-schema.ts'

/** A reader that has taken nothing for so long, not even a heartbeat, is gone or stuck. */
const STUCK_READER_MS = 60_000

export function eventRoutes(app: AdminApp, feed: EventFeed): void {
  app.get(
    '/v1/events',
    {
      sse: 'manual',
      exposeHeadRoute: false,
      schema: {
        operationId: 'streamEvents',
        summary: 'What happens, as it happens',
        description:
          'Server-sent events, each of the schema `Event`, until the proxy stops. ' +
          `After a reconnect with \`Last-Event-ID\` it goes on there, ${BACKLOG} events back at most. A reader that ` +
          `falls ${BACKLOG} events behind loses the newest and is told how many by a \`dropped\` event. ` +
          `There may be ${MAX_LISTENERS} readers.`,
        tags: ['figures'],
        headers: Type.Object({
          'last-event-id': Type.Optional(Type.String({ maxLength: 64, description: 'The last event had.' })),
        }),
        response: {
          200: {
            description: 'The stream.',
            content: { 'text/event-stream': { schema: Type.String({ description: 'Server-sent events.' }) } },
          },
          ...problems(503),
          ...REFUSALS,
        },
      },
    },
    async (request, reply) => {
      const listener = feed.listen(request.headers['last-event-id'])
      if (listener === undefined) {
        void reply.header('retry-after', '10')
        throw namedProblem(503, 'too-many-listeners', 'Too many listeners', 'Every place at the stream is taken')
      }
      const stream = reply.sse
      stream.onClose(() => feed.leave(listener))
      request.raw.socket.setTimeout(STUCK_READER_MS)
      void reply.header('connection', 'close')
      stream.sendHeaders()
      // A head alone stays in the buffer until the first event, which may be long in coming.
      reply.raw.flushHeaders()
      for await (const message of listener.messages()) {
        if (!stream.isConnected) break
        await stream.send(message)
      }
    },
  )
}
