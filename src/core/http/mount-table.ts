import { normalUrl } from './cache-key.ts'

/** One row of a reverse proxy's table: which requests go to which origin. */
export interface Mount {
  /** Host (without port) that the client asked for; undefined: any. */
  readonly host: string | undefined
  /** Path prefix, beginning and ending in `/`; it is replaced by the origin's own path. */
  readonly path: string
  /** Absolute URL whose path ends in `/`. */
  readonly origin: string
}

/**
 * Maps what a client of a reverse proxy asked for to the URL at its origin, which is what the cache key is made of: one
 * object has one key, by whatever mount it is reached. A named host goes before any host, a longer path before a shorter.
 */
export class MountTable {
  readonly #mounts: readonly Mount[]

  constructor(mounts: readonly Mount[]) {
    this.#mounts = mounts.toSorted(
      (a, b) => Number(b.host !== undefined) - Number(a.host !== undefined) || b.path.length - a.path.length,
    )
  }

  /** @param url as the client sees it, in normal form. Undefined: no mount is meant. */
  originUrl(url: string): string | undefined {
    const hostStart = url.indexOf('//') + 2
    const pathStart = url.indexOf('/', hostStart)
    const host = withoutPort(url.slice(hostStart, pathStart))
    const target = url.slice(pathStart)
    for (const mount of this.#mounts) {
      if (mount.host !== undefined && mount.host !== host) continue
      // `/npm` is the mount's own root as much as `/npm/` is.
      if (target.startsWith(mount.path)) return normalUrl(mount.origin + target.slice(mount.path.length))
      if (target === mount.path.slice(0, -1)) return normalUrl(mount.origin)
    }
    return undefined
  }
}

function withoutPort(authority: string): string {
  const colon = authority.lastIndexOf(':')
  return colon > authority.lastIndexOf(']') ? authority.slice(0, colon) : authority
}
