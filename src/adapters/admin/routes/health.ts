import type { ProxyControl } from '../../../proxy/proxy-control.ts'
import type { AdminApp } from '../admin-app.ts'
import { namedProblem } from '../problem.ts'
import { answer } from '../schemas/building-blocks.ts'
import { problems } from '../schemas/problem-schema.ts'
import { HealthSchema, ReadinessSchema } from '../schemas/status-schemas.ts'

/** Probes know an address and no token, so these two answer everyone. */
export function healthRoutes(app: AdminApp, control: ProxyControl): void {
  app.get(
    '/v1/health',
    {
      config: { access: 'anyone' },
      schema: {
        operationId: 'getHealth',
        summary: 'Is the process alive?',
        tags: ['proxy'],
        security: [],
        response: { 200: answer('It is.', HealthSchema) },
      },
    },
    () => ({ status: 'ok' }) as const,
  )

  app.get(
    '/v1/ready',
    {
      config: { access: 'anyone' },
      schema: {
        operationId: 'getReadiness',
        summary: 'Should clients be sent here?',
        tags: ['proxy'],
        security: [],
        response: { 200: answer('They should.', ReadinessSchema), ...problems(503) },
      },
    },
    () => {
      const readiness = control.readiness()
      if (!readiness.ready) throw namedProblem(503, 'not-ready', 'Not ready', readiness.reason)
      return readiness
    },
  )
}
