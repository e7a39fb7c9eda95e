import { decodeDigestMessage } from '../core/digest/digest-codec.ts'
import { formatName } from '../core/digest/digest-name.ts'
import { MAX_BIT_COUNT } from '../core/filter/filter-geometry.ts'
import { MalformedMessageError } from '../core/protocol/malformed-message-error.ts'

/** A digest frame in a few words, for people. */
export function frameText(frame: Uint8Array): string {
  try {
    const message = decodeDigestMessage(frame, { maxBitCount: MAX_BIT_COUNT })
    switch (message.kind) {
      case 'want': {
        const until = message.untilSequence === undefined ? '' : ` up to ${message.untilSequence}`
        return message.have === undefined ? 'want all' : `want after ${formatName(message.have)}${until}`
      }
      case 'snapshot':
        return `snapshot ${formatName(message.state.name)}, ${message.state.setBitCount} bits set`
      case 'delta': {
        const { fromSequence, setBits, state } = message
        return `delta ${formatName(state.name)} from ${fromSequence}, ${setBits.count} bits rise`
      }
      case 'turnover': {
        const { clearBits, from, setBits, state } = message
        const changes = `${setBits.count} bits rise, ${clearBits.count} fall`
        return `turnover ${formatName(state.name)} from ${from.generation}.${from.sequence}, ${changes}`
      }
      case 'heartbeat':
        return `heartbeat ${formatName(message.state.name)}`
      case 'goodbye':
        return `goodbye ${formatName(message.name)}`
    }
  } catch (error) {
    if (!(error instanceof MalformedMessageError)) throw error
    return `a frame that is none: ${error.message}`
  }
}
