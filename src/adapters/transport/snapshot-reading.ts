import type { KeyObject } from 'node:crypto'
import type { PartialSnapshot } from '../../proxy/partial-snapshot.ts'
import { FetchError } from '../../proxy/ports.ts'
import { answeredRange, entityTag } from './byte-range.ts'
import { frameHash } from './frame-hash.ts'
import type { PeerAnswer } from './peer-client.ts'
import { MAC_FIELD, sameMac, snapshotMac } from './request-signature.ts'

/**
 * Takes the body of a 200 or 206 into `partial`, until it is whole and, between proxies that share a key, proved.
 * @param path of the request
 * @throws {FetchError} what it says does not fit together: then nothing is kept of it. Or it broke off: what came is kept
 */
export async function readSnapshotBody(
  answer: PeerAnswer,
  partial: PartialSnapshot,
  path: string,
  key: KeyObject | undefined,
): Promise<void> {
  try {
    const problem = answer.status === 206 ? resumptionProblem(answer, partial) : beginningProblem(answer, partial)
    if (problem !== undefined) throw refused(partial, problem)
    for await (const chunk of answer.body) {
      if (!partial.push(chunk)) throw refused(partial, 'its snapshot has more bytes than it announced')
    }
  } finally {
    answer.cancel()
  }
  if (!partial.isWhole) {
    const { receivedBytes, totalBytes } = partial
    throw new FetchError('connection_terminated', `its snapshot ended at ${receivedBytes} of ${totalBytes} bytes`, 0)
  }
  if (key === undefined) return
  const mac = snapshotMac(key, path, `"${partial.tag!}"`, await frameHash(partial.frame))
  if (!sameMac(answer.field(MAC_FIELD) ?? '', mac)) {
    throw refused(partial, "its snapshot is not signed with our cluster's key")
  }
}

/** A whole snapshot: of the state asked for or of a later one. */
function beginningProblem(answer: PeerAnswer, partial: PartialSnapshot): string | undefined {
  const tag = entityTag(answer.field('etag'))
  if (tag === undefined) return 'its snapshot has no ETag'
  const length = answer.field('content-length')
  if (length === undefined || !/^\d{1,15}$/.test(length)) return 'its snapshot has no Content-Length'
  return partial.begin(tag, Number(length)) ? undefined : `its snapshot of ${length} bytes is larger than allowed`
}

/** The rest of a snapshot: it must be of the same state, and go on at the very byte. */
function resumptionProblem(answer: PeerAnswer, partial: PartialSnapshot): string | undefined {
  const tag = entityTag(answer.field('etag'))
  if (partial.tag === undefined || tag !== partial.tag) return 'it goes on with a snapshot that was not asked for'
  const range = answeredRange(answer.field('content-range') ?? '')
  if (range === undefined) return 'the rest of its snapshot has no sound Content-Range'
  const { end, from, totalBytes } = range
  if (from !== partial.receivedBytes || end !== totalBytes || totalBytes !== partial.totalBytes) {
    return 'the rest of its snapshot is not what was asked for'
  }
  return undefined
}

function refused(partial: PartialSnapshot, problem: string): FetchError {
  partial.drop()
  return new FetchError('http_protocol_error', problem, 0)
}
