// The public REST API and its event stream. The token stays in this tab's session storage.

const TOKEN_KEY = 'summary-cache-token'
const TIMEOUT_MS = 8000

/** The token is missing or wrong. */
export class UnauthorizedError extends Error {}

/** The API answered with problem details (RFC 9457). */
export class ApiProblem extends Error {
  constructor(problem) {
    super(problem.detail)
    this.problem = problem
  }
}

export function keepToken(token) {
  sessionStorage.setItem(TOKEN_KEY, token)
}

/** Whether there was one. */
export function forgetToken() {
  const had = sessionStorage.getItem(TOKEN_KEY) !== null
  sessionStorage.removeItem(TOKEN_KEY)
  return had
}

/** The answer's JSON. Rejects with one of the errors above, or a TypeError or TimeoutError when nobody answers. */
export async function ask(path, { method = 'GET', query = {} } = {}) {
  const search = new URLSearchParams(query).toString()
  const response = await fetch(search === '' ? path : `${path}?${search}`, {
    method,
    headers: headers(),
    cache: 'no-store',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  await refuse(response)
  return response.json()
}

/** Calls `onEvent` with each event's data and id until the stream ends; rejects when `signal` aborts. */
export async function followEvents({ lastId, signal, onOpen, onEvent }) {
  const extra = { accept: 'text/event-stream', ...(lastId === undefined ? {} : { 'last-event-id': lastId }) }
  const response = await fetch('v1/events', { headers: headers(extra), cache: 'no-store', signal })
  await refuse(response)
  onOpen()
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const blocks = (rest + value).split('\n\n')
    rest = blocks.pop()
    for (const block of blocks) deliver(block, onEvent)
  }
}

function deliver(block, onEvent) {
  let id
  const data = []
  for (const line of block.split('\n')) {
    if (line.startsWith('id: ')) id = line.slice(4)
    if (line.startsWith('data: ')) data.push(line.slice(6))
  }
  if (data.length > 0) onEvent(JSON.parse(data.join('\n')), id)
}

function headers(extra = {}) {
  const token = sessionStorage.getItem(TOKEN_KEY)
  return token === null ? extra : { ...extra, authorization: `Bearer ${token}` }
}

async function refuse(response) {
  if (response.ok) return
  if (response.status === 401) throw new UnauthorizedError('the token is missing or wrong')
  const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json') ?? false
  throw new ApiProblem(isProblem ? await response.json() : { detail: `HTTP status ${response.status}` })
}
