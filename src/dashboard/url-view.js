import { ApiProblem, UnauthorizedError, ask } from './api.js'
import { element } from './dom.js'
import { bytes, count, duration } from './format.js'

/** Asks what would be done with a URL, or purges it, and shows the answer. */
export class UrlView {
  #form
  #input
  #answer
  #onUnauthorized
  #turn = 0

  constructor({ form, input, purge, answer, onUnauthorized }) {
    this.#form = form
    this.#input = input
    this.#answer = answer
    this.#onUnauthorized = onUnauthorized
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      void this.#run((url) => ask('v1/explain', { query: { url } }), explanation)
    })
    purge.addEventListener('click', () => {
      if (!this.#form.reportValidity()) return
      void this.#run((url) => ask('v1/cache', { method: 'DELETE', query: { url } }), purged)
    })
  }

  async #run(request, show) {
    const turn = ++this.#turn
    let answer
    try {
      answer = show(await request(this.#input.value.trim()))
    } catch (error) {
      if (error instanceof UnauthorizedError) return this.#onUnauthorized()
      const text = error instanceof ApiProblem ? error.message : "The API can't be reached."
      answer = [element('p', { class: 'problem' }, text)]
    }
    // A slow answer to an earlier question must not replace a later one's.
    if (turn === this.#turn) this.#answer.replaceChildren(...answer)
  }
}

function purged({ url, purged: number }) {
  const text =
    number === 0
      ? 'Nothing was stored here for '
      : `${number} stored ${number === 1 ? 'response' : 'responses'} purged here: `
  return [element('p', { class: 'verdict' }, text, element('code', {}, url))]
}

function explanation({ url, key, probes, directory, lookup, peers, plan }) {
  return [
    element('p', { class: 'verdict' }, element('code', {}, url)),
    element('h3', {}, 'Plan'),
    element('ol', { class: 'plan' }, ...plan.map((step) => element('li', {}, step))),
    element('h3', {}, 'Own store'),
    element(
      'p',
      {},
      directory.held ? 'Held; the reuse rules say ' : 'Not held: ',
      element('strong', {}, directory.verdict),
    ),
    ...(directory.entries.length === 0 ? [] : [entryTable(directory.entries)]),
    element('h3', {}, 'Peers'),
    element('p', {}, policyText(lookup)),
    peers.length === 0 ? element('p', { class: 'empty' }, 'There are none.') : peerTable(peers),
    element(
      'details',
      {},
      element('summary', {}, 'Key and probes'),
      element('p', {}, 'Key ', element('code', {}, key)),
      element('p', {}, 'Bits ', element('code', {}, probes.join(' '))),
    ),
  ]
}

function entryTable(entries) {
  return table(
    ['Variant', 'Status', 'Type', 'Body', 'Age', 'Fresh', 'Claimed'],
    entries.map((entry) => [
      entry.variant === '' ? 'the only one' : entry.variant,
      String(entry.status),
      entry.contentType ?? '–',
      bytes(entry.bodyBytes),
      duration(entry.ageMs),
      freshness(entry.freshForMs),
      entry.claimed ? 'yes' : 'no',
    ]),
  )
}

function freshness(ms) {
  if (ms === null) return 'never'
  return ms < 0 ? `stale for ${duration(-ms)}` : `for ${duration(ms)}`
}

function peerTable(peers) {
  return table(
    ['Peer', 'Its digest', 'Consulted', 'Choice', 'Why'],
    peers.map((peer) => [
      peer.name,
      peer.claims ? 'claims it' : 'says no',
      peer.consulted ? 'yes' : 'no',
      peer.choice.replace('-', ' '),
      peer.reason,
    ]),
  )
}

function policyText({ ask, tries, addedDelayMs, originMs }) {
  const who =
    ask === 'all' ? 'Every claimant at once' : `The best claimants one after the other, ${count(tries)} at most`
  const origin = originMs === null ? '' : `, where the origin takes ${duration(originMs)}`
  return `${who}, for ${duration(addedDelayMs)} together${origin}.`
}

function table(labels, rows) {
  return element(
    'table',
    { class: 'stack', role: 'table' },
    element(
      'thead',
      { role: 'rowgroup' },
      element(
        'tr',
        { role: 'row' },
        ...labels.map((label) => element('th', { scope: 'col', role: 'columnheader' }, label)),
      ),
    ),
    element(
      'tbody',
      { role: 'rowgroup' },
      ...rows.map((row) =>
        element(
          'tr',
          { role: 'row' },
          ...row.map((text, index) =>
            index === 0
              ? element('th', { scope: 'row', role: 'rowheader', 'data-label': labels[index] }, text)
              : element('td', { role: 'cell', 'data-label': labels[index] }, text),
          ),
        ),
      ),
    ),
  )
}
