import type { ProxyControl } from '../../../proxy/proxy-control.ts'
import type { AdminApp } from '../admin-app.ts'
import { answer } from '../schemas/building-blocks.ts'
import { ExplanationSchema, UrlQuerySchema } from '../schemas/cache-schemas.ts'
import { REFUSALS, problems } from '../schemas/problem-schema.ts'
import { notAUrl } from './cache.ts'

export function explainRoutes(app: AdminApp, control: ProxyControl): void {
  app.get(
    '/v1/explain',
    {
      schema: {
        operationId: 'explain',
        summary: 'What would be done with GET of a URL now, and why',
        description: 'Looks at the directory, the reuse rules and every replica. Asks nobody and changes nothing.',
        tags: ['cache'],
        querystring: UrlQuerySchema,
        response: { 200: answer('The plan and its reasons.', ExplanationSchema), ...problems(400), ...REFUSALS },
      },
    },
    (request) => {
      const explanation = control.explain(request.query.url)
      if (explanation === undefined) throw notAUrl()
      return explanation
    },
  )
}
