import type { ConfigFields, ConfigValue } from './config-value.ts'
import { path } from './scalar-readers.ts'
import { readSmallFile } from './small-file.ts'

export interface ClusterConfig {
  /** The secret that the proxies of the cluster share; undefined: what they say to each other is not signed. */
  readonly key: string | undefined
}

// Shorter ones are guessed; longer ones are not meant.
const MIN_KEY_BYTES = 16
const MAX_KEY_BYTES = 512
const MAX_KEY_FILE_BYTES = 4096

export function readCluster(root: ConfigFields, resolvePath: (path: string) => string): ClusterConfig {
  const fields = root.section('cluster', ['key', 'keyFile'])
  if (fields.at('key') === undefined) {
    return { key: fields.optional('keyFile', (value) => readKeyFile(value, resolvePath)) }
  }
  fields.at('keyFile')?.fail('key is given too', 'keep one of the two')
  return { key: fields.optional('key', (value) => checkedKey(value, value.text('a key'))) }
}

function readKeyFile(value: ConfigValue, resolvePath: (path: string) => string): string | undefined {
  const name = path(value)
  if (name === undefined) return undefined
  const file = readSmallFile(resolvePath(name), MAX_KEY_FILE_BYTES)
  if (file.kind === 'text') return checkedKey(value, file.text.trimEnd())
  return value.fail(file.problem, 'keep the key alone in a file that the user of the proxy may read')
}

/** Never shown in a message: it is a secret, even a bad one. */
function checkedKey(value: ConfigValue, key: string | undefined): string | undefined {
  if (key === undefined) return undefined
  const bytes = Buffer.byteLength(key)
  if (bytes >= MIN_KEY_BYTES && bytes <= MAX_KEY_BYTES && !/\p{Cc}/u.test(key)) return key
  return value.fail(
    `is no key of ${MIN_KEY_BYTES} to ${MAX_KEY_BYTES} bytes on one line`,
    'make one with: openssl rand -base64 32',
  )
}
