import { LiveTable, element, setState, setText, showTwoLines } from './dom.js'
import { bytes, count, duration, errorRate, factor, fewerOrMore, percent } from './format.js'

const FRAMES = ['want', 'snapshot', 'delta', 'turnover', 'heartbeat', 'goodbye']
const CAUSES = ['collision', 'pending-clear', 'freshness', 'variant', 'unknown']

/** What each proxy holds of each other's digest, and how well it has guessed. */
export class ReplicasView {
  #table
  #tableNode
  #empty

  constructor(tableNode, empty) {
    this.#tableNode = tableNode
    this.#empty = empty
    this.#table = new LiveTable(tableNode, 'Replicas of digests by holder and peer', [
      { label: 'Held by', show: (cell, { holder }) => setText(cell, holder) },
      { label: 'Digest of', show: (cell, { peer }) => setText(cell, peer.name) },
      { label: 'State', show: (cell, { peer }) => showState(cell, peer) },
      {
        label: 'Proved',
        numeric: true,
        show: (cell, { peer }) => setText(cell, provedText(peer)),
      },
      digestColumn('Age', (digest) => duration(digest.ageMs)),
      digestColumn('Entries', (digest) => count(digest.entries)),
      digestColumn('Fill', (digest) => percent(digest.fill)),
      digestColumn('Expected error', (digest) => errorRate(digest.expectedError)),
      {
        label: 'Measured error',
        numeric: true,
        show: (cell, { peer }) => setText(cell, errorRate(peer.guesses.measuredError)),
      },
      { label: 'True hits', numeric: true, show: (cell, { peer }) => setText(cell, count(peer.guesses.trueHits)) },
      { label: 'False hits', numeric: true, show: (cell, { peer }) => showFalseHits(cell, peer.guesses.falseHits) },
      { label: 'Failures', numeric: true, show: (cell, { peer }) => setText(cell, count(peer.guesses.failures)) },
      { label: 'False misses', numeric: true, show: (cell, { peer }) => showProbes(cell, peer.guesses) },
      { label: 'Time saved', numeric: true, show: (cell, { peer }) => setText(cell, saved(peer.savedMs)) },
      { label: 'Messages against ICP', numeric: true, show: (cell, { peer }) => showAccount(cell, peer.account) },
      { label: 'Messages by kind', show: (cell, { peer }) => showKinds(cell, peer.account) },
    ])
  }

  update(members) {
    const rows = members.flatMap((member) =>
      member.peers.map((peer) => ({
        key: JSON.stringify([member.name, peer.name]),
        value: { holder: member.name, peer },
      })),
    )
    this.#table.update(rows)
    this.#tableNode.hidden = rows.length === 0
    this.#empty.hidden = rows.length > 0
  }
}

function provedText({ digest, proved }) {
  if (digest === null) return '–'
  if (proved === false) return 'unproved (paper)'
  return digest.proved ? `${duration(digest.provedAgoMs)} ago` : 'no'
}

function digestColumn(label, text) {
  return {
    label,
    numeric: true,
    show: (cell, { peer }) => setText(cell, peer.digest === null ? '–' : text(peer.digest)),
  }
}

function showState(cell, peer) {
  if (cell.childElementCount !== 1) cell.replaceChildren(element('span', { class: 'badge' }))
  setText(cell.children[0], peer.state)
  setState(cell.children[0], peer.state)
  cell.children[0].title = peer.reason
}

function showFalseHits(cell, falseHits) {
  const total = CAUSES.reduce((sum, cause) => sum + falseHits[cause], 0)
  const causes = CAUSES.filter((cause) => falseHits[cause] > 0).map((cause) => `${cause} ${count(falseHits[cause])}`)
  showTwoLines(cell, count(total), causes.join(', '))
}

function showProbes(cell, { falseMissCauses, falseMisses, probes }) {
  const causes = named(falseMissCauses)
  const of = `of ${count(probes)} probes`
  showTwoLines(cell, count(falseMisses), probes === 0 ? '' : causes === '' ? of : `${of}: ${causes}`)
}

function named(counts) {
  return Object.entries(counts)
    .filter(([, number]) => number > 0)
    .map(([kind, number]) => `${kind} ${count(number)}`)
    .join(', ')
}

function saved(ms) {
  return ms < 0 ? `−${duration(-ms)}` : duration(ms)
}

function showAccount(cell, { bytes: spent, icp, messagesFull }) {
  showTwoLines(
    cell,
    `${count(messagesFull)} against ${count(icp.messagesFull)}`,
    `${bytes(spent)} against ${bytes(icp.bytes)}`,
  )
}

function showKinds(cell, { answers, framesReceived, probes, questions }) {
  const kinds = FRAMES.map((frame) => [frame, framesReceived[frame]])
  showTwoLines(cell, named(Object.fromEntries(kinds)) || '–', named({ questions, probes, answers }))
}

/** Ours beside what ICP would have sent, counted three ways and in bytes. */
export class MessagesView {
  #table

  constructor(tableNode) {
    this.#table = new LiveTable(tableNode, "Messages between proxies against ICP's", [
      { label: 'Proxy', show: (cell, { name }) => setText(cell, name) },
      comparison(
        "Paper's count",
        ({ interCache }) => interCache.messagesPaper,
        ({ icp }) => icp.messagesPaper,
        count,
      ),
      {
        label: 'Ceiling',
        numeric: true,
        show: (cell, { statistics }) =>
          setText(cell, factor(statistics.byOutcome['remote-hit'], statistics.icp.messagesPaper)),
      },
      comparison(
        'In full',
        ({ interCache }) => interCache.messagesFull,
        ({ icp }) => icp.messagesFull,
        count,
      ),
      comparison(
        'Finding alone',
        ({ interCache }) => interCache.finding,
        ({ icp }) => icp.messagesFull,
        count,
      ),
      comparison(
        'Bytes',
        ({ interCache }) => interCache.bytes,
        ({ icp }) => icp.bytes,
        bytes,
      ),
    ])
  }

  update(members) {
    const rows = members
      .filter((member) => member.statistics !== null)
      .map((member) => ({ key: member.name, value: member }))
    this.#table.update(rows)
  }
}

function comparison(label, ours, theirs, format) {
  return {
    label,
    numeric: true,
    show(cell, { statistics }) {
      const [a, b] = [ours(statistics), theirs(statistics)]
      showTwoLines(cell, `${format(a)} against ${format(b)}`, a === 0 || b === 0 ? '' : fewerOrMore(a, b))
    },
  }
}
