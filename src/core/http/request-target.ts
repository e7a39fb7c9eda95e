import { MAX_URL_LENGTH, normalUrl } from './cache-key.ts'

/** What is wrong with a request's target or Host; all but 'too-long' (414) mean 400. */
export type TargetProblem =
  | 'bad-authority'
  | 'bad-host'
  | 'bad-target'
  | 'fragment'
  | 'no-host'
  | 'several-hosts'
  | 'too-long'
  | 'unsupported-scheme'
  | 'userinfo'

export type EffectiveUrl =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'problem'; readonly problem: TargetProblem }

const SCHEME = /^([a-z][a-z0-9+.-]*):/i

/**
 * The URL that a request is about, in normal form: from its target in origin-form or absolute-form and its Host (RFC 9112
 * §3.2, §3.3; RFC 9110 §7.1). Where both name an authority, the target's wins (RFC 9112 §3.2.2). CONNECT and `OPTIONS *`
 * have no such URL and are not for this function.
 *
 * @param hosts every Host line: two of them, even equal ones, are an error (RFC 9112 §3.2)
 * @param scheme of the connection that a target in origin-form came on
 */
export function effectiveUrl(target: string, hosts: readonly string[], scheme: 'http' | 'https'): EffectiveUrl {
  if (hosts.length > 1) return problem('several-hosts')
  if (target.length > MAX_URL_LENGTH) return problem('too-long')
  if (target.includes('#')) return problem('fragment')
  if (/[^!-~]/.test(target)) return problem('bad-target')
  const host = hosts[0]
  // A Host that is no host is an error also where it does not count; an empty one stands for "no authority".
  if (host !== undefined && host !== '' && !isHost(host)) return problem('bad-host')

  if (target.startsWith('/')) {
    if (host === undefined) return problem('no-host')
    return urlOr(`${scheme}://${host}${target}`, 'bad-host')
  }
  const named = SCHEME.exec(target)?.[1]?.toLowerCase()
  if (named === undefined) return problem('bad-target')
  if (named !== 'http' && named !== 'https') return problem('unsupported-scheme')
  // RFC 9110 §4.2.4: user info in a target is to be treated as an error.
  if (/^[^/]*\/\/[^/?]*@/.test(target)) return problem('userinfo')
  return urlOr(target, 'bad-authority')
}

/** Whether `text` is a Host value: a host and at most a port. */
function isHost(text: string): boolean {
  return !/[@/?#]/.test(text) && normalUrl(`http://${text}/`) !== undefined
}

function urlOr(text: string, otherwise: TargetProblem): EffectiveUrl {
  const url = normalUrl(text)
  if (url !== undefined) return { kind: 'url', url }
  return problem(text.length > MAX_URL_LENGTH ? 'too-long' : otherwise)
}

function problem(kind: TargetProblem): EffectiveUrl {
  return { kind: 'problem', problem: kind }
}
