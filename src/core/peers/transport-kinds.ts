/** How the digest of a peer can reach us: what configuration, API and pages say of each transport. */
export interface TransportKind {
  readonly description: string
  /** Whether what arrives is proved (PROTOCOL rule 1). */
  readonly proved: boolean
  /** Whether the peer has an address of its own for updates. */
  readonly takesUpdates: boolean
}

/** What carries each stands in `adapters/transport`; `running-proxy.ts` has an entry for every name here. */
export const transportKinds = {
  http: { description: 'frames on a lasting response of its proxy port', proved: true, takesUpdates: false },
  'dir-update': { description: "the paper's ICP_OP_DIRUPDATE over UDP", proved: false, takesUpdates: true },
} as const satisfies Readonly<Record<string, TransportKind>>
export type TransportName = keyof typeof transportKinds

export const TRANSPORT_NAMES = Object.keys(transportKinds) as readonly TransportName[]
export const DEFAULT_TRANSPORT: TransportName = 'http'
