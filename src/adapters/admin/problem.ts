import { STATUS_CODES } from 'node:http'
import type { FastifyError } from 'fastify'
import type { InputError, Problem } from './schemas/problem-schema.ts'

const TYPE_PREFIX = 'urn:summary-cache:problem:'

/** A request that a route can't do as asked: the answer to give instead. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly problem: Problem
  constructor(problem: Problem) {
    super(problem.detail)
    this.problem = problem
  }
}

/** Says no more than its HTTP status. */
export function plainProblem(status: number, detail: string): ProblemError {
  return new ProblemError({ type: 'about:blank', title: STATUS_CODES[status] ?? 'Error', status, detail })
}

/** A problem of a kind of its own, which a program can tell from others of its status. */
export function namedProblem(status: number, kind: string, title: string, detail: string): ProblemError {
  return new ProblemError({ type: TYPE_PREFIX + kind, title, status, detail })
}

/** Input that its schema lets pass and that is wrong all the same. */
export function inputProblem(errors: readonly InputError[]): ProblemError {
  return new ProblemError({
    type: `${TYPE_PREFIX}invalid-input`,
    title: 'Invalid input',
    status: 400,
    detail: errors.map((error) => `${error.in} ${error.name}: ${error.problem}`).join('; '),
    errors: [...errors],
  })
}

/** What to answer after `error`. Of a failure of ours it tells nothing: that is for the log. */
export function problemOf(error: FastifyError | ProblemError): Problem {
  if (error instanceof ProblemError) return error.problem
  if (error.validation !== undefined) return inputProblem(inputErrors(error)).problem
  const status = error.statusCode ?? 500
  return plainProblem(status, status >= 500 ? 'The request failed for a reason of ours; see the log.' : error.message)
    .problem
}

const PLACES: Readonly<Record<string, string>> = { querystring: 'query', params: 'path' }

function inputErrors(error: FastifyError): InputError[] {
  const context = error.validationContext ?? 'body'
  const place = PLACES[context] ?? context
  return (error.validation ?? []).map((fault) => {
    const path = fault.instancePath.slice(1).replaceAll('/', '.')
    const missing = fault.params['missingProperty']
    const surplus = fault.params['additionalProperty']
    if (typeof missing === 'string') return { in: place, name: below(path, missing), problem: 'is missing' }
    if (typeof surplus === 'string') return { in: place, name: below(path, surplus), problem: 'is not known' }
    return { in: place, name: path, problem: fault.message ?? 'is not valid' }
  })
}

function below(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}
