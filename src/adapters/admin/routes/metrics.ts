import { Type } from 'typebox'
import type { ProxyControl } from '../../../proxy/proxy-control.ts'
import type { AdminApp } from '../admin-app.ts'
import { PrometheusText } from '../prometheus-text.ts'
import { REFUSALS } from '../schemas/problem-schema.ts'

export function metricsRoutes(app: AdminApp, control: ProxyControl): void {
  const text = new PrometheusText()
  app.get(
    '/metrics',
    {
      schema: {
        operationId: 'getMetrics',
        summary: 'The figures for Prometheus',
        tags: ['figures'],
        response: {
          200: {
            description: 'Text exposition format 0.0.4.',
            content: { 'text/plain': { schema: Type.String() } },
          },
          ...REFUSALS,
        },
      },
    },
    async (_request, reply) => {
      void reply.type(text.contentType)
      return text.of(control)
    },
  )
}
