import type { ProxyControl } from '../../../proxy/proxy-control.ts'
import type { AdminApp } from '../admin-app.ts'
import { answer } from '../schemas/building-blocks.ts'
import { DigestsSchema, OwnDigestSchema, PublishedSchema } from '../schemas/digest-schemas.ts'
import { REFUSALS } from '../schemas/problem-schema.ts'

export function digestRoutes(app: AdminApp, control: ProxyControl): void {
  app.get(
    '/v1/digests',
    {
      schema: {
        operationId: 'listDigests',
        summary: 'Our digest and every replica',
        tags: ['digests'],
        response: { 200: answer('Now.', DigestsSchema), ...REFUSALS },
      },
    },
    () => ({ own: control.ownDigest(), replicas: control.replicas() }),
  )

  app.get(
    '/v1/digests/own',
    {
      schema: {
        operationId: 'getOwnDigest',
        summary: 'Our digest',
        tags: ['digests'],
        response: { 200: answer('Now.', OwnDigestSchema), ...REFUSALS },
      },
    },
    () => control.ownDigest(),
  )

  app.post(
    '/v1/digests/own/publish',
    {
      schema: {
        operationId: 'publishNow',
        summary: 'Publish what is unpublished now',
        tags: ['digests'],
        response: { 200: answer('Done.', PublishedSchema), ...REFUSALS },
      },
    },
    () => ({ name: control.publishNow() }),
  )

  app.post(
    '/v1/digests/own/generation',
    {
      schema: {
        operationId: 'startGeneration',
        summary: 'Start a new generation now',
        description: 'Bits whose keys have gone are cleared.',
        tags: ['digests'],
        response: { 200: answer('Done.', PublishedSchema), ...REFUSALS },
      },
    },
    async () => ({ name: await control.newGeneration() }),
  )
}
