import { geometryFor } from '../../src/core/filter/filter-geometry.ts'
import { Replay, type ReplayOptions } from '../../src/sim/replay.ts'
import type { SchemeName } from '../../src/sim/schemes/scheme-kinds.ts'
import { schemeFigures, type SchemeFigures } from '../../src/sim/sim-report.ts'
import { TraceBuilder, type Trace } from '../../src/sim/traces/trace.ts'

/** One request: seconds since the start, number of the client and of the document, size of the version asked for. */
export type Request = readonly [seconds: number, client: number, document: number, bodyBytes: number | undefined]

const urlOf = (document: number): string => `http://origin.example/${document}`

export function traceOf(requests: readonly Request[]): Trace {
  const builder = new TraceBuilder('paper')
  for (const [seconds, client, document, bodyBytes] of requests) {
    builder.add({
      timeMs: seconds * 1_000,
      client: String(client),
      method: 'GET',
      url: urlOf(document),
      status: 200,
      bodyBytes,
    })
  }
  return builder.finish(0)
}

export const ROOMY: ReplayOptions = {
  proxyCount: 3,
  memoryBytes: 1e9,
  eviction: 'lru',
  maxObjectBytes: 1e6,
  warmUpRequests: 0,
  digest: { profile: 'paper', geometry: geometryFor(1_000), heartbeatMs: 5_000 },
}

export function replayed(trace: Trace, scheme: SchemeName, options: ReplayOptions = ROOMY): SchemeFigures {
  const replay = new Replay(trace, scheme, options)
  while (replay.work(7));
  return schemeFigures([replay.run()])[0]!
}
