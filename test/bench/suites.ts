import { DIGEST_MEASUREMENTS } from './digests.ts'
import { BULK } from './filters/bulk.ts'
import { HASHING } from './filters/hashing.ts'
import { KINDS } from './filters/kinds.ts'
import { LOOKUPS } from './filters/lookups.ts'
import { PACKAGES } from './filters/packages.ts'
import { PEERS } from './filters/peers.ts'
import { WIRE_CODES } from './filters/wire-codes.ts'
import type { Suite } from './measurement.ts'
import { BAD_PEERS } from './protocol/bad-peers.ts'
import { FRESHNESS } from './protocol/freshness.ts'
import { FRESHNESS_AT_LOSS } from './protocol/freshness-at-loss.ts'
import { STALLS } from './protocol/stalls.ts'
import { UPDATE_BYTES } from './protocol/update-bytes.ts'
import { UPKEEP } from './protocol/upkeep.ts'
import { SERVING_MEASUREMENTS } from './serving.ts'

export const SUITES: Readonly<Record<string, Suite>> = {
  filters: {
    about: 'hashing, lookups, the kinds of filters, peers, bulk work and wire codes, against C and npm packages',
    measurements: [...HASHING, ...LOOKUPS, ...PACKAGES, ...KINDS, ...PEERS, ...BULK, ...WIRE_CODES],
  },
  digests: {
    about: 'publishing, applying and asking the digests of the protocol',
    measurements: DIGEST_MEASUREMENTS,
  },
  protocol: {
    about: 'what the protocol costs and how fresh it is: bytes, CPU and delays of updates',
    measurements: [UPDATE_BYTES, FRESHNESS, FRESHNESS_AT_LOSS, UPKEEP, BAD_PEERS, STALLS],
  },
  serving: {
    about: 'requests through proxies on loopback, by how they end',
    measurements: SERVING_MEASUREMENTS,
  },
}
