import type { ProxyControl } from '../../../proxy/proxy-control.ts'
import type { AdminApp } from '../admin-app.ts'
import { answer } from '../schemas/building-blocks.ts'
import { REFUSALS } from '../schemas/problem-schema.ts'
import { StatisticsSchema } from '../schemas/statistics-schemas.ts'

export function statisticsRoutes(app: AdminApp, control: ProxyControl): void {
  app.get(
    '/v1/statistics',
    {
      schema: {
        operationId: 'getStatistics',
        summary: 'How requests ended, and what finding copies has cost',
        tags: ['figures'],
        response: { 200: answer('Counted since the start.', StatisticsSchema), ...REFUSALS },
      },
    },
    () => control.statistics(),
  )
}
