import { Type } from 'typebox'
import type { TProperties } from 'typebox'
import { FALSE_HIT_CAUSES } from '../../../core/peers/guess-counts.ts'
import { DATAGRAM_DROPS, DIGEST_FRAME_KINDS, OUTCOMES, TURNED_AWAY_CAUSES } from '../../../proxy/proxy-event.ts'
import { component, oneOf } from './building-blocks.ts'

const bytes = Type.Integer({ minimum: 0 })

/** The `data` of a server-sent event; its `event` is the kind. */
export const EventSchema = component(
  'Event',
  Type.Union(
    [
      kind('request-ended', 'A request has ended, well or not.', {
        wallMs: Type.Number({ description: 'When, in milliseconds since 1970.' }),
        elapsedMs: Type.Number(),
        client: Type.String(),
        fromPeer: Type.Boolean({ description: 'An only-if-cached question from another proxy of the cluster.' }),
        method: Type.String(),
        url: Type.String(),
        status: Type.Integer(),
        outcome: oneOf(OUTCOMES, 'How it ended.'),
        bytesToClient: bytes,
        bodyBytes: bytes,
        contentType: Type.Optional(Type.String()),
        server: Type.Optional(Type.String({ description: 'Host of the origin or name of the peer that answered.' })),
        aborted: Type.Boolean({ description: 'The client or the source broke off before the end.' }),
      }),
      kind('peer-asked', 'A peer was asked for what its digest claims.', {
        peer: Type.String(),
        outcome: oneOf(
          ['hit', 'false-hit', 'failed', 'cancelled'],
          'What came of it. `cancelled`: another that was asked at the same time had it first.',
        ),
        cause: Type.Optional(oneOf(FALSE_HIT_CAUSES, 'Of a false hit.')),
        requestBytes: bytes,
        replyBytes: bytes,
        elapsedMs: Type.Number(),
      }),
      kind('peer-probed', 'A peer was asked for a head while no request waited.', {
        peer: Type.String(),
        why: oneOf(['unclaimed', 'switched-off'], 'Its digest does not claim the key, or it is switched off.'),
        outcome: oneOf(['hit', 'false-hit', 'failed'], 'What came of it.'),
        replicaAgeMs: Type.Number({ description: 'How far behind our copy of its digest could be. In milliseconds.' }),
        requestBytes: bytes,
        replyBytes: bytes,
        elapsedMs: Type.Number(),
      }),
      kind('local-miss', 'A request that the store could not answer, at the moment ICP would have asked every peer.', {
        peers: Type.Integer(),
        icpQueryBytes: bytes,
        icpReplyBytes: bytes,
      }),
      kind('origin-asked', 'The origin was asked.', {
        outcome: oneOf(['fetched', 'validated', 'failed'], 'What came of it.'),
      }),
      kind('digest-sent', 'Digest frames sent.', {
        frame: oneOf(DIGEST_FRAME_KINDS, 'Which.'),
        count: Type.Integer({ description: 'To how many peers it went.' }),
        bytes,
      }),
      kind('digest-received', 'Digest frames received.', {
        peer: Type.String({ description: 'Its name, or its address where it did not say.' }),
        frame: oneOf(DIGEST_FRAME_KINDS, 'Which.'),
        count: Type.Integer(),
        bytes,
      }),
      kind('peer-changed', 'Something about a peer that an operator wants to see.', {
        peer: Type.String(),
        state: oneOf(
          [
            'added',
            'removed',
            'connected',
            'disconnected',
            'suspended',
            'recovered',
            'refused',
            'switched-off',
            'switched-on',
          ],
          'What happened to it.',
        ),
        reason: Type.String(),
      }),
      kind('peer-turned-away', 'A peer did not get, or no longer gets, what it asked of our digest.', {
        peer: Type.String({ description: 'The name that it gives itself, or its address.' }),
        cause: oneOf(TURNED_AWAY_CAUSES, 'Why, in a word.'),
        reason: Type.String(),
      }),
      kind('digest-turned', 'Our digest has begun a new generation.', {
        incarnation: Type.Integer(),
        generation: Type.Integer(),
        reason: Type.String(),
      }),
      kind('datagrams-dropped', "Datagrams of the paper's wire that came to nothing, told once a second at most.", {
        cause: oneOf(DATAGRAM_DROPS, 'Why.'),
        count: Type.Integer({ minimum: 1 }),
      }),
      kind('dropped', 'This listener was too slow: so many events were left out here.', {
        count: Type.Integer({ minimum: 1 }),
      }),
    ],
    { description: "What happens in the proxy, as a server-sent event's `data`; its `event` is the kind." },
  ),
)

function kind(name: string, description: string, properties: TProperties) {
  return Type.Object({ kind: Type.Literal(name), ...properties }, { description, title: name })
}
