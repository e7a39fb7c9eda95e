import { createServer } from 'node:net'

/** No port could be had. */
export class NoFreePortError extends Error {
  override readonly name = 'NoFreePortError'
  readonly code = 'NO_FREE_PORT'
}

/** Tried above the wanted one before giving up. */
const TRIES = 200

/**
 * `count` ports on 127.0.0.1 that nobody listens on, from `first` on; the next free ones where some are taken.
 * @throws {NoFreePortError}
 */
export async function freePorts(first: number, count: number): Promise<number[]> {
  const found: number[] = []
  for (let port = first; port < first + TRIES && found.length < count; port++) {
    if (await isFree(port)) found.push(port)
  }
  if (found.length < count) {
    throw new NoFreePortError(
      `of the ports ${first} to ${first + TRIES - 1} on 127.0.0.1 fewer than ${count} are free; stop what uses them or choose others (--port, --admin-port)`,
    )
  }
  return found
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ port, host: '127.0.0.1' }, () => probe.close(() => resolve(true)))
  })
}
