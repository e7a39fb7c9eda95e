import { ApiProblem, UnauthorizedError, ask, followEvents, forgetToken, keepToken } from './api.js'
import { OverviewView, ProxiesView } from './cluster-view.js'
import { setState, setText } from './dom.js'
import { EventView } from './event-view.js'
import { duration } from './format.js'
import { MessagesView, ReplicasView } from './table-views.js'
import { UrlView } from './url-view.js'

const POLL_MS = 1000
const RETRY_MS = 2000

const byId = (id) => document.getElementById(id)

const overview = new OverviewView(byId('overview'))
const proxies = new ProxiesView(byId('proxies'))
const replicas = new ReplicasView(byId('replicas'), byId('no-replicas'))
const messages = new MessagesView(byId('messages'))
const events = new EventView({
  list: byId('events'),
  empty: byId('no-events'),
  filter: byId('event-filter'),
  pause: byId('event-pause'),
})
new UrlView({
  form: byId('url-form'),
  input: byId('url'),
  purge: byId('purge'),
  answer: byId('url-answer'),
  onUnauthorized: lock,
})

/** Requests counted at the last poll, by proxy: what rates are made from. */
let lastCounts = new Map()
let lastPollAt = 0
let lastAnswerAt
let lastEventId
/** Aborted when the page is hidden or locked; a new one when it goes on. */
let running = new AbortController()

function show(cluster, status) {
  const now = performance.now()
  const rates = new Map()
  const counts = new Map()
  for (const { name, statistics } of cluster.proxies) {
    if (statistics === null) continue
    counts.set(name, statistics.requests)
    const before = lastCounts.get(name)
    // Fewer than before: it has been started again.
    if (before !== undefined && now > lastPollAt) {
      rates.set(name, (Math.max(0, statistics.requests - before) * 1000) / (now - lastPollAt))
    }
  }
  lastCounts = counts
  lastPollAt = now
  overview.update(cluster.proxies, rates)
  proxies.update(cluster.proxies, rates)
  replicas.update(cluster.proxies)
  messages.update(cluster.proxies)
  setText(byId('proxy-name'), `proxy ${status.name} · up ${duration(status.uptimeMs)}`)
  setText(byId('version'), `summary-cache ${status.version}`)
}

async function poll(signal) {
  while (!signal.aborted) {
    let pauseMs = POLL_MS
    try {
      const [cluster, status] = await Promise.all([ask('v1/cluster'), ask('v1/status')])
      if (signal.aborted) return
      show(cluster, status)
      lastAnswerAt = Date.now()
      connected()
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof UnauthorizedError) return lock()
      unreachable(error)
      pauseMs = RETRY_MS
    }
    await sleep(pauseMs, signal)
  }
}

async function listen(signal) {
  const state = byId('event-state')
  while (!signal.aborted) {
    try {
      await followEvents({
        lastId: lastEventId,
        signal,
        onOpen: () => setText(state, ''),
        onEvent: (event, id) => {
          lastEventId = id ?? lastEventId
          events.add(event)
        },
      })
      if (!signal.aborted) setText(state, 'The stream has ended. Trying again.')
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof UnauthorizedError) return lock()
      setText(state, error instanceof ApiProblem ? `${error.message}. Trying again.` : 'No stream. Trying again.')
    }
    await sleep(RETRY_MS, signal)
  }
}

function connected() {
  setState(byId('connection'), 'up')
  setText(byId('connection'), 'Live')
  byId('trouble').hidden = true
  document.body.classList.remove('outdated')
}

function unreachable(error) {
  setState(byId('connection'), 'down')
  setText(byId('connection'), 'No answer')
  const since = lastAnswerAt === undefined ? '' : ` The figures below are ${duration(Date.now() - lastAnswerAt)} old.`
  const why = error instanceof ApiProblem ? `The API answered: ${error.message}.` : "The API can't be reached."
  setText(byId('trouble'), `${why} Trying again.${since}`)
  byId('trouble').hidden = false
  document.body.classList.add('outdated')
}

function lock() {
  running.abort()
  setText(byId('unlock-problem'), forgetToken() ? 'That is not the token.' : '')
  setState(byId('connection'), 'locked')
  setText(byId('connection'), 'Locked')
  byId('trouble').hidden = true
  byId('figures').hidden = true
  byId('unlock').hidden = false
  byId('token').focus()
}

function start() {
  running.abort()
  running = new AbortController()
  void poll(running.signal)
  void listen(running.signal)
}

byId('unlock-form').addEventListener('submit', (event) => {
  event.preventDefault()
  setText(byId('unlock-problem'), '')
  keepToken(byId('token').value)
  byId('token').value = ''
  byId('unlock').hidden = true
  byId('figures').hidden = false
  start()
})

document.addEventListener('visibilitychange', () => {
  if (!byId('unlock').hidden) return
  if (document.hidden) {
    running.abort()
    setState(byId('connection'), 'paused')
    setText(byId('connection'), 'Paused')
  } else {
    start()
  }
})

function sleep(ms, signal) {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const wake = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', wake)
      resolve()
    }
    const timer = setTimeout(wake, ms)
    signal.addEventListener('abort', wake)
  })
}

start()
