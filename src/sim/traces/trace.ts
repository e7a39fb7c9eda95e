import { cacheKey, type CacheKey } from '../../core/http/cache-key.ts'
import { DROP_REASONS, requestFilters, type DropReason, type FilterKind } from './request-filter.ts'
import type { TraceRecord } from './trace-record.ts'

/** The size of a document that the trace never tells: such a request counts and brings nothing to keep. */
export const UNKNOWN_SIZE = -1

/**
 * A log in memory, ready to be replayed as often as there are schemes: columns of numbers, in order of time. Clients and
 * documents are numbered in the order of their first appearance in the log.
 */
export interface Trace {
  readonly length: number
  /** Never falls. */
  readonly timeMs: Float64Array
  readonly client: Uint32Array
  readonly document: Uint32Array
  /** Of the document's version asked for; UNKNOWN_SIZE. */
  readonly bodyBytes: Float64Array
  /** 1: no cache may answer it. */
  readonly passes: Uint8Array
  readonly clients: readonly string[]
  readonly documents: readonly CacheKey[]
  readonly dropped: Readonly<Record<DropReason, number>>
  /** Requests that stood behind a later one in the log. */
  readonly outOfOrder: number
  /** Requests of which the log gives no size: another one's for the same document stands in for it. */
  readonly withoutSize: number
}

export class TraceBuilder {
  readonly #filter: (record: TraceRecord) => ReturnType<(typeof requestFilters)[FilterKind]>
  readonly #clientNumbers = new Map<string, number>()
  readonly #clients: string[] = []
  readonly #documentNumbers = new Map<string, number>()
  readonly #documents: CacheKey[] = []
  readonly #dropped = Object.fromEntries(DROP_REASONS.map((reason) => [reason, 0])) as Record<DropReason, number>
  #columns = columnsFor(1_024)
  #length = 0

  constructor(filter: FilterKind) {
    this.#filter = requestFilters[filter]
  }

  get length(): number {
    return this.#length
  }

  add(record: TraceRecord): void {
    // Whoever asked only for what is left out is a client all the same: the mapping to proxies does not depend on filters.
    const client = this.#clientNumber(record.client)
    const verdict = this.#filter(record)
    if (verdict !== 'lookup' && verdict !== 'pass') {
      this.#dropped[verdict]++
      return
    }
    if (this.#length === this.#columns.timeMs.length) this.#columns = grown(this.#columns)
    const at = this.#length++
    this.#columns.timeMs[at] = record.timeMs
    this.#columns.client[at] = client
    this.#columns.document[at] = this.#documentNumber(record.url)
    this.#columns.bodyBytes[at] = record.bodyBytes ?? UNKNOWN_SIZE
    this.#columns.passes[at] = verdict === 'pass' ? 1 : 0
  }

  /** @param sizeSlackBytes sizes of one document that differ by less are the same */
  finish(sizeSlackBytes: number): Trace {
    const { columns, outOfOrder } = inOrderOfTime(this.#columns, this.#length)
    const withoutSize = settleSizes(columns, this.#documents.length, sizeSlackBytes)
    return {
      length: this.#length,
      ...columns,
      clients: this.#clients,
      documents: this.#documents,
      dropped: this.#dropped,
      outOfOrder,
      withoutSize,
    }
  }

  #clientNumber(client: string): number {
    const known = this.#clientNumbers.get(client)
    if (known !== undefined) return known
    // A copy, since a piece of a line keeps the whole line in memory.
    const name = Buffer.from(client, 'latin1').toString('latin1')
    this.#clientNumbers.set(name, this.#clients.length)
    return this.#clients.push(name) - 1
  }

  #documentNumber(url: string): number {
    const known = this.#documentNumbers.get(url)
    if (known !== undefined) return known
    const key = cacheKey(Buffer.from(url, 'latin1').toString('latin1'))
    this.#documentNumbers.set(key.url, this.#documents.length)
    return this.#documents.push(key) - 1
  }
}

interface Columns {
  readonly timeMs: Float64Array
  readonly client: Uint32Array
  readonly document: Uint32Array
  readonly bodyBytes: Float64Array
  readonly passes: Uint8Array
}

function columnsFor(capacity: number): Columns {
  return {
    timeMs: new Float64Array(capacity),
    client: new Uint32Array(capacity),
    document: new Uint32Array(capacity),
    bodyBytes: new Float64Array(capacity),
    passes: new Uint8Array(capacity),
  }
}

function grown(columns: Columns): Columns {
  const larger = columnsFor(2 * columns.timeMs.length)
  larger.timeMs.set(columns.timeMs)
  larger.client.set(columns.client)
  larger.document.set(columns.document)
  larger.bodyBytes.set(columns.bodyBytes)
  larger.passes.set(columns.passes)
  return larger
}

/**
 * Logs are written when requests end, and several files may overlap: sorted by the requests' own times, those of the same
 * time as they came.
 */
function inOrderOfTime(columns: Columns, length: number): { readonly columns: Columns; readonly outOfOrder: number } {
  const { timeMs } = columns
  let outOfOrder = 0
  let latestMs = -Infinity
  for (let i = 0; i < length; i++) {
    if (timeMs[i]! < latestMs) outOfOrder++
    else latestMs = timeMs[i]!
  }
  const order = new Uint32Array(length)
  for (let i = 0; i < length; i++) order[i] = i
  if (outOfOrder > 0) order.sort((a, b) => timeMs[a]! - timeMs[b]! || a - b)
  const sorted = columnsFor(length)
  for (let i = 0; i < length; i++) {
    const from = order[i]!
    sorted.timeMs[i] = timeMs[from]!
    sorted.client[i] = columns.client[from]!
    sorted.document[i] = columns.document[from]!
    sorted.bodyBytes[i] = columns.bodyBytes[from]!
    sorted.passes[i] = columns.passes[from]!
  }
  return { columns: sorted, outOfOrder }
}

/**
 * A request without a size (a 304, a `-`) is for the version known so far, and before any is known for the first to come.
 * @returns how many had none
 */
function settleSizes({ bodyBytes, document, passes }: Columns, documentCount: number, slackBytes: number): number {
  const known = new Float64Array(documentCount).fill(UNKNOWN_SIZE)
  for (let i = 0; i < bodyBytes.length; i++) {
    if (passes[i] === 0 && known[document[i]!] === UNKNOWN_SIZE) known[document[i]!] = bodyBytes[i]!
  }
  let withoutSize = 0
  for (let i = 0; i < bodyBytes.length; i++) {
    const size = bodyBytes[i]!
    if (size === UNKNOWN_SIZE) withoutSize++
    if (passes[i] === 1) continue
    const before = known[document[i]!]!
    if (size === UNKNOWN_SIZE || Math.abs(size - before) < slackBytes) bodyBytes[i] = before
    else known[document[i]!] = size
  }
  return withoutSize
}
