import type { ProxyControl } from '../../../proxy/proxy-control.ts'
import type { AdminApp } from '../admin-app.ts'
import { answer } from '../schemas/building-blocks.ts'
import { REFUSALS } from '../schemas/problem-schema.ts'
import { StatusSchema } from '../schemas/status-schemas.ts'

export function statusRoutes(app: AdminApp, control: ProxyControl): void {
  app.get(
    '/v1/status',
    {
      schema: {
        operationId: 'getStatus',
        summary: 'Who this proxy is, and how full its store is',
        tags: ['proxy'],
        response: { 200: answer('Now.', StatusSchema), ...REFUSALS },
      },
    },
    () => control.status(),
  )
}
