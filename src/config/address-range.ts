import { isIPv4, isIPv6 } from 'node:net'

/** Addresses that share their first `prefixBits` bits, as `net.BlockList` takes them. */
export interface AddressRange {
  readonly family: 'ipv4' | 'ipv6'
  readonly address: string
  readonly prefixBits: number
}

/** `10.0.0.0/8`, `fc00::/7`, or one address. Undefined: neither. */
export function parseAddressRange(text: string): AddressRange | undefined {
  const match = /^([0-9A-Fa-f:.]{2,45})(?:\/(\d{1,3}))?$/.exec(text)
  if (match === null) return undefined
  const address = match[1]!
  const family = isIPv4(address) ? 'ipv4' : isIPv6(address) ? 'ipv6' : undefined
  if (family === undefined) return undefined
  const addressBits = family === 'ipv4' ? 32 : 128
  const prefixBits = match[2] === undefined ? addressBits : Number(match[2])
  return prefixBits > addressBits ? undefined : { family, address, prefixBits }
}

/** True for addresses and names that no other machine can reach. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}
