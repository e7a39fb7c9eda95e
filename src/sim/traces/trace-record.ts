/** One request of a log, whatever the log's format. */
export interface TraceRecord {
  /** When it began, in milliseconds since 1970. */
  readonly timeMs: number
  /** Who asked: an address in its shortest form where it is one, else the log's own word. */
  readonly client: string
  readonly method: string
  /** Absolute, in the normal form of cache keys. */
  readonly url: string
  readonly status: number
  /** Undefined: the log does not say, or what was sent is not the whole document (a 304, a broken transfer). */
  readonly bodyBytes: number | undefined
}

/** Why a line of a log is no request that could be replayed. */
export const SKIP_REASONS = {
  'too-long': { malformed: true, meaning: 'longer than any request line should be' },
  structure: { malformed: true, meaning: 'no line of this format' },
  time: { malformed: true, meaning: 'its time is none' },
  status: { malformed: true, meaning: 'its status is none' },
  size: { malformed: true, meaning: 'its size is missing or no number' },
  url: { malformed: true, meaning: 'its URL is no http or https URL' },
  'no-request': { malformed: false, meaning: 'a connection without a request, or with what is none' },
  tunnel: { malformed: false, meaning: 'a tunnel (CONNECT): what passes through it is hidden' },
  denied: { malformed: false, meaning: 'refused by the proxy that wrote the log' },
  'peer-query': { malformed: false, meaning: "another proxy's ICP or HTCP query" },
} as const
export type SkipReason = keyof typeof SKIP_REASONS

export type ParsedLine = TraceRecord | SkipReason

/** How the lines of a format are read. */
export interface TraceFormat {
  readonly name: string
  /**
   * Sizes that differ by less are of the same version of a document: where a size counts a reply's head as well, it
   * changes from reply to reply without the document.
   */
  readonly sizeSlackBytes: number
  /**
   * @param line a byte a character, without its line end
   * @param originUrl for logs of one site, which name no host: `http://www.example.com`
   */
  parse(line: string, originUrl: string): ParsedLine
}
