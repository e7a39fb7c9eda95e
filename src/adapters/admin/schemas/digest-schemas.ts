import { Type } from 'typebox'
import { TURNED_AWAY_CAUSES } from '../../../proxy/proxy-event.ts'
import { component, count, countEach, listOf, milliseconds, nullable, ref, share } from './building-blocks.ts'

export const GeometrySchema = component(
  'Geometry',
  Type.Object(
    {
      hashScheme: Type.Integer({
        description: '1: MurmurHash3 x86_128, probes by enhanced double hashing. 2: MD5, on the wire of Summary Cache.',
      }),
      keyId: Type.Integer({ description: '0: not keyed.' }),
      keyRules: Type.Integer({
        description: '1: `GET`, a space, and the URL in normal form. 0: the URL alone, on the wire of Summary Cache.',
      }),
      bitCount: Type.Integer({ description: 'm, a power of two.' }),
      probeCount: Type.Integer({ description: 'k.' }),
    },
    { description: 'All that two digests must share before their bits mean the same thing.' },
  ),
)

export const MEASURED_ERROR = Type.Unsafe<number | null>({
  type: ['number', 'null'],
  description: 'False hits by collision per test that should have said no; null before the first.',
})

const NAME = Type.String({
  description: '`incarnation.generation.sequence`; empty on the wire of Summary Cache, which has no names.',
  examples: ['1764547200000.3.17'],
})

const DIGEST = {
  name: NAME,
  geometry: ref(GeometrySchema),
  entries: count('Keys that the digest stands for.'),
  setBits: count('Bits that are set.'),
  fill: share('Set bits over all bits.'),
  bytes: count('Size of the bit array.'),
  expectedError: share('Chance that a key that is not held is claimed, from the fill.'),
}

export const OwnDigestSchema = component(
  'OwnDigest',
  Type.Object({
    ...DIGEST,
    profile: Type.String({ description: 'The update policy.' }),
    pendingClears: count('Bits published whose keys have gone.'),
    unpublishedChanges: count('Bits set since the last publish.'),
    lastPublishReason: Type.String(),
    audits: count('Comparisons of the summary with the directory.'),
    drift: Type.Object({
      missing: count('Bits that claimed keys need and that were not set, in all comparisons: 0 for ever.'),
      surplus: count('Bits that no claimed key needs and that were set; counters that stuck leave some.'),
    }),
    checksumFaults: count('Times that the published bits were not what their checksum said: 0 for ever.'),
    followers: count('Peers that follow this digest.'),
    turnedAway: countEach(TURNED_AWAY_CAUSES, 'Peers refused or cut off, by cause.'),
  }),
)

export const ReplicaSchema = component(
  'Replica',
  Type.Object({
    ...DIGEST,
    proved: Type.Boolean({
      description:
        'Its checksum and a recent frame prove it. Without that only replicas on the wire of Summary Cache are consulted.',
    }),
    provedAgoMs: milliseconds('Since the last frame that proved it.'),
    ageMs: milliseconds("How far behind its publisher it can be, by the oldest change's own time."),
  }),
)

export const DigestsSchema = component(
  'Digests',
  Type.Object({
    own: ref(OwnDigestSchema),
    replicas: listOf(
      Type.Object({ peer: Type.String(), digest: nullable(ReplicaSchema), measuredError: MEASURED_ERROR }),
      "Peers' digests; null where nothing has been proved yet.",
    ),
  }),
)

export const PublishedSchema = component(
  'Published',
  Type.Object({ name: NAME }, { description: 'The state of the own digest that was published last.' }),
)
