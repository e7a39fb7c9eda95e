import { isLoopbackHost } from './address-range.ts'
import type { ConfigFields, ConfigValue } from './config-value.ts'
import { hostName, integerBetween, path } from './scalar-readers.ts'
import { readSmallFile } from './small-file.ts'

export interface AdminConfig {
  readonly host: string
  readonly port: number
  /** What a caller must present (RFC 6750); undefined: nothing, which is allowed on loopback hosts only. */
  readonly token: string | undefined
}

// Shorter ones are guessed; longer ones are not meant.
const TOKEN = /^[A-Za-z0-9._~+/-]{16,512}=*$/
const MAX_TOKEN_FILE_BYTES = 4096

export function readAdmin(
  root: ConfigFields,
  defaults: AdminConfig,
  resolvePath: (path: string) => string,
): AdminConfig {
  const fields = root.section('admin', ['host', 'port', 'token', 'tokenFile'])
  const host = fields.get('host', hostName, defaults.host)
  const port = fields.get('port', integerBetween(0, 65_535), defaults.port)
  const inFile = fields.at('token')
  const besideIt = fields.at('tokenFile')
  if (inFile !== undefined) besideIt?.fail('token is given too', 'keep one of the two')
  else if (besideIt === undefined && !isLoopbackHost(host)) {
    fields
      .at('host')
      ?.fail(
        `${host} can be reached by other machines, and no token is set`,
        'set admin.token or admin.tokenFile, or use host 127.0.0.1',
      )
  }
  const token =
    inFile === undefined
      ? fields.optional('tokenFile', (value) => readTokenFile(value, resolvePath))
      : fields.optional('token', (value) => checkedToken(value, value.text('a token')))
  return { host, port, token }
}

function readTokenFile(value: ConfigValue, resolvePath: (path: string) => string): string | undefined {
  const name = path(value)
  if (name === undefined) return undefined
  const file = readSmallFile(resolvePath(name), MAX_TOKEN_FILE_BYTES)
  if (file.kind === 'text') return checkedToken(value, file.text.trimEnd())
  return value.fail(file.problem, 'keep the token alone in a file that the user of the proxy may read')
}

/** Never shown in a message: it is a secret, even a bad one. */
function checkedToken(value: ConfigValue, token: string | undefined): string | undefined {
  if (token === undefined || TOKEN.test(token)) return token
  return value.fail(
    'is no token of 16 to 512 letters, digits and . _ ~ + / -',
    'make one with: openssl rand -base64 32',
  )
}
