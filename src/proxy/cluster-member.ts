import { PeerAccounts } from './peer-accounts.ts'
import type { ClusterMember } from './views.ts'

/** What a peer says of itself may be this long: about a kilobyte for each of as many peers as there can be. */
export const MAX_DESCRIPTION_BYTES = 1024 * 1024

/** A peer's account of itself that is none. */
class ClusterMemberError extends Error {
  override readonly name = 'ClusterMemberError'
  readonly code = 'CLUSTER_MEMBER'
}

/**
 * Reads what a peer says of itself. It is shown, not believed: all that is made sure of is that it has the shape of our
 * own, so that a peer of another version, or a lying one, breaks no page.
 *
 * @param model a description of the same shape: our own
 * @throws {ClusterMemberError}
 */
export function readClusterMember(text: string, model: ClusterMember): ClusterMember {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ClusterMemberError('its description is no JSON', { cause: error })
  }
  const member = value as ClusterMember
  if (!hasShape(value, { ...model, peers: [] }, 0) || !member.peers.every(isPeer)) {
    throw new ClusterMemberError('its description has another shape than ours: is it another version?')
  }
  return member
}

/** Has `value` every field of `model`, with values of the same types? */
function hasShape(value: unknown, model: unknown, depth: number): boolean {
  if (depth > 8 || typeof value !== typeof model) return false
  if (Array.isArray(model)) return Array.isArray(value)
  if (typeof model !== 'object' || model === null) return true
  if (value === null) return false
  return Object.entries(model).every(([key, part]) =>
    hasShape((value as Record<string, unknown>)[key], part, depth + 1),
  )
}

const PEER_MODEL = { name: '', url: '', transport: '', proved: true, state: '', reason: '', savedMs: 0 }
const GUESSES_MODEL = {
  tests: 0,
  claims: 0,
  trueHits: 0,
  failures: 0,
  remoteStaleHits: 0,
  probes: 0,
  falseMisses: 0,
}
const FALSE_MISSES_MODEL = { freshness: 0, unknown: 0 }
const FALSE_HITS_MODEL = { collision: 0, 'pending-clear': 0, freshness: 0, variant: 0, unknown: 0 }
const GEOMETRY_MODEL = { hashScheme: 0, keyId: 0, keyRules: 0, bitCount: 0, probeCount: 0 }
const REPLICA_MODEL = {
  name: '',
  geometry: GEOMETRY_MODEL,
  entries: 0,
  setBits: 0,
  fill: 0,
  bytes: 0,
  expectedError: 0,
  proved: true,
  provedAgoMs: 0,
  ageMs: 0,
}

function isPeer(value: unknown): boolean {
  const account = new PeerAccounts().of('')
  const model = { ...GUESSES_MODEL, falseHits: FALSE_HITS_MODEL, falseMissCauses: FALSE_MISSES_MODEL }
  if (!hasShape(value, { ...PEER_MODEL, account, guesses: model }, 0)) return false
  const { digest, guesses } = value as ClusterMember['peers'][number]
  const { measuredError } = guesses
  return (
    (digest === null || hasShape(digest, REPLICA_MODEL, 0)) &&
    (measuredError === null || typeof measuredError === 'number')
  )
}
