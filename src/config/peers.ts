import type { Peer } from '../core/peers/peer.ts'
import { MAX_PEERS } from '../core/peers/peer-table.ts'
import { DEFAULT_TRANSPORT, TRANSPORT_NAMES, transportKinds } from '../core/peers/transport-kinds.ts'
import { quoted } from './config-value.ts'
import type { ConfigFields, ConfigValue } from './config-value.ts'
import { hostAndPort, oneOf, proxyName } from './scalar-readers.ts'

/**
 * The peers but ourselves: an entry with our own name is left out, so that one file can serve the whole cluster.
 * @param hasCertificate of our own, without which no peer can be spoken to over TLS
 */
export function readPeers(root: ConfigFields, ownName: string, hasCertificate: boolean): readonly Peer[] {
  const names = new Set<string>()
  const urls = new Set<string>()
  // One more than the bound, since our own entry may be among them.
  const items = root.at('peers')?.items(MAX_PEERS + 1, 'peers') ?? []
  const others: Peer[] = []
  for (const item of items) {
    const peer = readPeer(item, hasCertificate)
    if (peer === undefined) continue
    if (names.has(peer.name)) item.fail(`another peer is called ${peer.name}`, 'give each its own name')
    if (urls.has(peer.url)) item.fail(`another peer is at ${peer.url}`, 'keep one of them')
    if (peer.updates !== undefined && others.some(({ updates }) => updates === peer.updates)) {
      item.fail(`another peer has its updates at ${peer.updates}`, 'give each its own address or port')
    }
    names.add(peer.name)
    urls.add(peer.url)
    if (peer.name !== ownName) others.push(peer)
  }
  if (others.length > MAX_PEERS) {
    root.at('peers')?.fail(`has ${others.length} peers, and at most ${MAX_PEERS} are allowed`, 'leave some out')
  }
  return others
}

function readPeer(item: ConfigValue, hasCertificate: boolean): Peer | undefined {
  const fields = item.fields(['name', 'url', 'transport', 'updates'])
  const name = fields.required('name', proxyName, 'write the name that the peer gives itself')
  const url = fields.required(
    'url',
    (value) => readPeerUrl(value, hasCertificate),
    'write where its proxy port is, as http://10.0.0.2:3128',
  )
  const transport = fields.optional('transport', oneOf(TRANSPORT_NAMES))
  const takesUpdates = transportKinds[transport ?? DEFAULT_TRANSPORT].takesUpdates
  const updates = takesUpdates
    ? fields.required('updates', hostAndPort, 'write where it takes and sends its updates, as 10.0.0.2:3130')
    : fields.at('updates')?.fail('only a peer whose transport takes updates has an address for them', 'leave it out')
  if (takesUpdates && url?.startsWith('https:')) {
    fields.at('url')?.fail('updates come by UDP, which no certificate protects', 'write its proxy port, with http')
  }
  if (name === undefined || url === undefined) return undefined
  return { name, url, ...(transport && { transport }), ...(updates && { updates }) }
}

function readPeerUrl(value: ConfigValue, hasCertificate: boolean): string | undefined {
  const text = value.text('a URL')
  if (text === undefined) return undefined
  const url = URL.parse(text)
  if (url === null || !/^https?:\/\/[^/?#@]+\/?$/i.test(text)) {
    return value.fail(
      `${quoted(text)} is no address of a proxy port`,
      'write it as http://10.0.0.2:3128, with nothing after',
    )
  }
  if (url.protocol === 'http:' || hasCertificate) return url.origin
  return value.fail(
    `${quoted(text)} cannot be reached without a certificate of ours`,
    'set peering.tls, or write the address of its proxy port as http://10.0.0.2:3128',
  )
}
