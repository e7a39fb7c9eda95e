import { TraceError } from './trace-error.ts'
import { traceBytes, traceText } from './trace-bytes.ts'
import { formatOf, traceFormats } from './trace-formats.ts'
import { LineSplitter } from './trace-lines.ts'
import { SKIP_REASONS, type SkipReason, type TraceFormat, type TraceRecord } from './trace-record.ts'

export interface TraceFile {
  readonly name: string
  /** '' for an empty file. */
  readonly format: string
  readonly lines: number
  readonly records: number
}

export interface SkippedLine {
  readonly file: string
  /** From 1; empty lines count as well. */
  readonly line: number
  readonly reason: SkipReason
  readonly text: string
}

/** What was read, and what was not. */
export interface TraceReading {
  readonly files: readonly TraceFile[]
  readonly skipped: Readonly<Partial<Record<SkipReason, number>>>
  /** The first few malformed lines. */
  readonly examples: readonly SkippedLine[]
  /** The largest of the formats'. */
  readonly sizeSlackBytes: number
}

export interface ReadOptions {
  /** Host of logs that name none. */
  readonly originUrl: string
  /** Reading stops early, between two pieces of a file. */
  readonly signal?: AbortSignal
  /** Called now and then with the number of requests read. */
  readonly onProgress?: (records: number) => void
}

/** A log's format is known by then, or it is none that we know. */
const DETECTION_LINES = 1_000
const MAX_EXAMPLES = 5
const EXAMPLE_LENGTH = 200

/**
 * Reads logs one after another, each in the format that its lines show, plain or gzip. What cannot be read is counted and
 * never ends the reading.
 *
 * @param paths of files; `-` is standard input
 * @throws {TraceError} a file cannot be read at all, or is in no known format
 */
export async function readTrace(
  paths: readonly string[],
  sink: (record: TraceRecord) => void,
  options: ReadOptions,
): Promise<TraceReading> {
  const reader = new TraceReader(sink, options)
  for (const path of paths) {
    if (options.signal?.aborted) break
    await reader.read(path, traceBytes(path))
  }
  return reader.reading()
}

/** Reads bytes of any origin; `readTrace` says what it does. */
export class TraceReader {
  readonly #sink: (record: TraceRecord) => void
  readonly #options: ReadOptions
  readonly #files: TraceFile[] = []
  readonly #skipped: Partial<Record<SkipReason, number>> = {}
  readonly #examples: SkippedLine[] = []
  #sizeSlackBytes = 0
  #records = 0

  constructor(sink: (record: TraceRecord) => void, options: ReadOptions) {
    this.#sink = sink
    this.#options = options
  }

  async read(name: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    const { originUrl, onProgress, signal } = this.#options
    const recordsBefore = this.#records
    let format: TraceFormat | undefined
    let lineNumber = 0
    let unknown: SkippedLine[] = []
    const unknownFormat = (): never => {
      const names = Object.keys(traceFormats).join(', ')
      throw new TraceError(
        name,
        `is in no known format: ${JSON.stringify(unknown[0]!.text)}`,
        `formats are ${names}: convert it to one of them`,
      )
    }
    const splitter = new LineSplitter((line) => {
      lineNumber++
      if (line === '') return
      if (line === undefined) return this.#skip({ file: name, line: lineNumber, reason: 'too-long', text: '' })
      if (format === undefined) {
        format = formatOf(line, originUrl)
        if (format === undefined) {
          unknown.push(skippedLine(name, lineNumber, 'structure', line))
          if (unknown.length === DETECTION_LINES) unknownFormat()
          return
        }
        for (const skipped of unknown) this.#skip(skipped)
        unknown = []
        this.#sizeSlackBytes = Math.max(this.#sizeSlackBytes, format.sizeSlackBytes)
      }
      const parsed = format.parse(line, originUrl)
      if (typeof parsed === 'string') return this.#skip(skippedLine(name, lineNumber, parsed, line))
      this.#records++
      this.#sink(parsed)
    })
    for await (const chunk of traceText(name, bytes)) {
      splitter.add(chunk)
      onProgress?.(this.#records)
      if (signal?.aborted) break
    }
    splitter.finish()
    if (unknown.length > 0) unknownFormat()
    this.#files.push({
      name,
      format: format?.name ?? '',
      lines: lineNumber,
      records: this.#records - recordsBefore,
    })
  }

  reading(): TraceReading {
    return {
      files: this.#files,
      skipped: this.#skipped,
      examples: this.#examples,
      sizeSlackBytes: this.#sizeSlackBytes,
    }
  }

  #skip(skipped: SkippedLine): void {
    const { reason } = skipped
    this.#skipped[reason] = (this.#skipped[reason] ?? 0) + 1
    if (SKIP_REASONS[reason].malformed && this.#examples.length < MAX_EXAMPLES) this.#examples.push(skipped)
  }
}

function skippedLine(file: string, line: number, reason: SkipReason, text: string): SkippedLine {
  return { file, line, reason, text: text.slice(0, EXAMPLE_LENGTH) }
}
