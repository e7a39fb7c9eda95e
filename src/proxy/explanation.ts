import type { DirectoryEntry } from '../core/directory/cache-directory.ts'
import type { CacheKey } from '../core/http/cache-key.ts'
import type { ReuseVerdict } from '../core/http/reuse.ts'
import { costOfHitMs, judgeCandidate, type CandidateVerdict } from '../core/peers/candidate-selection.ts'
import { addedDelayMs, type LookupPolicy } from '../core/peers/lookup-plan.ts'
import { isConsulted, type PeerState, type PeerTable } from '../core/peers/peer-table.ts'
import { entryToValidate } from './forwarding.ts'
import type { Explanation } from './views.ts'

export interface LookupFacts {
  readonly key: CacheKey
  /** What the store has of it. */
  readonly entry: DirectoryEntry | undefined
  readonly verdict: ReuseVerdict | 'absent'
  readonly peers: PeerTable
  readonly policy: LookupPolicy
  /** How long the origin takes, as far as is known. */
  readonly originMs: number | undefined
  /** What is told of a peer that is not as it should be; '' where there is nothing to tell. */
  readonly reasonOf: (state: PeerState) => string
  readonly nowMs: number
}

/** Who would be asked for the key now, by which policy, and why not the others. */
export function explainLookup(facts: LookupFacts): Pick<Explanation, 'lookup' | 'peers' | 'plan'> {
  const { entry, key, nowMs, originMs, peers, policy, reasonOf, verdict } = facts
  const candidates = peers.claimants(key, nowMs).filter(({ worth }) => !worth.isOff)
  const validated = entryToValidate(entry, verdict)
  const wantsPeers = verdict !== 'serve' && validated === undefined
  const judged = peers.all().map((state) => {
    const claims = peers.isClaimed(state, key)
    const consulted = isConsulted(state, nowMs)
    const rank = candidates.indexOf(state)
    const choice = judgeCandidate({ claims, isConsulted: consulted, isOff: state.worth.isOff, rank }, policy)
    return { state, claims, consulted, rank, choice }
  })
  const asked = wantsPeers ? judged.filter(({ choice }) => choice === 'asked').sort((a, b) => a.rank - b.rank) : []
  const beside = policy.ask === 'all' && asked.length > 1 ? ', with the others' : ''
  return {
    lookup: {
      ask: policy.ask,
      tries: policy.tries,
      addedDelayMs: Math.round(addedDelayMs(policy, originMs)),
      originMs: originMs === undefined ? null : Math.round(originMs),
    },
    peers: judged.map(({ choice, claims, consulted, state }) => ({
      name: state.peer.name,
      claims,
      consulted,
      choice: choice === 'asked' && !wantsPeers ? 'not-needed' : choice,
      reason: reasonFor(choice, state, wantsPeers, policy, reasonOf(state)),
    })),
    plan:
      verdict === 'serve'
        ? ['serve from the store']
        : [
            ...asked.map(({ state }) => `ask peer ${state.peer.name}${beside}`),
            validated === undefined ? 'fetch from the origin' : `validate at the origin (${verdict})`,
          ],
  }
}

function reasonFor(
  choice: CandidateVerdict,
  state: PeerState,
  wantsPeers: boolean,
  { tries }: LookupPolicy,
  told: string,
): string {
  switch (choice) {
    case 'not-consulted':
      return told || (state.isConnected ? 'nothing has proved its digest of late' : 'it is not connected')
    case 'no-claim':
      return 'its digest does not claim it'
    case 'switched-off':
      return told || 'asking it costs more than it saves'
    case 'beyond-tries':
      return `${orderOf(state)}; beyond the ${tries} that are tried`
    case 'asked':
      return wantsPeers ? orderOf(state) : `${orderOf(state)}; not asked, since the store has it`
  }
}

function orderOf(state: PeerState): string {
  const cost = costOfHitMs(state)
  return cost === 0 ? 'not asked yet, and so first' : `a hit there takes ${cost.toFixed(1)} ms on average`
}
