import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { PeerTls } from '../../proxy/peer-tls.ts'

export type PeerCertificatePaths = Readonly<Record<keyof PeerTls, string>>

/** A file of `peering.tls` cannot be used. Never shows what is in it. */
export class PeerCertificateError extends Error {
  override readonly name = 'PeerCertificateError'
  readonly code = 'PEER_CERTIFICATE'
  constructor(part: keyof PeerTls, path: string, problem: string, remedy: string, options?: ErrorOptions) {
    super(`peering.tls.${part}: ${path}: ${problem}; ${remedy}`, options)
  }
}

/** A chain and an authority's whole bundle fit; a device or a disk image does not. */
const MAX_PEM_BYTES = 1024 * 1024

/**
 * Reads what this proxy shows to its peers, and whom it believes.
 * @throws {PeerCertificateError} a file cannot be read, is no PEM of its kind, or the key is another certificate's
 */
export function readPeerTls(paths: PeerCertificatePaths): PeerTls {
  const pem = { certificate: read('certificate', paths), key: read('key', paths), ca: read('ca', paths) }
  const [own] = certificates('certificate', paths, pem.certificate)
  for (const authority of certificates('ca', paths, pem.ca)) {
    if (!authority.ca) {
      const problem = `${authority.subject.replaceAll('\n', ', ')} is no authority`
      throw new PeerCertificateError(
        'ca',
        paths.ca,
        problem,
        'name the certificate that has signed those of the proxies',
      )
    }
  }
  if (!own!.checkPrivateKey(privateKey(paths, pem.key))) {
    const problem = `it is not the key of ${paths.certificate}`
    throw new PeerCertificateError('key', paths.key, problem, 'name the key that the certificate was made for')
  }
  return pem
}

function read(part: keyof PeerTls, paths: PeerCertificatePaths): string {
  const path = paths[part]
  const remedy = 'name a PEM file that the user of the proxy may read'
  try {
    const facts = statSync(path)
    if (!facts.isFile() || facts.size > MAX_PEM_BYTES) {
      throw new PeerCertificateError(part, path, `it is no file of at most ${MAX_PEM_BYTES} bytes`, remedy)
    }
    return readFileSync(path, 'latin1')
  } catch (error) {
    if (error instanceof PeerCertificateError) throw error
    throw new PeerCertificateError(part, path, (error as Error).message, remedy, { cause: error })
  }
}

/** At least one. */
function certificates(part: 'certificate' | 'ca', paths: PeerCertificatePaths, text: string): X509Certificate[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const remedy = 'it must begin with -----BEGIN CERTIFICATE-----'
  if (blocks.length === 0) throw new PeerCertificateError(part, paths[part], 'there is no certificate in it', remedy)
  try {
    return blocks.map((block) => new X509Certificate(block))
  } catch (error) {
    const problem = `a certificate in it cannot be read (${(error as Error).message})`
    throw new PeerCertificateError(part, paths[part], problem, remedy, { cause: error })
  }
}

function privateKey(paths: PeerCertificatePaths, text: string): KeyObject {
  try {
    return createPrivateKey(text)
  } catch (error) {
    const problem = 'there is no private key in it that can be read'
    throw new PeerCertificateError('key', paths.key, problem, 'it must be in PEM, without a passphrase', {
      cause: error,
    })
  }
}
