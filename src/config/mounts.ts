import type { Mount } from '../core/http/mount-table.ts'
import { quoted } from './config-value.ts'
import type { ConfigFields, ConfigValue } from './config-value.ts'
import { hostName, path } from './scalar-readers.ts'

// Each mount is compared with every request that names no other host.
const MAX_MOUNTS = 256

export function readMounts(root: ConfigFields): readonly Mount[] {
  const taken = new Set<string>()
  return (root.at('mounts')?.items(MAX_MOUNTS, 'mounts') ?? []).flatMap((item) => {
    const mount = readMount(item)
    if (mount === undefined) return []
    const place = `${mount.host ?? ''} ${mount.path}`
    if (taken.has(place)) item.fail('another mount has the same host and path', 'keep one of them')
    taken.add(place)
    return [mount]
  })
}

function readMount(item: ConfigValue): Mount | undefined {
  const fields = item.fields(['host', 'path', 'origin'])
  const host = fields.optional('host', hostName)
  const mountPath = fields.get('path', readMountPath, '/')
  const origin = fields.required(
    'origin',
    readOrigin,
    'write the URL that it stands for, as https://registry.npmjs.org/',
  )
  if (fields.at('host') === undefined && fields.at('path') === undefined) {
    return item.fail('has neither host nor path', 'say which requests it takes: host, path, or both')
  }
  return origin === undefined ? undefined : { host, path: mountPath, origin }
}

function readMountPath(value: ConfigValue): string | undefined {
  const text = path(value)
  if (text === undefined || /^\/(?:[A-Za-z0-9._~!$&'()*+,;=:@%-]+\/)*$/.test(text)) return text
  // Without the last slash /npm would take /npmx as well.
  return value.fail(`${quoted(text)} is no mount path`, 'begin and end it with a slash, as /npm/')
}

function readOrigin(value: ConfigValue): string | undefined {
  const text = value.text('a URL')
  if (text === undefined) return undefined
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol) || !/^https?:\/\//i.test(text)) {
    return value.fail(`${quoted(text)} is no absolute http or https URL`, 'write it as https://registry.npmjs.org/')
  }
  if (url.username !== '' || url.password !== '' || /[?#]/.test(text)) {
    // Not shown: a password would end up in a log.
    return value.fail('has credentials, a query or a fragment', 'leave them out')
  }
  if (!url.pathname.endsWith('/')) return value.fail(`${quoted(text)} does not end with a slash`, `write ${text}/`)
  return url.href
}
