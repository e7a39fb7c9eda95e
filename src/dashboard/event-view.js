import { element, setText } from './dom.js'
import { bytes, clockTime, duration } from './format.js'

/** More than a screen; beyond that a log file serves better. */
const KEPT = 200

const KINDS = {
  notable: new Set(['request-ended', 'peer-asked', 'peer-changed', 'peer-turned-away', 'digest-turned', 'dropped']),
  peers: new Set([
    'peer-asked',
    'peer-changed',
    'peer-turned-away',
    'digest-turned',
    'digest-sent',
    'digest-received',
    'datagrams-dropped',
    'dropped',
  ]),
  all: undefined,
}

/** The latest events, newest first, drawn once per frame however many there are. */
export class EventView {
  #list
  #empty
  #filter
  #pause
  #waiting = []
  #scheduled = false

  constructor({ list, empty, filter, pause }) {
    this.#list = list
    this.#empty = empty
    this.#filter = filter
    this.#pause = pause
    pause.addEventListener('click', () => {
      const paused = pause.getAttribute('aria-pressed') !== 'true'
      pause.setAttribute('aria-pressed', String(paused))
      setText(pause, paused ? 'Go on' : 'Pause')
      if (!paused) this.#schedule()
    })
    filter.addEventListener('change', () => {
      this.#waiting = []
      list.replaceChildren()
      empty.hidden = false
    })
  }

  add(event) {
    const kinds = KINDS[this.#filter.value]
    if (kinds !== undefined && !kinds.has(event.kind)) return
    // The stream gives a time only to requests; the others have happened just now.
    this.#waiting.push({ event, wallMs: event.wallMs ?? Date.now() })
    if (this.#waiting.length > KEPT) this.#waiting.shift()
    this.#schedule()
  }

  #schedule() {
    if (this.#scheduled || this.#pause.getAttribute('aria-pressed') === 'true') return
    this.#scheduled = true
    requestAnimationFrame(() => {
      this.#scheduled = false
      const rows = this.#waiting.map(row).toReversed()
      this.#waiting = []
      this.#list.prepend(...rows)
      while (this.#list.childElementCount > KEPT) this.#list.lastElementChild.remove()
      this.#empty.hidden = this.#list.childElementCount > 0
    })
  }
}

function row({ event, wallMs }) {
  const { label, outcome, text, note } = describe(event)
  return element(
    'li',
    {},
    element('time', { datetime: new Date(wallMs).toISOString() }, clockTime(wallMs)),
    element('span', { class: 'tag', 'data-outcome': outcome }, label),
    element('span', { class: 'text' }, text),
    element('span', { class: 'note' }, note),
  )
}

function describe(event) {
  switch (event.kind) {
    case 'request-ended': {
      const where = event.server === undefined ? '' : ` · ${event.server}`
      const ended = event.aborted ? ' · broken off' : ''
      return {
        label: event.fromPeer ? `peer: ${event.outcome}` : event.outcome,
        outcome: event.outcome,
        text: `${event.method} ${event.url}`,
        note: `${event.status} · ${duration(event.elapsedMs)} · ${bytes(event.bytesToClient)}${where}${ended}`,
      }
    }
    case 'peer-asked':
      return {
        label: event.outcome,
        outcome: event.outcome === 'hit' ? 'remote-hit' : 'failed',
        text: `asked peer ${event.peer}`,
        note: `${duration(event.elapsedMs)}${event.cause === undefined ? '' : ` · ${event.cause}`}`,
      }
    case 'local-miss':
      return {
        label: 'local miss',
        text: `ICP would have asked ${event.peers} peers`,
        note: bytes(event.icpQueryBytes),
      }
    case 'origin-asked':
      return { label: 'origin', outcome: 'miss', text: `origin ${event.outcome}`, note: '' }
    case 'digest-sent':
      return { label: event.frame, text: `sent to ${event.count} peers`, note: bytes(event.bytes) }
    case 'digest-received':
      return { label: event.frame, text: 'received', note: bytes(event.bytes) }
    case 'peer-changed':
      return { label: event.state, text: `peer ${event.peer}`, note: event.reason }
    case 'peer-turned-away':
      return { label: 'turned away', text: `peer ${event.peer}`, note: event.reason }
    case 'digest-turned':
      return { label: 'turnover', text: `generation ${event.generation} of our digest`, note: event.reason }
    case 'dropped':
      return { label: 'dropped', text: `${event.count} events were left out: they came too fast`, note: '' }
    default:
      return { label: event.kind, text: '', note: '' }
  }
}
