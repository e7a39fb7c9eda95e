// Everything that comes from the API is set as text, never as markup: a URL is whatever a stranger asked for.

/** An element with attributes and children; strings become text nodes. */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) node.setAttribute(name, value === true ? '' : value)
  }
  node.append(...children)
  return node
}

/** Sets text only where it differs, so that a selection or a screen reader's place survives the refresh. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text
}

export function setState(node, state) {
  if (node.dataset.state !== state) node.dataset.state = state
}

/** Keeps one child per key in `parent`, in the order of `items`; `create` and `update` fill it. */
export class KeyedList {
  #parent
  #create
  #entries = new Map()

  constructor(parent, create) {
    this.#parent = parent
    this.#create = create
  }

  update(items) {
    const kept = new Set()
    items.forEach(({ key, value }, index) => {
      let entry = this.#entries.get(key)
      if (entry === undefined) {
        entry = this.#create(value)
        this.#entries.set(key, entry)
      }
      kept.add(key)
      entry.update(value)
      if (this.#parent.children[index] !== entry.node) {
        this.#parent.insertBefore(entry.node, this.#parent.children[index] ?? null)
      }
    })
    for (const [key, entry] of this.#entries) {
      if (kept.has(key)) continue
      entry.node.remove()
      this.#entries.delete(key)
    }
  }
}

/**
 * A table whose rows stay in place. On a narrow screen each row becomes a block and each cell shows its column's name,
 * so roles are said outright: a browser drops them where a table is not displayed as one.
 */
export class LiveTable {
  #rows

  constructor(table, caption, columns) {
    const head = element(
      'tr',
      { role: 'row' },
      ...columns.map(({ label, numeric }) =>
        element('th', { scope: 'col', role: 'columnheader', class: numeric && 'numeric' }, label),
      ),
    )
    const body = element('tbody', { role: 'rowgroup' })
    table.setAttribute('role', 'table')
    table.replaceChildren(
      element('caption', { class: 'visually-hidden' }, caption),
      element('thead', { role: 'rowgroup' }, head),
      body,
    )
    this.#rows = new KeyedList(body, () => tableRow(columns))
  }

  update(items) {
    this.#rows.update(items)
  }
}

function tableRow(columns) {
  const cells = columns.map(({ label, numeric }, index) => {
    const attributes = { 'data-label': label, class: numeric && 'numeric' }
    return index === 0
      ? element('th', { ...attributes, scope: 'row', role: 'rowheader' })
      : element('td', { ...attributes, role: 'cell' })
  })
  return {
    node: element('tr', { role: 'row' }, ...cells),
    update(value) {
      columns.forEach((column, index) => column.show(cells[index], value))
    },
  }
}

/** A cell with a text and, below it in small type, what it is made of. */
export function showTwoLines(cell, text, detail) {
  if (cell.childElementCount !== 2) cell.replaceChildren(element('span'), element('small'))
  setText(cell.children[0], text)
  setText(cell.children[1], detail)
}
