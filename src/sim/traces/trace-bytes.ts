import { createReadStream } from 'node:fs'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { TraceError } from './trace-error.ts'

/** What a file's first bytes say that it is, where it is not text. */
const KINDS: readonly { readonly kind: string; readonly magic: readonly number[]; readonly remedy: string }[] = [
  {
    kind: 'xz data',
    magic: [0xfd, 0x37, 0x7a, 0x58, 0x5a],
    remedy: 'unpack it first: xz -dc FILE | summary-cache simulate -',
  },
  {
    kind: 'zstd data',
    magic: [0x28, 0xb5, 0x2f, 0xfd],
    remedy: 'unpack it first: zstd -dc FILE | summary-cache simulate -',
  },
  {
    kind: 'bzip2 data',
    magic: [0x42, 0x5a, 0x68],
    remedy: 'unpack it first: bzip2 -dc FILE | summary-cache simulate -',
  },
  {
    kind: 'a zip archive',
    magic: [0x50, 0x4b, 0x03, 0x04],
    remedy: 'unpack it first: unzip -p FILE | summary-cache simulate -',
  },
  {
    kind: 'UTF-16 text',
    magic: [0xff, 0xfe],
    remedy: 'convert it: iconv -f UTF-16 -t UTF-8 FILE | summary-cache simulate -',
  },
  {
    kind: 'UTF-16 text',
    magic: [0xfe, 0xff],
    remedy: 'convert it: iconv -f UTF-16 -t UTF-8 FILE | summary-cache simulate -',
  },
]
const GZIP_MAGIC = [0x1f, 0x8b]
const UTF8_MARK = [0xef, 0xbb, 0xbf]
const LONGEST_MAGIC_BYTES = 5

const REMEDIES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file: check the path',
  EACCES: 'it may not be read: check its permissions',
  EISDIR: 'it is a directory: name the files in it',
}

/** A file's bytes, or those of standard input for `-`. @throws {TraceError} as they are read */
export async function* traceBytes(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  const stream: AsyncIterable<Uint8Array> = path === '-' ? process.stdin : createReadStream(path)
  try {
    yield* stream
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    throw new TraceError(path, `cannot be read (${code})`, REMEDIES[code] ?? (error as Error).message, { cause: error })
  }
}

/**
 * The text in `bytes`, unpacked where their beginning says that it is packed: a name says nothing. Members of a gzip file
 * follow each other. Without a UTF-8 mark.
 * @throws {TraceError} neither text nor gzip, or damaged
 */
export async function* traceText(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { head, whole } = await peeked(bytes)
  if (!startsWith(head, GZIP_MAGIC)) return yield* plainText(name, head, whole)
  const unpacked = await peeked(gunzipped(name, whole))
  return yield* plainText(name, unpacked.head, unpacked.whole)
}

async function* plainText(
  name: string,
  head: Uint8Array,
  whole: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const known = KINDS.find(({ magic }) => startsWith(head, magic))
  if (known !== undefined) throw new TraceError(name, `is ${known.kind}`, known.remedy)
  if (head.includes(0)) throw new TraceError(name, 'is no text', 'name an access log, plain or gzip')
  let skip = startsWith(head, UTF8_MARK) ? UTF8_MARK.length : 0
  for await (const chunk of whole) {
    if (skip < chunk.length) yield skip === 0 ? chunk : chunk.subarray(skip)
    skip = Math.max(0, skip - chunk.length)
  }
}

/** The first bytes, as many as tell a kind if there are, and all of them from the start. */
async function peeked(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ readonly head: Uint8Array; readonly whole: AsyncIterable<Uint8Array> }> {
  const rest = bytes[Symbol.asyncIterator]()
  const first: Uint8Array[] = []
  let length = 0
  while (length < LONGEST_MAGIC_BYTES) {
    const next = await rest.next()
    if (next.done === true) break
    first.push(next.value)
    length += next.value.length
  }
  async function* whole(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield* first
      for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value
    } finally {
      await rest.return?.()
    }
  }
  return { head: Buffer.concat(first), whole: whole() }
}

async function* gunzipped(name: string, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const source = Readable.from(bytes)
  // A fault of either ends both, and shows where the text is read.
  const gunzip = pipeline(source, createGunzip(), () => undefined)
  try {
    yield* gunzip as AsyncIterable<Uint8Array>
  } catch (error) {
    if (error instanceof TraceError) throw error
    const remedy = 'it was cut short or changed: fetch it again, or unpack what is left of it'
    throw new TraceError(name, `is damaged gzip data (${(error as Error).message})`, remedy, { cause: error })
  } finally {
    source.destroy()
    gunzip.destroy()
  }
}

function startsWith(bytes: Uint8Array, magic: readonly number[]): boolean {
  return bytes.length >= magic.length && magic.every((byte, i) => bytes[i] === byte)
}
