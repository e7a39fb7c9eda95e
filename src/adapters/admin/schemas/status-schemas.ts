import { Type } from 'typebox'
import { component, count, milliseconds, ref } from './building-blocks.ts'

export const HealthSchema = component(
  'Health',
  Type.Object({ status: Type.Literal('ok') }, { description: 'The process answers.' }),
)

export const ReadinessSchema = component(
  'Readiness',
  Type.Object({
    ready: Type.Boolean({
      description: "Listening, and every peer's replica is proved or its peer known to be unreachable.",
    }),
    reason: Type.String(),
  }),
)

export const StoreSchema = component(
  'Store',
  Type.Object({
    entries: count('Stored responses; every variant of a URL is one.'),
    usedBytes: count('Held by stored responses.'),
    reservedBytes: count('Held for responses on their way in and for readers of evicted ones.'),
    capacityBytes: count('What it may hold.'),
    eviction: Type.String({ description: 'The eviction policy.' }),
    evictions: count('Responses that the policy gave up since the start.'),
  }),
)

export const StatusSchema = component(
  'Status',
  Type.Object({
    name: Type.String({ description: "The proxy's name in the cluster." }),
    version: Type.String(),
    startedAt: Type.String({ format: 'date-time' }),
    uptimeMs: milliseconds('Since the start.'),
    incarnation: Type.Integer({ description: 'This life of the publisher; strictly greater at each start.' }),
    proxyAddress: Type.String({ description: 'Where clients and peers reach the proxy port.' }),
    store: ref(StoreSchema),
    peers: Type.Object({
      configured: count('Peers that this proxy knows.'),
      consulted: count('Peers whose replica is asked at a local miss.'),
    }),
  }),
)
