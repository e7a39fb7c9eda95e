import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { StateDirError } from './adapters/system/incarnation-file.ts'
import { PeerCertificateError } from './adapters/system/peer-certificates.ts'
import { UpdatesListenError } from './adapters/transport/dir-update-udp.ts'
import type { Config } from './config.ts'
import { startProxy, type RunningProxy } from './running-proxy.ts'
import { StartError } from './start-error.ts'

/** Replies under way at a stop; supervisors wait ten seconds or more before they kill. */
const STOP_GRACE_MS = 5_000

/** `summary-cache serve`: runs one proxy until SIGTERM or SIGINT. Resolves with the exit code. */
export async function serve(config: Config): Promise<number> {
  const logger = pino(
    { level: config.log.level, base: { proxy: config.name } },
    pino.destination({ fd: 2, sync: true }),
  )
  let running: RunningProxy
  try {
    running = await startProxy(config, logger)
  } catch (error) {
    throw startError(error, config)
  }
  const { adminAddress, proxyAddress } = running
  logger.info(
    {
      listen: formatAddress(proxyAddress),
      admin: formatAddress(adminAddress),
      ...(running.updatesAddress && { updates: formatAddress(running.updatesAddress) }),
      ...(running.peeringAddress && { peering: formatAddress(running.peeringAddress) }),
      peers: config.peers.map(({ name }) => name),
    },
    'serving',
  )
  process.on('SIGHUP', () => running.reopenLogs())
  const reason = await new Promise<string>((resolve) => {
    process.once('SIGTERM', () => resolve('SIGTERM'))
    process.once('SIGINT', () => resolve('SIGINT'))
    // Started by another process that has gone.
    if (process.connected) process.once('disconnect', () => resolve('parent process gone'))
  })
  // A second signal means: now.
  process.once('SIGTERM', () => process.exit(143))
  process.once('SIGINT', () => process.exit(130))
  logger.info({ reason }, 'stopping')
  await running.stop(STOP_GRACE_MS)
  // The channel to whoever started us would keep the process alive.
  if (process.connected) process.disconnect()
  return 0
}

function startError(error: unknown, config: Config): Error {
  const { code, message, port, syscall } = error as NodeJS.ErrnoException & { port?: number }
  if (error instanceof StateDirError || error instanceof PeerCertificateError) {
    return new StartError(error.message, { cause: error })
  }
  if (error instanceof UpdatesListenError && config.dirUpdate) {
    const { host, port: updatesPort } = config.dirUpdate.listen
    const inUse = `stop what listens there (ss -lunp 'sport = :${updatesPort}' shows it) or set dirUpdate.listen.port`
    const remedy = listenRemedy(error.systemCode, inUse, 'dirUpdate.listen')
    return new StartError(`dirUpdate: cannot listen on ${host}:${updatesPort}: ${error.message}; ${remedy}`, {
      cause: error,
    })
  }
  if (syscall === 'open' && config.accessLog) {
    return new StartError(
      `accessLog.path: ${config.accessLog.path}: ${message}; choose a file this user may write to`,
      {
        cause: error,
      },
    )
  }
  if (syscall !== 'listen' && syscall !== 'bind' && syscall !== 'getaddrinfo') return error as Error
  const places = { listen: config.listen, admin: config.admin, 'peering.listen': config.peering?.listen }
  const key = port === config.admin.port ? 'admin' : port === config.peering?.listen.port ? 'peering.listen' : 'listen'
  const host = places[key]?.host
  const inUse = `stop what listens there (ss -ltnp 'sport = :${port}' shows it) or set ${key}.port`
  const remedy = listenRemedy(code, inUse, key)
  return new StartError(`${key}: cannot listen on ${host}:${places[key]?.port}: ${message}; ${remedy}`, {
    cause: error,
  })
}

function listenRemedy(systemCode: string | undefined, inUse: string, key: string): string {
  if (systemCode === 'EADDRINUSE') return inUse
  if (systemCode === 'EACCES') return `ports below 1024 need a privilege; set ${key}.port`
  return `set ${key}.host to an address of this machine`
}

function formatAddress({ address, family, port }: AddressInfo): string {
  return family === 'IPv6' ? `[${address}]:${port}` : `${address}:${port}`
}
