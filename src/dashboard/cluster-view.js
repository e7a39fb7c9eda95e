import { KeyedList, element, setState, setText } from './dom.js'
import { bytes, count, fewerOrMore, percent, perSecond } from './format.js'

/** In the order of the bar: from what cost least to what failed. */
const OUTCOMES = [
  ['local-hit', 'Local hit', 'answered from the store'],
  ['validated-hit', 'Validated hit', 'answered from the store after the origin said 304'],
  ['remote-hit', 'Remote hit', 'a peer had it'],
  ['miss', 'Miss', "the origin's answer"],
  ['pass', 'Pass', 'no cache may answer these'],
  ['tunnel', 'Tunnel', 'CONNECT'],
  ['unheld', 'Unheld', 'only-if-cached, and not held'],
  ['refused', 'Refused', 'malformed, forbidden or looping'],
  ['failed', 'Failed', 'neither peer nor origin answered'],
]

/** The figures of the whole cluster, in a few tiles. */
export class OverviewView {
  #values

  constructor(list) {
    this.#values = ['Requests', 'Local hits', 'Remote hits', 'Messages against ICP', 'Between proxies'].map((label) => {
      const value = element('dd')
      const note = element('dd', { class: 'note' })
      list.append(element('div', { class: 'tile' }, element('dt', {}, label), value, note))
      return [value, note]
    })
  }

  update(members, rates) {
    const figures = members.flatMap(({ statistics }) => (statistics === null ? [] : [statistics]))
    const sum = (of) => figures.reduce((total, statistics) => total + of(statistics), 0)
    const requests = sum((statistics) => statistics.requests)
    const share = (part) => percent(requests === 0 ? 0 : part / requests)
    const local = sum(({ byOutcome }) => byOutcome['local-hit'] + byOutcome['validated-hit'])
    const remote = sum(({ byOutcome }) => byOutcome['remote-hit'])
    const ours = sum(({ interCache }) => interCache.messagesPaper)
    const icp = sum((statistics) => statistics.icp.messagesPaper)
    const rate = [...rates.values()].reduce((total, value) => total + value, 0)
    const texts = [
      [count(requests), perSecond(rate)],
      [share(local), `${count(local)} from own stores`],
      [share(remote), `${count(remote)} from peers`],
      [fewerOrMore(ours, icp), icp === 0 ? 'no local miss yet' : `${count(ours)} sent, ICP ${count(icp)}`],
      [bytes(sum(({ interCache }) => interCache.bytes)), `ICP ${bytes(sum((statistics) => statistics.icp.bytes))}`],
    ]
    texts.forEach(([value, note], index) => {
      setText(this.#values[index][0], value)
      setText(this.#values[index][1], note)
    })
  }
}

/** A card per proxy: how its requests ended. */
export class ProxiesView {
  #cards

  constructor(parent) {
    this.#cards = new KeyedList(parent, () => proxyCard())
  }

  update(members, rates) {
    this.#cards.update(
      members.map((member) => ({ key: member.name, value: { member, rate: rates.get(member.name) ?? 0 } })),
    )
  }
}

function proxyCard() {
  const name = element('h3')
  const url = element('p', { class: 'url' })
  const state = element('p', { class: 'badge' })
  const facts = ['Requests', 'Now', 'Local hits', 'Remote hits'].map((label) => {
    const value = element('dd')
    return { value, node: element('div', {}, element('dt', {}, label), value) }
  })
  const bar = element('div', { class: 'bar', role: 'img' })
  const segments = OUTCOMES.map(([outcome]) => element('span', { 'data-outcome': outcome }))
  bar.append(...segments)
  const legend = OUTCOMES.map(([outcome, label, meaning]) => {
    const number = element('span', { class: 'number' })
    const node = element(
      'li',
      { 'data-outcome': outcome, title: meaning },
      element('span', { class: 'name' }, label),
      number,
    )
    return { node, number }
  })
  const reason = element('p', { class: 'problem' })
  const node = element(
    'article',
    { class: 'panel card' },
    element('header', {}, element('div', {}, name, url), state),
    reason,
    element('dl', { class: 'facts' }, ...facts.map((fact) => fact.node)),
    bar,
    element('ul', { class: 'legend' }, ...legend.map((item) => item.node)),
  )

  return {
    node,
    update({ member, rate }) {
      setText(name, member.name)
      setText(url, member.url)
      setState(state, member.reachable ? 'up' : 'down')
      setText(state, member.reachable ? 'reachable' : 'not reachable')
      setText(reason, member.reachable ? '' : member.reason)
      node.classList.toggle('faded', member.statistics === null)
      if (member.statistics === null) return
      const { requests, byOutcome, hitRatio } = member.statistics
      const texts = [count(requests), perSecond(rate), percent(hitRatio.local), percent(hitRatio.remote)]
      texts.forEach((text, index) => setText(facts[index].value, text))
      OUTCOMES.forEach(([outcome], index) => {
        segments[index].style.flexGrow = String(byOutcome[outcome])
        setText(legend[index].number, count(byOutcome[outcome]))
        legend[index].node.classList.toggle('zero', byOutcome[outcome] === 0)
      })
      const description = OUTCOMES.filter(([outcome]) => byOutcome[outcome] > 0)
        .map(([outcome, label]) => `${label} ${percent(byOutcome[outcome] / requests)}`)
        .join(', ')
      bar.setAttribute('aria-label', `Requests by outcome: ${description || 'none yet'}`)
    },
  }
}
