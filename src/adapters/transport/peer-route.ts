import type { ProtocolVersion } from '../../proxy/ports.ts'

/** What a peer asks for. `publisher`: whom it takes us for, where it says so. */
export type PeerRoute =
  | { readonly kind: 'follow'; readonly version: ProtocolVersion; readonly publisher: string }
  | { readonly kind: 'want'; readonly publisher: string }
  | { readonly kind: 'digest' | 'status'; readonly publisher: string | undefined }
  /** `asked`: as it is shown to whoever asked. */
  | { readonly kind: 'none'; readonly publisher: undefined; readonly asked: string }

const ROUTES: readonly {
  readonly version: ProtocolVersion
  readonly pattern: RegExp
  readonly route: (publisher: string) => PeerRoute
}[] = [
  {
    version: 2,
    pattern: /^POST v2\/follow\/([^/?]+)$/,
    route: (publisher) => ({ kind: 'follow', version: 2, publisher }),
  },
  { version: 2, pattern: /^POST v2\/want\/([^/?]+)$/, route: (publisher) => ({ kind: 'want', publisher }) },
  { version: 2, pattern: /^GET v2\/digest\/([^/?]+)$/, route: (publisher) => ({ kind: 'digest', publisher }) },
  { version: 2, pattern: /^GET v2\/status()$/, route: () => ({ kind: 'status', publisher: undefined }) },
  {
    version: 1,
    pattern: /^POST v1\/follow\/([^/?]+)$/,
    route: (publisher) => ({ kind: 'follow', version: 1, publisher }),
  },
  { version: 1, pattern: /^GET v1\/digest()$/, route: () => ({ kind: 'digest', publisher: undefined }) },
  { version: 1, pattern: /^GET v1\/status()$/, route: () => ({ kind: 'status', publisher: undefined }) },
]

/** @param path below the peers' prefix */
export function askedRoute(method: string, path: string, versions: readonly ProtocolVersion[]): PeerRoute {
  const asked = `${method} ${path}`
  for (const { pattern, route, version } of ROUTES) {
    const found = versions.includes(version) ? pattern.exec(asked) : null
    const publisher = found && decoded(found[1]!)
    if (publisher !== null && publisher !== undefined) return route(publisher)
  }
  return { kind: 'none', publisher: undefined, asked: asked.slice(0, 100).replaceAll(/[^ -~]/g, '?') }
}

/** Undefined: its percent-encoding is broken. */
function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  }
}
