export type Expansion =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'unset'; readonly variable: string }
  | { readonly kind: 'malformed'; readonly at: string }

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}/g

/**
 * `text` with `${NAME}` and `${NAME:-default}` replaced from the environment. As in a shell, `:-` also stands in for a
 * variable that is set and empty. What a variable holds is not looked into again.
 */
export function expandReferences(text: string, env: Readonly<Record<string, string | undefined>>): Expansion {
  let unset: string | undefined
  const rest = text.replaceAll(REFERENCE, '')
  if (rest.includes('${')) return { kind: 'malformed', at: rest.slice(rest.indexOf('${')) }
  const expanded = text.replaceAll(REFERENCE, (_, name: string, fallback: string | undefined) => {
    const value = env[name]
    if (value !== undefined && (value !== '' || fallback === undefined)) return value
    if (fallback === undefined) unset ??= name
    return fallback ?? ''
  })
  return unset === undefined ? { kind: 'text', text: expanded } : { kind: 'unset', variable: unset }
}
