import { decodeDigestMessage } from '../../../src/core/digest/digest-codec.ts'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import { UPDATE_PROFILES } from '../../../src/core/protocol/update-policy.ts'
import { SummaryCacheProtocol } from '../../../src/core/protocol/summary-cache-protocol.ts'
import { countedFinding } from '../finding.ts'
import type { Measurement } from '../measurement.ts'
import { SlidingKeys } from './bare-peer.ts'

const TICK_MS = 50
const CHANGES_PER_SECOND = 100
/** A frame's length before it. */
const PREFIX_BYTES = 4

/** Shannon's bound for so many of m positions, in bytes. */
function entropyBytes(count: number, bitCount: number): number {
  const p = count / bitCount
  return count === 0 ? 0 : (bitCount * -(p * Math.log2(p) + (1 - p) * Math.log1p(-p) * Math.LOG2E)) / 8
}

/** Virtual time: bytes are counted, not timed. */
export const UPDATE_BYTES: Measurement = {
  name: 'bytes of updates',
  async run({ quick, progress }) {
    const entryCount = quick ? 20_000 : 1_000_000
    const seconds = quick ? 60 : 900
    // At load factor 16 exactly, where the default may give up to twice that.
    const geometry = { ...geometryFor(entryCount), bitCount: 2 ** Math.round(Math.log2(16 * entryCount)) }
    const findings = []
    for (const profile of ['balanced', 'fresh'] as const) {
      progress(`${seconds} s of ${CHANGES_PER_SECOND} inserts and as many evictions a second, ${profile}`)
      const protocol = new SummaryCacheProtocol(
        {
          incarnation: 1,
          geometry,
          policy: UPDATE_PROFILES[profile](),
          pendingClearShare: 0.03,
          generationAgeMs: 86_400_000,
          heartbeatMs: 5_000,
          maxBitCount: geometry.bitCount,
        },
        0,
      )
      const keys = new SlidingKeys('bytes', entryCount, protocol)
      const { publisher } = protocol
      publisher.publish(0, 'command')
      let bytes = 0
      let entropy = 0
      let heads = 0
      const sent = (frame: Uint8Array): void => {
        const message = decodeDigestMessage(frame, { maxBitCount: geometry.bitCount })
        bytes += frame.length + PREFIX_BYTES
        if (message.kind === 'delta') entropy += entropyBytes(message.setBits.count, geometry.bitCount)
        if (message.kind === 'turnover') {
          entropy += entropyBytes(message.setBits.count, geometry.bitCount)
          entropy += entropyBytes(message.clearBits.count, geometry.bitCount)
        }
        const coded = message.kind === 'delta' ? message.setBits.bytes.length : 0
        const turned = message.kind === 'turnover' ? message.setBits.bytes.length + message.clearBits.bytes.length : 0
        heads += frame.length + PREFIX_BYTES - coded - turned
      }
      for (let nowMs = 0; nowMs < seconds * 1_000; nowMs += TICK_MS) {
        keys.slide((CHANGES_PER_SECOND * TICK_MS) / 1_000)
        let due = publisher.tick(nowMs)
        while (due === undefined && publisher.hasWork) due = publisher.work(Infinity, nowMs)
        if (due !== undefined) sent(due.frame)
      }
      const name = `${entryCount} entries, ${CHANGES_PER_SECOND} inserts and evictions a second, ${profile}`
      findings.push(
        countedFinding(`${name}: bytes a second to each peer`, bytes / seconds, 'B/s', {
          reference: 'entropy of the positions',
          ratio: (bytes - heads) / entropy,
          goal: { of: 'ratio', is: 'at most', limit: 1.1 },
        }),
        countedFinding(`${name}: of these, heads`, heads / seconds, 'B/s'),
      )
    }
    findings.push(idleFinding())
    return findings
  },
}

function idleFinding() {
  const protocol = new SummaryCacheProtocol(
    {
      incarnation: 1,
      geometry: geometryFor(1_000_000),
      policy: UPDATE_PROFILES.balanced(),
      pendingClearShare: 0.03,
      generationAgeMs: 86_400_000,
      heartbeatMs: 5_000,
      maxBitCount: 2 ** 24,
    },
    0,
  )
  const seconds = 600
  let bytes = 0
  for (let nowMs = 0; nowMs < seconds * 1_000; nowMs += TICK_MS) {
    const due = protocol.tick(nowMs)
    if (due !== undefined) bytes += due.frame.length + PREFIX_BYTES
  }
  return countedFinding('an idle proxy: bytes a second to each peer', bytes / seconds, 'B/s', {
    goal: { of: 'value', is: 'at most', limit: 100 },
  })
}
