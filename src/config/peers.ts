import type { Peer } from '../core/peers/peer.ts'
import { MAX_PEERS } from '../core/peers/peer-table.ts'
import { quoted } from './config-value.ts'
import type { ConfigFields, ConfigValue } from './config-value.ts'
import { proxyName } from './scalar-readers.ts'

/** The peers but ourselves: an entry with our own name is left out, so that one file can serve the whole cluster. */
export function readPeers(root: ConfigFields, ownName: string): readonly Peer[] {
  const names = new Set<string>()
  const urls = new Set<string>()
  // One more than the bound, since our own entry may be among them.
  const items = root.at('peers')?.items(MAX_PEERS + 1, 'peers') ?? []
  const others: Peer[] = []
  for (const item of items) {
    const peer = readPeer(item)
    if (peer === undefined) continue
    if (names.has(peer.name)) item.fail(`another peer is called ${peer.name}`, 'give each its own name')
    if (urls.has(peer.url)) item.fail(`another peer is at ${peer.url}`, 'keep one of them')
    names.add(peer.name)
    urls.add(peer.url)
    if (peer.name !== ownName) others.push(peer)
  }
  if (others.length > MAX_PEERS) {
    root.at('peers')?.fail(`has ${others.length} peers, and at most ${MAX_PEERS} are allowed`, 'leave some out')
  }
  return others
}

function readPeer(item: ConfigValue): Peer | undefined {
  const fields = item.fields(['name', 'url'])
  const name = fields.required('name', proxyName, 'write the name that the peer gives itself')
  const url = fields.required('url', readPeerUrl, 'write where its proxy port is, as http://10.0.0.2:3128')
  return name === undefined || url === undefined ? undefined : { name, url }
}

function readPeerUrl(value: ConfigValue): string | undefined {
  const text = value.text('a URL')
  if (text === undefined) return undefined
  const url = URL.parse(text)
  const isPlain = url !== null && url.protocol === 'http:' && /^http:\/\/[^/?#@]+\/?$/i.test(text)
  return isPlain
    ? url.origin
    : value.fail(
        `${quoted(text)} is no address of a proxy port`,
        'write it as http://10.0.0.2:3128, with nothing after',
      )
}
