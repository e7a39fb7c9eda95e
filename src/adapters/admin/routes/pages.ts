import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import swaggerUi from '@fastify/swagger-ui'
import { openTo } from '../access.ts'
import type { AdminApp } from '../admin-app.ts'

/** Beside `adapters/` in `src/` and in `dist/` alike. */
const DASHBOARD = fileURLToPath(new URL('../../../dashboard/', import.meta.url))

const DASHBOARD_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Swagger UI sets styles from its script, and builds its icons as data URLs. */
const DOCS_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; " +
  "img-src 'self' data:; font-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The dashboard at `/` and the API's documentation at `/docs`: files without secrets, open to whoever may ask. */
export async function pageRoutes(app: AdminApp): Promise<void> {
  await app.register(async (pages) => {
    openTo(pages, 'page')
    pages.addHook('onRequest', (_request, reply, done) => {
      void reply.header('content-security-policy', DASHBOARD_POLICY)
      done()
    })
    await pages.register(fastifyStatic, {
      root: DASHBOARD,
      wildcard: false,
      decorateReply: false,
      cacheControl: false,
      schemaHide: true,
      setHeaders: (reply) => {
        void reply.header('cache-control', 'no-cache')
      },
    })
  })
  await app.register(async (docs) => {
    openTo(docs, 'page')
    await docs.register(swaggerUi, { routePrefix: '/docs', staticCSP: DOCS_POLICY })
  })
}
