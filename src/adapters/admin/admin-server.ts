import swagger from '@fastify/swagger'
import { fastifySSE } from '@fastify/sse'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { LogController, fastify } from 'fastify'
import type { FastifyBaseLogger, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ProxyControl } from '../../proxy/proxy-control.ts'
import { guardAccess } from './access.ts'
import type { AdminApp } from './admin-app.ts'
import { EventFeed } from './event-feed.ts'
import { watchMethods } from './method-not-allowed.ts'
import { OPENAPI } from './openapi-settings.ts'
import { plainProblem, problemOf } from './problem.ts'
import type { ProblemError } from './problem.ts'
import { cacheRoutes } from './routes/cache.ts'
import { clusterRoutes } from './routes/cluster.ts'
import { digestRoutes } from './routes/digests.ts'
import { eventRoutes } from './routes/events.ts'
import { explainRoutes } from './routes/explain.ts'
import { healthRoutes } from './routes/health.ts'
import { metricsRoutes } from './routes/metrics.ts'
import { pageRoutes } from './routes/pages.ts'
import { peerRoutes } from './routes/peers.ts'
import { statisticsRoutes } from './routes/statistics.ts'
import { statusRoutes } from './routes/status.ts'
import { COMPONENTS } from './schemas/components.ts'

export interface AdminServerOptions {
  readonly control: ProxyControl
  /** Undefined: whoever reaches the port by a loopback name may do everything. */
  readonly token: string | undefined
  readonly logger: FastifyBaseLogger
}

/** The largest body, a new peer, has two short strings. */
const BODY_LIMIT_BYTES = 16_384
/** For a whole request to arrive; answers may take longer. */
const REQUEST_TIMEOUT_MS = 30_000
/** Comments that keep an event stream's connection open through what lies between. */
const HEARTBEAT_MS = 15_000
/** Event streams, dashboards and a scraper; a flood shall not take the proxy's descriptors. */
const MAX_CONNECTIONS = 256

/** The administration API, its documentation and the dashboard. The caller listens and closes. */
export async function createAdminServer(options: AdminServerOptions): Promise<FastifyInstance> {
  const { control } = options
  const app: AdminApp = fastify({
    loggerInstance: options.logger,
    // A dashboard asks every second.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    frameworkErrors: (error, request, reply) => sendProblem(error, request, reply),
    // What a schema does not name is an error that the answer names: nothing is dropped or turned into another type.
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, allErrors: true } },
  }).withTypeProvider<TypeBoxTypeProvider>()
  app.server.maxConnections = MAX_CONNECTIONS
  app.removeContentTypeParser('text/plain')

  app.setErrorHandler<FastifyError | ProblemError>((error, request, reply) => sendProblem(error, request, reply))
  app.addHook('onRequest', (_request, reply, done) => {
    void reply.headers(SECURITY_HEADERS)
    done()
  })
  await guardAccess(app, options.token)
  app.setNotFoundHandler((request) => {
    throw plainProblem(404, `There is no ${request.url.split('?', 1)[0]}`)
  })

  await app.register(swagger, OPENAPI)
  await app.register(fastifySSE, { heartbeatInterval: HEARTBEAT_MS })
  for (const schema of COMPONENTS) app.addSchema(schema)
  await pageRoutes(app)

  const feed = new EventFeed(Date.now().toString(36))
  const refuseOtherMethods = watchMethods(app)
  healthRoutes(app, control)
  statusRoutes(app, control)
  peerRoutes(app, control)
  digestRoutes(app, control)
  cacheRoutes(app, control)
  explainRoutes(app, control)
  statisticsRoutes(app, control)
  clusterRoutes(app, control)
  eventRoutes(app, feed)
  metricsRoutes(app, control)
  refuseOtherMethods()

  let unsubscribe: (() => void) | undefined
  app.addHook('onListen', (done) => {
    unsubscribe = control.subscribe((event) => feed.publish(event))
    done()
  })
  app.addHook('preClose', (done) => {
    unsubscribe?.()
    feed.close()
    done()
  })
  return app
}

const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

function sendProblem(error: FastifyError | ProblemError, request: FastifyRequest, reply: FastifyReply): void {
  const problem = problemOf(error)
  if (problem.status >= 500 && problem.status !== 503)
    request.log.error({ err: error }, 'administration request failed')
  if (problem.status === 401) void reply.header('www-authenticate', 'Bearer')
  void reply.code(problem.status).type('application/problem+json').send(problem)
}
