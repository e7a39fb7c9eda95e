import type { ConfigFields } from './config-value.ts'
import { hostName, integerBetween, path } from './scalar-readers.ts'

/** A port for peers alone, over TLS. */
export interface PeeringConfig {
  readonly listen: { readonly host: string; readonly port: number }
  /** Paths of PEM files. */
  readonly tls: { readonly certificate: string; readonly key: string; readonly ca: string }
}

/** Beside the proxy port's 3128. */
const DEFAULT_PORT = 3129

/** Undefined: peers use the proxy port. */
export function readPeering(root: ConfigFields, resolvePath: (path: string) => string): PeeringConfig | undefined {
  const fields = root.section('peering', ['listen', 'tls'])
  const given = fields.at('tls')
  if (given === undefined) {
    fields.at('listen')?.fail('peering has no tls', 'write tls with certificate, key and ca, or leave listen out')
    return undefined
  }
  const listen = fields.section('listen', ['host', 'port'])
  const tls = given.fields(['certificate', 'key', 'ca'])
  const certificate = tls.required('certificate', path, 'write the path of the PEM file that peers are shown')
  const key = tls.required('key', path, 'write the path of the PEM file with the key of the certificate')
  const ca = tls.required('ca', path, 'write the path of the PEM file with the authority of the cluster')
  if (certificate === undefined || key === undefined || ca === undefined) return undefined
  return {
    listen: {
      // Peers are other machines.
      host: listen.get('host', hostName, '0.0.0.0'),
      port: listen.get('port', integerBetween(0, 65_535), DEFAULT_PORT),
    },
    tls: { certificate: resolvePath(certificate), key: resolvePath(key), ca: resolvePath(ca) },
  }
}
