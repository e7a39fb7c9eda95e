/** What has gathered since the last publish. */
export interface UnpublishedFacts {
  /** Keys whose claim has changed bits. */
  readonly newDocuments: number
  /** Keys the summary holds now. */
  readonly documents: number
  /** Requests that our store could not answer. */
  readonly localMisses: number
  /** Of the oldest unpublished change. */
  readonly changeAgeMs: number
}

export type PublishReason = 'changes' | 'age' | 'misses' | 'share'

/** When the open delta is due (PROTOCOL rule 6). Undefined: not yet. */
export interface UpdatePolicy {
  readonly profile: UpdateProfile
  /** No change waits longer than this. */
  readonly maxAgeMs: number
  due(facts: UnpublishedFacts): PublishReason | undefined
}

export interface UpdatePolicyOptions {
  /** Thrifty: updates may cost this share of the queries ICP would have sent for the same misses. */
  readonly icpShare: number
  /** Paper: share of cached documents that are new since the last update; 0.001 to 0.1 in the paper. */
  readonly newDocumentShare: number
}

export const DEFAULT_UPDATE_OPTIONS: UpdatePolicyOptions = {
  // One update per 50 misses: where a third of the misses are remote hits, messages by the paper's count
  // stay within a tenth of what the remote hits alone need.
  icpShare: 0.02,
  // Summary Cache, section 5.1: at 1 % the hit ratio falls by 0.1 to 1.7 %.
  newDocumentShare: 0.01,
}

// A paper update goes out with a packet's worth of flips at least: 360 records in 1,500 bytes (Summary Cache,
// implementation notes), at about 4 set bits for each new document.
const PAPER_MIN_DOCUMENTS = 90
const PAPER_MAX_AGE_MS = 3_600_000

/** PROTOCOL rule 6. */
export const UPDATE_PROFILES = {
  fresh: (): UpdatePolicy => byAge('fresh', 250),
  balanced: (): UpdatePolicy => byAgeOrCount('balanced', 1_000, 32),
  thrifty: (options: UpdatePolicyOptions): UpdatePolicy => byMisses('thrifty', 30_000, options.icpShare),
  paper: (options: UpdatePolicyOptions): UpdatePolicy => byShare('paper', options.newDocumentShare),
} as const
export type UpdateProfile = keyof typeof UPDATE_PROFILES

function byAge(profile: UpdateProfile, maxAgeMs: number): UpdatePolicy {
  return { profile, maxAgeMs, due: ({ changeAgeMs }) => (changeAgeMs >= maxAgeMs ? 'age' : undefined) }
}

function byAgeOrCount(profile: UpdateProfile, maxAgeMs: number, minDocuments: number): UpdatePolicy {
  return {
    profile,
    maxAgeMs,
    due({ newDocuments, changeAgeMs }) {
      if (newDocuments >= minDocuments) return 'changes'
      return changeAgeMs >= maxAgeMs ? 'age' : undefined
    },
  }
}

// An update costs one message per peer, and so does an ICP query: the number of peers cancels out, and the share is
// kept when at least 1 / share misses lie between two updates.
function byMisses(profile: UpdateProfile, maxAgeMs: number, icpShare: number): UpdatePolicy {
  const misses = Math.ceil(1 / icpShare)
  return {
    profile,
    maxAgeMs,
    due({ localMisses, changeAgeMs }) {
      if (localMisses >= misses) return 'misses'
      return changeAgeMs >= maxAgeMs ? 'age' : undefined
    },
  }
}

function byShare(profile: UpdateProfile, share: number): UpdatePolicy {
  return {
    profile,
    maxAgeMs: PAPER_MAX_AGE_MS,
    due({ newDocuments, documents, changeAgeMs }) {
      if (newDocuments >= PAPER_MIN_DOCUMENTS && newDocuments >= share * documents) return 'share'
      return changeAgeMs >= PAPER_MAX_AGE_MS ? 'age' : undefined
    },
  }
}
