import { MalformedMessageError } from './malformed-message-error.ts'

/** RFC 2186 §2: the opcodes a query is asked and answered with. */
const ICP_OPCODE = { query: 1, hit: 2, miss: 3 } as const
export type IcpOpcode = keyof typeof ICP_OPCODE

export interface IcpMessage {
  readonly opcode: IcpOpcode
  readonly requestNumber: number
  readonly url: string
}

const VERSION = 2
const HEADER_BYTES = 20
/** RFC 2186 §2: a query's payload begins with the requester's host address, zero when it is not known. */
const REQUESTER_BYTES = 4
/** The length field has 16 bits; RFC 2186 §4 asks for no more than one datagram. */
const MAX_MESSAGE_BYTES = 16_384

/** Size on the wire, without UDP's and IP's headers. */
export function icpMessageBytes(opcode: IcpOpcode, url: string): number {
  return HEADER_BYTES + (opcode === 'query' ? REQUESTER_BYTES : 0) + url.length + 1
}

/** @throws {RangeError} the URL holds other than ASCII characters or does not fit a datagram: a bug of ours */
export function encodeIcpMessage(message: IcpMessage): Uint8Array {
  const length = icpMessageBytes(message.opcode, message.url)
  if (length > MAX_MESSAGE_BYTES) throw new RangeError(`ICP message of ${length} bytes`)
  const bytes = new Uint8Array(length)
  const view = new DataView(bytes.buffer)
  view.setUint8(0, ICP_OPCODE[message.opcode])
  view.setUint8(1, VERSION)
  view.setUint16(2, length)
  view.setUint32(4, message.requestNumber)
  const urlOffset = length - message.url.length - 1
  for (let i = 0; i < message.url.length; i++) {
    const code = message.url.charCodeAt(i)
    if (code < 0x21 || code > 0x7e) throw new RangeError(`character ${code} in an ICP URL`)
    bytes[urlOffset + i] = code
  }
  return bytes
}

/** @throws {MalformedMessageError} */
export function decodeIcpMessage(bytes: Uint8Array): IcpMessage {
  if (bytes.length < HEADER_BYTES + 1) throw new MalformedMessageError('ICP', bytes.length, 'ends within the header')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const opcode = opcodeNamed(view.getUint8(0))
  if (opcode === undefined) throw new MalformedMessageError('ICP', 0, `unknown opcode ${view.getUint8(0)}`)
  if (view.getUint8(1) !== VERSION) throw new MalformedMessageError('ICP', 1, `unknown version ${view.getUint8(1)}`)
  if (view.getUint16(2) !== bytes.length) throw new MalformedMessageError('ICP', 2, 'length differs from the datagram')
  const urlOffset = HEADER_BYTES + (opcode === 'query' ? REQUESTER_BYTES : 0)
  if (bytes.length <= urlOffset) throw new MalformedMessageError('ICP', bytes.length, 'ends before the URL')
  const end = bytes.indexOf(0, urlOffset)
  if (end !== bytes.length - 1)
    throw new MalformedMessageError('ICP', urlOffset, 'the URL does not end with the message')
  let url = ''
  for (let i = urlOffset; i < end; i++) {
    const code = bytes[i]!
    if (code < 0x21 || code > 0x7e) throw new MalformedMessageError('ICP', i, 'a URL character outside visible ASCII')
    url += String.fromCharCode(code)
  }
  return { opcode, requestNumber: view.getUint32(4), url }
}

function opcodeNamed(code: number): IcpOpcode | undefined {
  for (const name of Object.keys(ICP_OPCODE) as IcpOpcode[]) if (ICP_OPCODE[name] === code) return name
  return undefined
}
