import type { ProxyControl } from '../../../proxy/proxy-control.ts'
import type { AdminApp } from '../admin-app.ts'
import { inputProblem, namedProblem } from '../problem.ts'
import type { ProblemError } from '../problem.ts'
import { answer } from '../schemas/building-blocks.ts'
import { EntriesSchema, PurgedSchema, UrlQuerySchema } from '../schemas/cache-schemas.ts'
import { REFUSALS, problems } from '../schemas/problem-schema.ts'

export function cacheRoutes(app: AdminApp, control: ProxyControl): void {
  app.get(
    '/v1/cache',
    {
      schema: {
        operationId: 'getEntries',
        summary: 'What is stored for a URL',
        tags: ['cache'],
        querystring: UrlQuerySchema,
        response: { 200: answer('Every variant.', EntriesSchema), ...problems(400, 404), ...REFUSALS },
      },
    },
    (request) => {
      const { url } = request.query
      const entries = control.lookup(url)
      if (entries === undefined) throw notAUrl()
      if (entries.length === 0) throw namedProblem(404, 'not-held', 'Not held', `Nothing is stored for ${url}`)
      return { url, entries }
    },
  )

  app.delete(
    '/v1/cache',
    {
      schema: {
        operationId: 'purge',
        summary: 'Purge a URL from this proxy',
        description: 'Every variant goes. Copies at peers stay: purge them there.',
        tags: ['cache'],
        querystring: UrlQuerySchema,
        response: { 200: answer('Purged, if it was there.', PurgedSchema), ...problems(400), ...REFUSALS },
      },
    },
    (request) => {
      const { url } = request.query
      const purged = control.purge(url)
      if (purged === undefined) throw notAUrl()
      return { url, purged }
    },
  )
}

export function notAUrl(): ProblemError {
  return inputProblem([{ in: 'query', name: 'url', problem: 'must be an absolute http or https URL' }])
}
