import { Type } from 'typebox'
import type { Static } from 'typebox'
import { component, ref } from './building-blocks.ts'

/** RFC 9457, with an extension that names what is wrong with which input. */
export const ProblemSchema = component(
  'Problem',
  Type.Object(
    {
      type: Type.String({ description: '`about:blank`, or a URI that tells this problem from others of its status.' }),
      title: Type.String({ description: 'The same for every problem of this type.' }),
      status: Type.Integer({ description: 'The HTTP status.' }),
      detail: Type.String({ description: 'What is wrong with this request.' }),
      errors: Type.Optional(
        Type.Array(
          Type.Object({
            in: Type.String({ description: '`body`, `query` or `path`.' }),
            name: Type.String({ description: 'The parameter or property; empty when it is the whole.' }),
            problem: Type.String({ description: 'What is wrong with it.' }),
          }),
          { description: 'For input that breaks its schema: each parameter or property at fault.' },
        ),
      ),
    },
    { description: 'Problem details (RFC 9457).' },
  ),
)
export type Problem = Static<typeof ProblemSchema>
export type InputError = NonNullable<Problem['errors']>[number]

const REASONS = {
  400: 'The request is malformed or breaks its schema.',
  401: 'The bearer token is missing or wrong.',
  403: 'A web page of another origin sent this request.',
  404: 'There is no such thing.',
  409: 'It contradicts what is there.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  421: 'The Host is no loopback name; only a server with a token answers to others.',
  503: 'Not now.',
} as const

/** Responses of the given statuses, as the `response` part of a route's schema wants them. */
export function problems<const S extends keyof typeof REASONS>(...statuses: readonly S[]) {
  const schema = ref(ProblemSchema)
  const responses = statuses.map((status) => [
    status,
    { description: REASONS[status], content: { 'application/problem+json': { schema } } },
  ])
  return Object.fromEntries(responses) as Record<
    S,
    { description: string; content: { 'application/problem+json': { schema: typeof schema } } }
  >
}

/** What every route that the token guards may answer. */
export const REFUSALS = problems(401, 403, 421)
