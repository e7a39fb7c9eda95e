import { Type } from 'typebox'
import { ASK_WAYS } from '../../../core/peers/lookup-plan.ts'
import { PEER_CHOICES } from '../../../proxy/views.ts'
import { component, count, listOf, milliseconds, oneOf, ref } from './building-blocks.ts'

/** Above what the proxy port takes in a request line, so that whatever was stored can be asked for. */
const MAX_URL_LENGTH = 16_384

export const UrlQuerySchema = Type.Object(
  {
    url: Type.String({
      minLength: 1,
      maxLength: MAX_URL_LENGTH,
      description: 'An absolute http or https URL.',
      examples: ['http://www.example.com/'],
    }),
  },
  { additionalProperties: false },
)

export const EntrySchema = component(
  'Entry',
  Type.Object(
    {
      url: Type.String({ description: 'In normal form.' }),
      variant: Type.String({
        description: 'The values of the request fields that select it; empty when it does not vary.',
      }),
      status: Type.Integer(),
      contentType: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'Null: it has none.' }),
      bodyBytes: count('Size of the body.'),
      ageMs: milliseconds('Current age (RFC 9111 §4.2.3).'),
      freshForMs: Type.Unsafe<number | null>({
        type: ['number', 'null'],
        description: 'In milliseconds. Negative: stale since. Null: never fresh.',
      }),
      claimed: Type.Boolean({ description: 'Our digest claims it to the peers.' }),
    },
    { description: 'A stored response.' },
  ),
)

export const EntriesSchema = component(
  'Entries',
  Type.Object({ url: Type.String(), entries: listOf(ref(EntrySchema), 'Every variant.') }),
)

export const PurgedSchema = component(
  'Purged',
  Type.Object({ url: Type.String(), purged: count('How many stored responses went.') }),
)

export const ExplanationSchema = component(
  'Explanation',
  Type.Object(
    {
      url: Type.String({ description: 'In normal form.' }),
      key: Type.String({ description: 'The 128 bits that stand for it, in hexadecimal.' }),
      probes: listOf(Type.Integer(), 'The bits that a digest of our geometry is tested at.'),
      directory: Type.Object({
        held: Type.Boolean(),
        verdict: Type.String({ description: "`serve`, or why the origin is asked first: the reuse rule's reason." }),
        entries: listOf(ref(EntrySchema), 'Every variant.'),
      }),
      lookup: Type.Object(
        {
          ask: oneOf(ASK_WAYS, '`best`: one claimant after the other. `all`: every one at once.'),
          tries: count('Peers asked for one request at most, where it is one after the other.'),
          addedDelayMs: milliseconds(
            'All that asking peers may add to a request; less than configured where the origin is quick.',
          ),
          originMs: Type.Unsafe<number | null>({
            type: ['number', 'null'],
            description: "The origins' smoothed time to an answer's head, in milliseconds. Null before the first.",
          }),
        },
        { description: 'The policy that decides on peers.' },
      ),
      peers: listOf(
        Type.Object({
          name: Type.String(),
          claims: Type.Boolean({ description: 'Its digest may contain the key.' }),
          consulted: Type.Boolean(),
          choice: oneOf(
            PEER_CHOICES,
            'Whether it would be asked, or why not. `beyond-tries`: so many others come before it. ' +
              '`not-needed`: the store has something of it.',
          ),
          reason: Type.String({ description: 'The same in words and figures.' }),
        }),
        'What each replica says, and what follows from it.',
      ),
      plan: listOf(Type.String(), 'What would be done, in order.'),
    },
    { description: 'What would be done with `GET url` now, and why.' },
  ),
)
