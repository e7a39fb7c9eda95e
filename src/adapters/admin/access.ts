import assert from 'node:assert'
import { isIPv4 } from 'node:net'
import bearerAuth from '@fastify/bearer-auth'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AdminApp } from './admin-app.ts'
import { plainProblem } from './problem.ts'
import type { ProblemError } from './problem.ts'

/**
 * Who may call a route. `anyone`: probes, which know only an address. `page`: static files, without secrets.
 * Nothing said: the bearer of the token, or without a token a program or page of this machine.
 */
export type Access = 'anyone' | 'page'

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
  }
}

/** Guards every route of `app`, unknown ones included, that is registered from now on. */
export async function guardAccess(app: AdminApp, token: string | undefined): Promise<void> {
  if (token === undefined) {
    app.addHook('onRequest', (request, _reply, done) => done(refusal(request)))
    return
  }
  assert(token !== '', 'an empty token would let everyone in')
  await app.register(bearerAuth, {
    keys: new Set([token]),
    addHook: false,
    specCompliance: 'rfc6749',
    verifyErrorLogLevel: 'debug',
  })
  const verify = app.verifyBearerAuth
  assert(verify !== undefined)
  app.addHook('onRequest', (request, reply, done) => {
    if (accessOf(request) === undefined) verify(request, reply, done)
    else done()
  })
}

/** Gives every route that is registered in `app` from now on the same access. */
export function openTo(app: FastifyInstance, access: Access): void {
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, access }
  })
}

function accessOf(request: FastifyRequest): Access | undefined {
  return request.routeOptions.config?.access
}

/**
 * Without a token whoever reaches the port is believed, and a browser on this machine carries any web page's requests
 * there. A page whose own name was made to resolve to us (DNS rebinding) is told by the Host that it names; another
 * page by the Origin or Sec-Fetch-Site that its browser adds.
 */
function refusal(request: FastifyRequest): ProblemError | undefined {
  const access = accessOf(request)
  if (access === 'anyone') return undefined
  const host = request.headers.host ?? ''
  if (!namesLoopback(host)) return plainProblem(421, `Without a token only loopback names are answered, not "${host}"`)
  if (access === 'page') return undefined
  // Our own proxy port takes others' requests to loopback addresses, too: what came through a proxy is not of here.
  if (request.headers.via !== undefined)
    return plainProblem(403, 'Without a token nothing that came through a proxy is answered')
  if (isOfOurOrigin(request, host)) return undefined
  return plainProblem(403, 'Without a token no page of another origin is answered')
}

function namesLoopback(host: string): boolean {
  const name = /^(\[[0-9a-f:]+\]|[a-z0-9.-]+)(?::\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase()
  if (name === undefined) return false
  if (name === 'localhost' || name.endsWith('.localhost') || name === '[::1]') return true // RFC 6761 §6.3
  return isIPv4(name) && name.startsWith('127.')
}

function isOfOurOrigin(request: FastifyRequest, host: string): boolean {
  const site = request.headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  const origin = request.headers.origin
  return origin === undefined || origin.toLowerCase() === `http://${host.toLowerCase()}`
}
