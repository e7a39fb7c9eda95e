import { Type } from 'typebox'
import { FALSE_HIT_CAUSES, FALSE_MISS_CAUSES } from '../../../core/peers/guess-counts.ts'
import { TRANSPORT_NAMES, transportKinds } from '../../../core/peers/transport-kinds.ts'
import { component, count, countEach, listOf, nullable, oneOf, ref } from './building-blocks.ts'
import { DIGEST_FRAME_KINDS } from '../../../proxy/proxy-event.ts'
import { IcpSchema } from './icp-schema.ts'
import { ReplicaSchema, MEASURED_ERROR } from './digest-schemas.ts'

const NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'

export const PeerNameSchema = Type.String({
  pattern: NAME_PATTERN,
  description: 'Letters, digits, `.`, `_` and `-`; 64 at most.',
  examples: ['b'],
})

export const PeerUrlSchema = Type.String({
  pattern: '^https?://[^/?#@\\s\\\\]+/?$',
  maxLength: 300,
  description: "Where the peer's proxy port is, or over TLS its port for peers.",
  examples: ['http://10.0.0.2:3128'],
})

export const TransportSchema = oneOf(
  TRANSPORT_NAMES,
  `How its digest reaches us. ${TRANSPORT_NAMES.map((name) => `\`${name}\`: ${transportKinds[name].description}.`).join(' ')}`,
)

export const UpdatesAddressSchema = Type.String({
  pattern: '^(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._-]+):[0-9]{1,5}$',
  maxLength: 300,
  description: 'Where its updates come from and ours go to; for transports that take updates.',
  examples: ['10.0.0.2:3130'],
})

export const GuessesSchema = component(
  'Guesses',
  Type.Object(
    {
      tests: count('Times the digest was tested for a key.'),
      claims: count('Times it claimed one.'),
      trueHits: count('Times the peer had it.'),
      falseHits: countEach(FALSE_HIT_CAUSES, 'Times the peer had it not, by cause.'),
      failures: count('Asked, and no answer came in time or the connection failed.'),
      remoteStaleHits: count('Times the peer had it, but stale: the false hits by freshness.'),
      probes: count('Times it was asked, on a sample, though its digest did not claim the key.'),
      falseMisses: count('Times it had it all the same.'),
      falseMissCauses: countEach(
        FALSE_MISS_CAUSES,
        'Why, once the replica has caught up with that moment. `freshness`: it claims the key by then. `unknown`: it does ' +
          'not; the entry has gone since, or the digest is wrong.',
      ),
      measuredError: MEASURED_ERROR,
    },
    { description: "How a peer's digest has guessed so far." },
  ),
)

export const PeerAccountSchema = component(
  'PeerAccount',
  Type.Object(
    {
      messagesPaper: count('Updates received, and questions.'),
      messagesFull: count('Every frame received, questions, probes and answers.'),
      bytes: count('Of all these: frames, and heads of questions and answers.'),
      framesReceived: countEach(DIGEST_FRAME_KINDS, 'Digest frames from it.'),
      frameBytesReceived: countEach(DIGEST_FRAME_KINDS, 'Bytes of these.'),
      questions: count('Asked of it.'),
      probes: count('Asked of it while no request waited.'),
      answers: count('That came.'),
      headBytes: count('Of questions and answers.'),
      icp: ref(IcpSchema),
    },
    { description: 'What a peer has cost, and what ICP would have cost in its place.' },
  ),
)

export const PEER_STATES = ['up', 'unproved', 'suspended', 'connecting', 'switched-off'] as const

export const PeerSchema = component(
  'Peer',
  Type.Object({
    name: Type.String(),
    url: Type.String({ description: "Where the peer's proxy port is." }),
    transport: TransportSchema,
    proved: Type.Boolean({
      description: 'Whether its replicas can be proved: on the wire of Summary Cache they cannot.',
    }),
    state: oneOf(
      PEER_STATES,
      '`up`: its replica is consulted. `unproved`: connected, nothing proved yet or not for too long. ' +
        '`suspended`: failed, tried again later. `switched-off`: asking it costs more than it saves.',
    ),
    reason: Type.String(),
    guesses: ref(GuessesSchema),
    savedMs: Type.Number({
      description: "What asking it has saved against the origin's time; negative where it has cost more.",
    }),
    account: ref(PeerAccountSchema),
    digest: nullable(ReplicaSchema),
  }),
)

export const PeersSchema = component(
  'Peers',
  Type.Object({ peers: listOf(ref(PeerSchema), 'Every peer that this proxy knows.') }),
)
