import { pino } from 'pino'
import type { ProxyControl } from '../../proxy/proxy-control.ts'
import { createAdminServer } from './admin-server.ts'

/** The API's OpenAPI 3.1 document, made from the routes' own schemas. No proxy is needed, nothing listens. */
export async function openapiDocument(): Promise<object> {
  const app = await createAdminServer({ control: NO_PROXY, token: undefined, logger: pino({ enabled: false }) })
  await app.ready()
  const document: object = app.swagger()
  await app.close()
  return document
}

/** Routes take hold of it and call it only when they are asked something, which here nobody does. */
const NO_PROXY: ProxyControl = {
  readiness: never,
  status: never,
  statistics: never,
  peers: never,
  addPeer: never,
  changePeer: never,
  removePeer: never,
  ownDigest: never,
  replicas: never,
  publishNow: never,
  newGeneration: never,
  lookup: never,
  purge: never,
  explain: never,
  cluster: never,
  subscribe: never,
}

function never(): never {
  throw new Error('the document is made without a proxy')
}
