import type { ProxyControl } from '../../../proxy/proxy-control.ts'
import type { AdminApp } from '../admin-app.ts'
import { answer } from '../schemas/building-blocks.ts'
import { REFUSALS } from '../schemas/problem-schema.ts'
import { ClusterSchema } from '../schemas/statistics-schemas.ts'

/** A peer that has not told its figures by then is shown as not reachable. */
const CLUSTER_TIMEOUT_MS = 3000

export function clusterRoutes(app: AdminApp, control: ProxyControl): void {
  app.get(
    '/v1/cluster',
    {
      schema: {
        operationId: 'getCluster',
        summary: "This proxy's figures and each peer's, fetched from the peers now",
        tags: ['figures'],
        response: { 200: answer('This proxy first.', ClusterSchema), ...REFUSALS },
      },
    },
    async (request) => control.cluster(AbortSignal.any([request.signal, AbortSignal.timeout(CLUSTER_TIMEOUT_MS)])),
  )
}
