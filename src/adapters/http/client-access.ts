import { BlockList, isIP } from 'node:net'

/** Addresses that share their first `prefixBits` bits. */
export interface ClientNetwork {
  readonly family: 'ipv4' | 'ipv6'
  readonly address: string
  readonly prefixBits: number
}

/** Who may use the proxy as a forward proxy and reach the peers' prefix. */
export class ClientAccess {
  readonly #list = new BlockList()

  constructor(networks: readonly ClientNetwork[]) {
    for (const { address, family, prefixBits } of networks) this.#list.addSubnet(address, prefixBits, family)
  }

  /** @param address as the socket names it: BlockList itself matches ::ffff:192.0.2.1 with IPv4 networks */
  allows(address: string): boolean {
    const version = isIP(address)
    return version !== 0 && this.#list.check(address, version === 6 ? 'ipv6' : 'ipv4')
  }
}
