import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { PeerTls } from '../../proxy/peer-tls.ts'

// As long as Squid keeps an idle client connection, and a second: the client, not we, should close first, or a request
// and our close may cross.
const KEEP_ALIVE_MS = 121_000
// Probes on connections that are silent by nature, such as those of digests: a peer that vanished is found out.
const PROBE_AFTER_MS = 30_000
const MAX_HEADER_BYTES = 64 * 1024

const HANDSHAKE_MS = 10_000

/**
 * A server that does not listen yet.
 * @param peersOnly given: one over TLS, where whoever has no certificate of the authority gets no further than the handshake
 */
export function newHttpServer(peersOnly: PeerTls | undefined): Server | TlsServer {
  const settings = {
    maxHeaderSize: MAX_HEADER_BYTES,
    // Told by ourselves, with our name on it.
    requireHostHeader: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
  }
  if (peersOnly === undefined) return createServer(settings)
  return createTlsServer({
    ...settings,
    cert: peersOnly.certificate,
    key: peersOnly.key,
    ca: peersOnly.ca,
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    handshakeTimeout: HANDSHAKE_MS,
  })
}
