const MAPPED_IPV4 = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/

/**
 * One spelling for each client: IPv6 addresses in their shortest form (RFC 5952), with a zone where they have one, without
 * brackets, and an IPv4 address that is written as an IPv6 one as itself. What is no address stays as it is.
 */
export function clientName(text: string): string {
  if (!text.includes(':')) return text
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text
  const percent = bare.indexOf('%')
  const address = percent < 0 ? bare : bare.slice(0, percent)
  const zone = percent < 0 ? '' : bare.slice(percent)
  if (!/^[0-9A-Fa-f:.]{2,45}$/.test(address)) return text
  const parsed = URL.parse(`http://[${address}]/`)
  if (parsed === null) return text
  const shortest = parsed.hostname.slice(1, -1)
  const mapped = MAPPED_IPV4.exec(shortest)
  if (mapped === null) return shortest + zone
  const high = Number.parseInt(mapped[1]!, 16)
  const low = Number.parseInt(mapped[2]!, 16)
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}
