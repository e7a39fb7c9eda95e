import type { AdminApp } from './admin-app.ts'
import { plainProblem } from './problem.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/**
 * Watches the routes that are registered from now on.
 *
 * @returns to be called after the last of them: answers 405 with `Allow` where a path is known and its method is not
 */
export function watchMethods(app: AdminApp): () => void {
  const known = new Map<string, Set<string>>()
  app.addHook('onRoute', (route) => {
    const methods = known.get(route.url) ?? new Set()
    for (const method of [route.method].flat()) methods.add(method)
    known.set(route.url, methods)
  })
  return () => {
    for (const [url, methods] of [...known]) {
      const allow = [...methods].toSorted().join(', ')
      app.route({
        method: METHODS.filter((method) => !methods.has(method)),
        url,
        schema: { hide: true },
        onRequest: (_request, reply, done) => {
          void reply.header('allow', allow)
          done(plainProblem(405, `Only ${allow} can be asked of this path`))
        },
        handler: () => undefined,
      })
    }
  }
}
