import { ASK_WAYS, type LookupPolicy } from '../core/peers/lookup-plan.ts'
import type { ConfigFields } from './config-value.ts'
import { durationBetween, integerBetween, oneOf, percentageBetween, trueOrFalse } from './scalar-readers.ts'

/** How a miss is looked for at peers. */
export interface LookupConfig extends LookupPolicy {
  /** Share of the local misses at which a peer is asked that does not claim the key; 0: none. */
  readonly probeShare: number
  /** Whether a peer that costs more time than it saves is left out until it would pay again. */
  readonly switchesOff: boolean
}

export function readLookup(root: ConfigFields, defaults: LookupConfig): LookupConfig {
  const lookup = root.section('lookup', ['ask', 'tries', 'addedDelay', 'probes', 'switchOff'])
  return {
    ask: lookup.get('ask', oneOf(ASK_WAYS), defaults.ask),
    tries: lookup.get('tries', integerBetween(1, 8), defaults.tries),
    addedDelayMs: lookup.get('addedDelay', durationBetween(10, 10_000), defaults.addedDelayMs),
    probeShare: lookup.get('probes', percentageBetween(0, 100), defaults.probeShare),
    switchesOff: lookup.get('switchOff', trueOrFalse, defaults.switchesOff),
  }
}
