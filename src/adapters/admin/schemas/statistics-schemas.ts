import { Type } from 'typebox'
import { FALSE_HIT_CAUSES } from '../../../core/peers/guess-counts.ts'
import { DATAGRAM_DROPS, DIGEST_FRAME_KINDS, OUTCOMES } from '../../../proxy/proxy-event.ts'
import { component, count, countEach, listOf, nullable, ref, share } from './building-blocks.ts'
import { IcpSchema } from './icp-schema.ts'
import { PeerSchema } from './peer-schemas.ts'

export const InterCacheSchema = component(
  'InterCacheCounts',
  Type.Object(
    {
      messagesPaper: count('Updates sent, one per peer, and requests sent to peers: the count of Summary Cache.'),
      messagesFull: count('Every message: frames sent, requests to peers and their answers.'),
      finding: count('Frames sent and false hits: finding alone.'),
      bytes: count('Of digest frames and of the heads of requests to peers and of their answers.'),
      framesSent: countEach(DIGEST_FRAME_KINDS, 'Digest frames, one per peer.'),
      frameBytesSent: countEach(DIGEST_FRAME_KINDS, 'Bytes of digest frames.'),
    },
    { description: 'What finding copies at peers has cost.' },
  ),
)

export const StatisticsSchema = component(
  'Statistics',
  Type.Object(
    {
      requests: count("Clients' requests that have ended."),
      byOutcome: countEach(OUTCOMES, 'The same, by how they ended.'),
      peerRequests: Type.Object({
        asked: count('Only-if-cached questions from peers.'),
        served: count('Those answered from the store.'),
      }),
      bytesToClients: count('Heads and bodies, as sent.'),
      bodyBytes: Type.Object(
        { local: Type.Integer(), remote: Type.Integer(), origin: Type.Integer() },
        { description: 'Of answers to clients, by where the body came from.' },
      ),
      hitRatio: Type.Object({
        local: share('Answered from the store, also after validation, over all requests.'),
        remote: share("Answered from a peer's store, over all requests."),
      }),
      falseHits: countEach(FALSE_HIT_CAUSES, 'A digest sent us to a peer in vain, by cause.'),
      peerFailures: count('Peers asked without an answer.'),
      originRequests: Type.Object({
        fetched: count('Answered with a response.'),
        validated: count('Answered with 304 to our validators.'),
        failed: count('Not answered.'),
      }),
      datagramsDropped: countEach(DATAGRAM_DROPS, "Datagrams of the paper's wire that came to nothing, by cause."),
      interCache: ref(InterCacheSchema),
      icp: ref(IcpSchema),
    },
    { description: 'Counted since the start.' },
  ),
)

export const ClusterMemberSchema = component(
  'ClusterMember',
  Type.Object({
    name: Type.String(),
    url: Type.String(),
    reachable: Type.Boolean({ description: 'False: its figures could not be had.' }),
    reason: Type.String({ description: 'Why not; empty when reachable.' }),
    statistics: nullable(StatisticsSchema),
    peers: listOf(ref(PeerSchema), 'Its peers, as it sees them.'),
  }),
)

export const ClusterSchema = component(
  'Cluster',
  Type.Object({ proxies: listOf(ref(ClusterMemberSchema), 'This proxy and its peers.') }),
)
